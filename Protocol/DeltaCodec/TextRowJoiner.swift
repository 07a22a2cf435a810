import QueueModel
import SequenceCRDT

/// Joins rows of one text that continue each other, and cuts those that are too long.
struct TextRowJoiner {
  private enum Open {
    case nothing
    case insertion(TextInsertionRow)
    case deletion(id: OperationID, Operation.DeleteText)
  }

  private var open = Open.nothing
  /// The text of the open insertion.
  private var text: [UInt8] = []

  mutating func insertText(
    _ row: TextInsertionRow, utf8: Span<UInt8>, sink: inout some DeltaRowSink
  ) {
    guard utf8.count <= Limits.contentBytesMax else {
      cut(row, utf8: utf8, sink: &sink)
      return
    }
    if case .insertion(var last) = open, let lastID = last.id.advanced(by: last.length - 1),
      row.origins.left == lastID, row.id == lastID.advanced(by: 1),
      row.origins.right == last.origins.right,
      text.count + utf8.count <= Limits.contentBytesMax
    {
      last.length += row.length
      open = .insertion(last)
    } else {
      flush(to: &sink)
      open = .insertion(row)
    }
    utf8.withUnsafeBufferPointer { text.append(contentsOf: $0) }
  }

  /// Sends a row in parts of as many scalars as fit.
  private mutating func cut(
    _ row: TextInsertionRow, utf8: Span<UInt8>, sink: inout some DeltaRowSink
  ) {
    var rest = row
    var start = 0
    while start < utf8.count {
      var end = min(start + Limits.contentBytesMax, utf8.count)
      while end < utf8.count, utf8[end] & 0xC0 == 0x80 { end -= 1 }
      var part = rest
      part.length = 0
      for index in start..<end where utf8[index] & 0xC0 != 0x80 { part.length += 1 }
      insertText(part, utf8: utf8.extracting(start..<end), sink: &sink)
      guard let next = part.id.advanced(by: part.length) else { return }
      rest.origins.left = next.advanced(by: -1)
      rest.id = next
      start = end
    }
  }

  mutating func deleteText(
    id: OperationID, _ row: Operation.DeleteText, sink: inout some DeltaRowSink
  ) {
    if case .deletion(let lastID, let last) = open, id == lastID.advanced(by: last.count),
      let joined = last.joined(with: row)
    {
      open = .deletion(id: lastID, joined)
    } else {
      flush(to: &sink)
      open = .deletion(id: id, row)
    }
  }

  /// Sends what is open.
  mutating func flush(to sink: inout some DeltaRowSink) {
    switch open {
    case .nothing:
      break
    case .insertion(let row):
      _ = sink.insertText(row, utf8: text.span)
      text.removeAll(keepingCapacity: true)
    case .deletion(let id, let row):
      _ = sink.deleteText(id: id, row)
    }
    open = .nothing
  }
}

extension Operation.DeleteText {
  /// This deletion and the next as one where the second, which has the ids behind, goes on in the
  /// same direction; else nil.
  func joined(with next: Operation.DeleteText) -> Operation.DeleteText? {
    guard message == next.message, first.replica == next.first.replica, next.count >= 1,
      Int.max - count >= next.count
    else { return nil }
    let goesForwards = (!backwards || count == 1) && (!next.backwards || next.count == 1)
    let goesBackwards = (backwards || count == 1) && (next.backwards || next.count == 1)
    var joined = self
    joined.count += next.count
    if goesForwards, Int(next.first.seq) - Int(first.seq) == count {
      joined.backwards = false
    } else if goesBackwards, Int(first.seq) - Int(next.first.seq) == next.count {
      joined.first = next.first
      joined.backwards = true
    } else {
      return nil
    }
    return joined
  }
}
