/// The limits for reading other devices' output; SPECIFICATION.md, section "Output".
package enum OutputLimits {
  /// Bytes of one piece that a reader may request; a scalar fits in each.
  package static let pieceBytes = 4...(64 << 10)
  /// How long a device waits for new output before it answers that there is none.
  package static let waitMillisecondsMax = 20_000
}

/// The part of an attempt's output that a reader requests.
package struct OutputPart: Hashable, Sendable {
  package var message: MessageID
  /// From 1; nil for the latest one of which the device keeps output.
  package var attempt: UInt16?
  /// The first byte, counted from the beginning of the output; nil for the last `bytesMax` bytes.
  package var start: UInt64?
  /// Within `OutputLimits.pieceBytes`.
  package var bytesMax: Int
  /// How long to wait for the agent if there is no output yet; at most
  /// `OutputLimits.waitMillisecondsMax`.
  package var waitMilliseconds: Int

  package init(
    message: MessageID, attempt: UInt16? = nil, start: UInt64? = nil,
    bytesMax: Int = OutputLimits.pieceBytes.upperBound, waitMilliseconds: Int = 0
  ) {
    self.message = message
    self.attempt = attempt
    self.start = start
    self.bytesMax = bytesMax
    self.waitMilliseconds = waitMilliseconds
  }
}

/// A piece of the output that a device keeps.
package struct OutputPiece: Hashable, Sendable {
  /// nil if the device keeps no output, so that the piece is empty.
  package var attempt: UInt16?
  /// Whether its agent may still write.
  package var runs: Bool
  /// The place of the first byte; above the requested one if the bytes before it are not kept.
  package var start: UInt64
  package var bytes: [UInt8]

  /// The place after the last byte.
  package var end: UInt64 { start + UInt64(bytes.count) }

  package init(attempt: UInt16?, runs: Bool, start: UInt64, bytes: [UInt8]) {
    self.attempt = attempt
    self.runs = runs
    self.start = start
    self.bytes = bytes
  }

  /// Removes the rest of a scalar at its beginning, and a scalar at its end that is not complete
  /// yet. Bytes that are not UTF-8 stay.
  package mutating func cutToScalars(followed: Bool) {
    if start > 0 {
      let rest = bytes.prefix { $0 & 0xC0 == 0x80 }.count
      if rest < min(4, bytes.count) {
        bytes.removeFirst(rest)
        start += UInt64(rest)
      }
    }
    guard followed, let head = bytes.suffix(3).lastIndex(where: { $0 >= 0xC0 }) else { return }
    let length = bytes[head] >= 0xF0 ? 4 : bytes[head] >= 0xE0 ? 3 : 2
    if bytes.count - head < length { bytes.removeSubrange(head...) }
  }
}
