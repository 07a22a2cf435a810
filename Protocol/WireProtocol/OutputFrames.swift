import DeltaCodec
package import QueueModel

/// Server: another device wants a part of this device's output; SPECIFICATION.md, section "Output".
package struct OutputQuestion: Hashable, Sendable {
  /// Chosen by the server; valid only on this connection.
  package var id: UInt64
  package var part: OutputPart

  package init(id: UInt64, part: OutputPart) {
    self.id = id
    self.part = part
  }
}

/// Client: the answer.
package struct OutputReply: Hashable, Sendable {
  package var id: UInt64
  package var piece: OutputPiece

  package init(id: UInt64, piece: OutputPiece) {
    self.id = id
    self.piece = piece
  }
}

extension ByteWriter {
  mutating func write(_ part: OutputPart) {
    identifier(part.message)
    number(UInt64(part.attempt ?? 0))
    number(part.start.map { $0 + 1 } ?? 0)
    count(part.bytesMax)
    count(part.waitMilliseconds)
  }

  mutating func write(_ piece: OutputPiece) {
    number(UInt64(piece.attempt ?? 0))
    byte(piece.runs ? 1 : 0)
    number(piece.start)
    blob(piece.bytes)
  }
}

extension ByteReader {
  /// A place in an output, or a place plus one, far below the limit of overflow.
  private mutating func place() throws(DecodingFault) -> UInt64 {
    let offset = position
    let place = try number()
    guard place <= 1 << 62 else {
      throw DecodingFault(.limitExceeded, at: offset, "\(place) is not a place in an output")
    }
    return place
  }

  private mutating func outputAttempt() throws(DecodingFault) -> UInt16? {
    let attempt: UInt16 = try number(max: UInt16.max, "an attempt")
    return attempt == 0 ? nil : attempt
  }

  mutating func outputPart() throws(DecodingFault) -> OutputPart {
    var part = OutputPart(message: try identifier(MessageID.self), attempt: try outputAttempt())
    let start = try place()
    part.start = start == 0 ? nil : start - 1
    let offset = position
    part.bytesMax = try count(max: OutputLimits.pieceBytes.upperBound, "bytes of a piece")
    guard OutputLimits.pieceBytes.contains(part.bytesMax) else {
      throw DecodingFault(.invalidValue, at: offset, "a piece of \(part.bytesMax) bytes")
    }
    part.waitMilliseconds = try count(max: OutputLimits.waitMillisecondsMax, "milliseconds")
    return part
  }

  mutating func outputPiece() throws(DecodingFault) -> OutputPiece {
    OutputPiece(
      attempt: try outputAttempt(), runs: try flag(), start: try place(),
      bytes: try blob(max: OutputLimits.pieceBytes.upperBound, "a piece of an output"))
  }
}
