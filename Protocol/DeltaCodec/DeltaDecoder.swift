import QueueModel
import SequenceCRDT

/// Reads rows; SPECIFICATION.md, section "Delta".
struct DeltaDecoder: ~Copyable {
  private typealias Head = DeltaFormat.Head
  typealias LocalID = DeltaFormat.LocalID

  let replicas: [ReplicaID]
  var source: DeltaSource
  var context: DeltaFormat.Context
  private var operations: [Operation] = []
  private let budget: DecodingBudget
  private var itemsLeft: Int
  /// Of these, units of operations other than insertText and deleteText.
  private var operationsLeft: Int

  static func decode(
    _ bytes: [UInt8], budget: DecodingBudget
  ) throws(DecodingFault) -> [Operation] {
    var reader = ByteReader(bytes)
    let start = try reader.number()
    let table = try Table(start: start, from: &reader, replicasMax: budget.replicasMax)
    let source = try DeltaSource(rest: reader, usesColumns: start & 1 != 0)
    var decoder = DeltaDecoder(table, source: source, budget: budget)
    try decoder.readRows()
    return decoder.operations
  }

  private init(_ table: Table, source: consuming DeltaSource, budget: DecodingBudget) {
    replicas = table.replicas
    context = DeltaFormat.Context(bases: table.bases)
    self.source = source
    self.budget = budget
    itemsLeft = budget.itemsMax
    operationsLeft = budget.operationsMax
  }

  /// The replicas that the rows name.
  private struct Table {
    private(set) var replicas: [ReplicaID] = []
    private(set) var bases: [Int64] = []

    init(start: UInt64, from reader: inout ByteReader, replicasMax: Int) throws(DecodingFault) {
      guard start & 2 == 0 else {
        bases.append(try Table.base(start >> 2, at: 0))
        replicas.append(try Table.replica(from: &reader))
        return
      }
      let count = start >> 2
      guard count <= UInt64(replicasMax) else {
        throw DecodingFault(.budgetExceeded, at: 0, "\(count) replicas, at most \(replicasMax)")
      }
      guard count <= UInt64(reader.remaining / 9) else { throw reader.truncated() }
      var seen: Set<ReplicaID> = []
      for _ in 0..<Int(count) {
        let offset = reader.position
        let replica = try Table.replica(from: &reader)
        guard seen.insert(replica).inserted else {
          throw DecodingFault(.invalidValue, at: offset, "a replica is twice in the table")
        }
        replicas.append(replica)
        bases.append(try Table.base(try reader.number(), at: offset + 8))
      }
    }

    private static func replica(from reader: inout ByteReader) throws(DecodingFault) -> ReplicaID {
      let offset = reader.position
      let value = try reader.fixed()
      guard value != 0 else {
        throw DecodingFault(.invalidValue, at: offset, "0 is not a replica id")
      }
      return ReplicaID(rawValue: value)
    }

    private static func base(_ value: UInt64, at offset: Int) throws(DecodingFault) -> Int64 {
      guard value < UInt64(Limits.sequenceMax) else {
        throw DecodingFault(.invalidValue, at: offset, "a sequence number is too large")
      }
      return Int64(value) + 1
    }
  }

  private mutating func readRows() throws(DecodingFault) {
    var repeats = 1
    var rows = 0
    while !source.isAtEnd(.heads) {
      let offset = source.offset(.heads)
      let head = try source[.heads].byte()
      guard !replicas.isEmpty else {
        throw DecodingFault(.invalidValue, at: offset, "a row needs a replica in the table")
      }
      switch head {
      case Head.switchReplica:
        context.author = try source[.structure].index(below: replicas.count, "replica")
      case Head.skipSequence:
        let distance = try source[.structure].signed()
        let (sum, overflow) = context.nextSequences[context.author].addingReportingOverflow(
          distance)
        guard !overflow, distance != 0, sum >= 1, sum <= DeltaFormat.sequenceMax else {
          throw DecodingFault(.invalidValue, at: offset, "there is no such sequence number")
        }
        context.nextSequences[context.author] = sum
        guard !source.isAtEnd(.heads) else { throw source[.heads].truncated() }
      case Head.timeDifference:
        let difference = try source[.times].signed()
        guard difference != context.timeDifference else {
          throw DecodingFault(.invalidValue, at: offset, "a difference of times has not changed")
        }
        context.timeDifference = difference
        guard !source.isAtEnd(.heads) else { throw source[.heads].truncated() }
      case Head.repeatPlacement:
        guard repeats == 1 else {
          throw DecodingFault(.invalidValue, at: offset, "a repetition is itself repeated")
        }
        repeats = try readRepetitions("repetitions")
        try checkLeft(repeats, ofText: false)
        guard !source.isAtEnd(.heads) else { throw source[.heads].truncated() }
      default:
        rows += 1
        guard rows <= budget.rowsMax else {
          throw DecodingFault(.budgetExceeded, at: offset, "more than \(budget.rowsMax) rows")
        }
        guard repeats == 1 || head >= Head.placeMessage || head & 0xE0 == Head.placeThread else {
          throw DecodingFault(.invalidValue, at: offset, "only placements repeat")
        }
        try readRow(head, repeats: repeats, offset: offset)
        repeats = 1
      }
    }
    try source.requireEnd()
  }

  private mutating func readRow(
    _ head: UInt8, repeats: Int, offset: Int
  ) throws(DecodingFault) {
    switch head {
    case Head.announceDevice:
      let device = try source[.identifiers].identifier(DeviceID.self)
      let name = try readName("a device's name")
      try reserve(1)
      append(.announceDevice(device: device, name: name))
    case Head.openSession:
      try readOpenSession()
    case Head.addTag, Head.clearTags:
      try readTags(puts: head == Head.addTag)
    case Head.setRegister:
      try readRegister()
    case Head.addMessage..<Head.enqueueThread:
      try readAddMessage(head)
    case Head.enqueueThread..<Head.deleteText:
      try readEnqueueThread(head)
    case Head.deleteText..<Head.placeThread:
      try readDeleteText(head, offset: offset)
    case Head.placeThread..<Head.insertText:
      try readPlacements(head, repeats: repeats, focus: .threadSlot)
    case Head.insertText..<Head.placeMessage:
      try readInsertText(head)
    case Head.placeMessage...:
      try readPlacements(head, repeats: repeats, focus: .messageSlot)
    default:
      throw DecodingFault(.unsupported, at: offset, "row kind \(head) is unknown here: update")
    }
  }

  /// A count of at least two, written as the count minus two.
  mutating func readRepetitions(_ what: String) throws(DecodingFault) -> Int {
    let most = min(DeltaFormat.sequenceMax, Int64(Int.max))
    return try source[.counts].count(max: Int(most) - 2, what) + 2
  }

  /// Takes `count` units from the budget and checks that their ids exist.
  ///
  /// - Parameter ofText: whether they insert or delete text.
  mutating func reserve(_ count: Int, ofText: Bool = false) throws(DecodingFault) {
    let seq = context.nextSequences[context.author]
    guard count <= DeltaFormat.sequenceMax - seq + 1 else {
      throw DecodingFault(
        .limitExceeded, at: source.offset(.heads), "\(count) ids after \(seq) are too many")
    }
    try take(count, ofText: ofText)
  }

  mutating func take(_ items: Int, ofText: Bool = false) throws(DecodingFault) {
    try checkLeft(items, ofText: ofText)
    itemsLeft -= items
    if !ofText { operationsLeft -= items }
  }

  private mutating func checkLeft(_ items: Int, ofText: Bool) throws(DecodingFault) {
    guard ofText || items <= operationsLeft else {
      throw DecodingFault(
        .budgetExceeded, at: source.offset(.heads),
        "more than \(budget.operationsMax) operations and cleared tags")
    }
    guard items <= itemsLeft else {
      throw DecodingFault(
        .budgetExceeded, at: source.offset(.heads), "more than \(budget.itemsMax) items")
    }
  }

  /// Adds an operation whose units were reserved.
  ///
  /// - Returns: the id of its last unit.
  @discardableResult
  mutating func append(_ body: Operation.Body, length: Int = 1) -> OperationID {
    let seq = context.nextSequences[context.author]
    let operation = Operation(id: global(LocalID(replica: context.author, seq: seq)), body: body)
    operations.append(operation)
    context.nextSequences[context.author] += Int64(length)
    return global(LocalID(replica: context.author, seq: seq + Int64(length) - 1))
  }

  private mutating func readOpenSession() throws(DecodingFault) {
    let mode = try source[.modes].byte()
    guard mode == DeltaFormat.ClearsTag.none || mode == DeltaFormat.ClearsTag.list else {
      throw invalid(.modes, "a session's mode is \(mode)")
    }
    let offset = source.offset(.strings)
    let name = try readText(max: Limits.sessionIDBytesMax, "a session id")
    let session: SessionID
    do {
      session = try SessionID(name)
    } catch {
      throw DecodingFault(.invalidValue, at: offset, error.description)
    }
    guard session.rawValue.utf8.elementsEqual(name.utf8) else {
      throw DecodingFault(.invalidValue, at: offset, "a session id is not lower-cased and trimmed")
    }
    let clears = try readClears(mode, neighbour: nil, same: nil)
    try reserve(1)
    context.session = LocalID(
      replica: context.author, seq: context.nextSequences[context.author])
    append(.openSession(session: session, clears: clears))
  }

  mutating func invalid(_ column: DeltaFormat.Column, _ message: String) -> DecodingFault {
    DecodingFault(.invalidValue, at: source.offset(column), message)
  }

  @inline(__always)
  func global(_ id: LocalID) -> OperationID {
    OperationID(replica: replicas[id.replica], seq: UInt32(truncatingIfNeeded: id.seq))
  }
}
