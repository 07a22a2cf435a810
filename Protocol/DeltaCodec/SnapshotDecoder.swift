import QueueModel
import SequenceCRDT

/// Finds the parts of a snapshot and reads them; SPECIFICATION.md, section "Snapshot".
struct SnapshotDecoder {
  let bytes: [UInt8]
  private var budget: SnapshotBudget
  /// The bounds of the parts in each stream: part *k* from entry *k* to entry *k* + 1.
  private var ends: [[Int]] = []
  let sessionCount: Int

  /// Reads the directory.
  ///
  /// - Parameter reader: after the number of the layout.
  init(_ reader: ByteReader, budget: DecodingBudget) throws(DecodingFault) {
    var reader = reader
    bytes = reader.bytes
    self.budget = SnapshotBudget(budget.limited(toSnapshotOf: bytes.count))
    let streams = SnapshotFormat.Stream.allCases.count
    sessionCount = try reader.count(ofAtLeast: streams, max: Int.max, "sessions")
    try self.budget.takeRows(sessionCount, at: reader.position)
    var lengths: [[Int]] = []
    for _ in 0..<streams {
      var column: [Int] = []
      column.reserveCapacity(sessionCount + 1)
      for _ in 0...sessionCount {
        column.append(try reader.count(ofAtLeast: 1, max: Int.max, "a part's bytes"))
      }
      lengths.append(column)
    }
    var end = reader.position
    for column in lengths {
      var columnEnds = [end]
      columnEnds.reserveCapacity(column.count + 1)
      for length in column {
        guard length <= reader.end - end else {
          throw DecodingFault(.truncated, at: end, "a part is longer than what is there")
        }
        end += length
        columnEnds.append(end)
      }
      ends.append(columnEnds)
    }
    guard end == reader.end else {
      throw DecodingFault(.trailingBytes, at: end, "\(reader.end - end) bytes follow the snapshot")
    }
  }

  /// The range of a part in a stream; part 0 is the workspace's.
  func range(of part: Int, in stream: SnapshotFormat.Stream) -> Range<Int> {
    ends[stream.rawValue][part]..<ends[stream.rawValue][part + 1]
  }

  private func reader(_ stream: SnapshotFormat.Stream, part: Int) -> ByteReader {
    ByteReader(bytes, range: range(of: part, in: stream))
  }

  func part(_ number: Int) throws(DecodingFault) -> SnapshotPartReader {
    try SnapshotPartReader(
      numbers: reader(.numbers, part: number), runs: reader(.runs, part: number),
      identifiers: reader(.identifiers, part: number), texts: reader(.texts, part: number),
      budget: budget)
  }

  func image() throws(DecodingFault) -> WorkspaceImage {
    var image = WorkspaceImage()
    var own = try part(0)
    (image.replicas, image.threadSlots) = try own.readWorkspace()
    var budget = own.budget
    image.sessions.reserveCapacity(sessionCount)
    for number in 0..<sessionCount {
      var part = try part(number + 1)
      part.budget = budget
      image.sessions.append(try part.readSession())
      budget = part.budget
      let isBehind = number == 0 || image.sessions[number - 1].key < image.sessions[number].key
      guard isBehind else { throw outOfOrder("sessions", part: number + 1) }
    }
    return image
  }

  func outOfOrder(_ what: String, part: Int) -> DecodingFault {
    DecodingFault(
      .invalidValue, at: ends[0][part], "the \(what) are not in ascending order")
  }
}

/// The rest of a decoding budget.
struct SnapshotBudget {
  private let whole: DecodingBudget
  private var rowsLeft: Int
  private var itemsLeft: Int

  init(_ budget: DecodingBudget) {
    whole = budget
    rowsLeft = budget.rowsMax
    itemsLeft = budget.itemsMax
  }

  var replicasMax: Int { whole.replicasMax }

  mutating func takeRows(_ count: Int, at offset: Int) throws(DecodingFault) {
    guard count <= rowsLeft else {
      throw DecodingFault(.budgetExceeded, at: offset, "more than \(whole.rowsMax) records")
    }
    rowsLeft -= count
  }

  mutating func takeItems(_ count: Int, at offset: Int) throws(DecodingFault) {
    guard count <= itemsLeft else {
      throw DecodingFault(.budgetExceeded, at: offset, "more than \(whole.itemsMax) items")
    }
    itemsLeft -= count
  }
}
