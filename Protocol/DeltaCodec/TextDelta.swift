import QueueModel
package import SequenceCRDT

/// Deltas of a single text: the rows `insertText` and `deleteText` of one message.
extension DeltaCodec {
  /// The operations of a text that `known` lacks, with the ends of the parts that are alike inside.
  ///
  /// - Parameters:
  ///   - message: the `addMessage` that introduced the text.
  ///   - known: what the reader has.
  package static func encodeParts(
    _ text: TextReplica, message: OperationID, since known: VersionVector = VersionVector()
  ) -> EncodedBody {
    DeltaEncoder.encode(TextRowSource(log: text.log, message: message, known: known))
  }

  /// Takes a delta into a text, all of it or nothing; what the text knows already is left out.
  ///
  /// - Throws: `DecodingFault` where the bytes are no delta of this message's text;
  ///   `SequenceFault` where the text lacks what they name.
  /// - Complexity: O(bytes), and O(text) where it is not empty, for a copy to go back to.
  package static func merge(
    _ bytes: [UInt8], message: OperationID, into text: inout TextReplica,
    budget: DecodingBudget = .standard
  ) throws {
    let sink = try DeltaDecoder.decode(
      bytes, into: TextSink(text: text, message: message), budget: budget)
    if let fault = sink.fault { throw fault }
    guard !sink.sawOther else {
      throw DecodingFault(.invalidValue, at: 0, "not all rows are of the text \(message)")
    }
    text = sink.text
  }
}

/// Takes rows into a text.
private struct TextSink: DeltaRowSink {
  private(set) var text: TextReplica
  let message: OperationID
  /// Why the text did not take a row.
  private(set) var fault: SequenceFault?
  /// Whether a row was none of this text.
  private(set) var sawOther = false

  init(text: TextReplica, message: OperationID) {
    self.text = text
    self.message = message
  }

  mutating func insertText(_ row: TextInsertionRow, utf8: Span<UInt8>) -> Bool {
    guard row.message == message else { return refuse() }
    let known = text.knownCount(from: row.id, length: row.length)
    guard known < row.length else { return true }
    guard let rest = row.dropping(known, of: utf8) else { return refuse() }
    do {
      try text.mergeInsertion(
        id: rest.row.id, left: rest.row.origins.left, right: rest.row.origins.right,
        utf8: utf8.extracting(rest.offset..<utf8.count))
      return true
    } catch {
      fault = error
      return false
    }
  }

  mutating func deleteText(id: OperationID, _ row: Operation.DeleteText) -> Bool {
    guard row.message == message else { return refuse() }
    let known = text.knownCount(from: id, length: row.count)
    guard known < row.count else { return true }
    guard let rest = row.dropping(known), let first = id.advanced(by: known) else {
      return refuse()
    }
    do {
      try text.mergeDeletion(
        id: first, first: rest.first, count: rest.count, backwards: rest.backwards)
      return true
    } catch {
      fault = error
      return false
    }
  }

  mutating func perform(_ operation: Operation, furtherTargets: [OperationID]) -> Bool {
    refuse()
  }

  private mutating func refuse() -> Bool {
    sawOther = true
    return false
  }
}

extension TextReplica {
  /// How many of the ids from `id` on are known.
  fileprivate func knownCount(from id: OperationID, length: Int) -> Int {
    TextReplica.knownCount(from: id, length: length, upTo: lastKnown(of: id.replica))
  }

  fileprivate static func knownCount(
    from id: OperationID, length: Int, upTo last: UInt32
  ) -> Int {
    min(max(0, Int(last) - Int(id.seq) + 1), length)
  }
}

extension TextInsertionRow {
  /// The row without its first `count` scalars, and the offset of the rest in the text.
  fileprivate func dropping(_ count: Int, of utf8: Span<UInt8>) -> (
    row: TextInsertionRow, offset: Int
  )? {
    guard count > 0 else { return (self, 0) }
    guard count < length, let first = id.advanced(by: count) else { return nil }
    var row = self
    row.id = first
    row.length -= count
    row.origins.left = id.advanced(by: count - 1)
    return (row, utf8.offset(ofScalar: count))
  }
}

extension Operation.DeleteText {
  /// The deletion without its first `count` units, or nil where none is left.
  fileprivate func dropping(_ count: Int) -> Operation.DeleteText? {
    guard count > 0 else { return self }
    guard count < self.count else { return nil }
    var rest = self
    rest.count -= count
    if !backwards {
      guard let next = first.advanced(by: count) else { return nil }
      rest.first = next
    }
    return rest
  }
}

extension Span<UInt8> {
  /// Where a scalar begins in valid UTF-8; the end where there is none.
  fileprivate func offset(ofScalar number: Int) -> Int {
    var offset = 0
    var rest = number
    while offset < count {
      if self[offset] & 0xC0 != 0x80 {
        if rest == 0 { return offset }
        rest -= 1
      }
      offset += 1
    }
    return count
  }
}

/// The log of a text as rows.
private struct TextRowSource: DeltaRowSource {
  let log: TextLog
  let message: OperationID
  let known: VersionVector

  func sendRows(to sink: inout some DeltaRowSink) {
    var joiner = TextRowJoiner()
    for index in log.indices {
      switch log.entry(at: index) {
      case .insertion(let id, let left, let right, let scalars):
        let row = TextInsertionRow(
          id: id, message: message, origins: Operation.Origins(left: left, right: right),
          length: scalars.count)
        let skipped = TextReplica.knownCount(
          from: id, length: row.length, upTo: known[id.replica])
        guard skipped < row.length else { continue }
        let utf8 = log.utf8(of: scalars)
        guard let rest = row.dropping(skipped, of: utf8.span) else { continue }
        joiner.insertText(
          rest.row, utf8: utf8.span.extracting(rest.offset..<utf8.count), sink: &sink)
      case .deletion(let id, let first, let count, let backwards):
        let row = Operation.DeleteText(
          message: message, first: first, count: count, backwards: backwards)
        let skipped = TextReplica.knownCount(
          from: id, length: count, upTo: known[id.replica])
        guard let rest = row.dropping(skipped), let id = id.advanced(by: skipped) else { continue }
        joiner.deleteText(id: id, rest, sink: &sink)
      }
    }
    joiner.flush(to: &sink)
  }
}
