import QueueModel
import SequenceCRDT

// Editions
extension DeltaDecoder {
  /// Enough for most notes.
  private var noteBytesUsual: Int { 256 }

  mutating func readEdition() throws(DecodingFault) {
    let mode = try source[.modes].byte()
    guard mode & ~7 == 0 else { throw invalid(.modes, "an edition's mode is \(mode)") }
    let message = try readContent(isExplicit: mode & 4 != 0)
    let clears = try readClears(mode & 3, neighbour: message, same: nil)
    let note = try readPieces(of: global(message))
    try reserve(1)
    let id = append(
      .addTag(element: global(message), field: .edition, clears: clears, note: note))
    context[.tag, context.author] = Int64(id.seq)
  }

  private mutating func readPieces(of message: OperationID) throws(DecodingFault) -> String {
    let offset = source.offset(.values)
    let most = TagField.edition.noteBytesMax
    let count = try source[.values].count(ofAtLeast: 1, max: most, "pieces of a note")
    guard count > 0 else { return "" }
    var note: [UInt8] = []
    note.reserveCapacity(noteBytesUsual)
    var past: MessagePasts.Past?
    var (nextOfEdition, nextOfInserted) = (0, 0)
    for _ in 0..<count {
      let (kind, length) = try readPiece(leaving: most - note.count)
      guard kind != .new else {
        note += try source[.strings].raw(length)
        continue
      }
      try copy(length)
      if past == nil { past = catchUp(with: message) }
      let text = (kind == .edition ? past?.edition : past?.inserted) ?? ""
      let next = kind == .edition ? nextOfEdition : nextOfInserted
      let range = try readPlace(of: length, from: next, in: text)
      note.append(range, of: text)
      if kind == .edition {
        nextOfEdition = range.upperBound
      } else {
        nextOfInserted = range.upperBound
      }
    }
    guard let text = String(validating: note, as: UTF8.self) else {
      throw DecodingFault(.invalidText, at: offset, "a note is not UTF-8")
    }
    return text
  }

  /// - Parameter rest: how many bytes the note may still have.
  private mutating func readPiece(
    leaving rest: Int
  ) throws(DecodingFault) -> (kind: NotePieces.Piece.Kind, count: Int) {
    let offset = source.offset(.values)
    let value = try source[.values].number()
    guard let kind = NotePieces.Piece.Kind(rawValue: value & 3) else {
      throw DecodingFault(.unsupported, at: offset, "a piece of kind 3 is unknown here: update")
    }
    let count = value >> 2
    guard count > 0 else { throw DecodingFault(.invalidValue, at: offset, "a piece is empty") }
    guard count <= UInt64(rest) else {
      throw DecodingFault(
        .limitExceeded, at: offset,
        "a note has more than \(TagField.edition.noteBytesMax) bytes")
    }
    return (kind, Int(count))
  }

  private mutating func readPlace(
    of count: Int, from next: Int, in text: String
  ) throws(DecodingFault) -> Range<Int> {
    let offset = source.offset(.structure)
    let distance = try source[.structure].signed()
    let (start, overflow) = Int64(next).addingReportingOverflow(distance)
    let most = text.utf8.count - count
    guard !overflow, start >= 0, start <= most else {
      throw DecodingFault(.invalidValue, at: offset, "a piece is of what the delta does not have")
    }
    return Int(start)..<Int(start) + count
  }
}

extension [UInt8] {
  /// - Precondition: the range is inside the text's UTF-8.
  fileprivate mutating func append(_ range: Range<Int>, of text: String) {
    let isDone: Void? = text.utf8.withContiguousStorageIfAvailable {
      append(contentsOf: $0[range])
    }
    if isDone == nil { append(contentsOf: Array(text.utf8)[range]) }
  }
}
