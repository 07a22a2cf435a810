import SequenceCRDT

/// The untouched sessions of an opened snapshot, with tables for finding their content.
///
/// It never changes: a workspace keeps its changes separately. It is a class, so that all copies of
/// a workspace share it.
final class ColdSessions: Sendable {
  let packed: any PackedSessions
  /// Ascending.
  let keys: [SessionID]
  private let keyTable: IdentityTable
  private let flags: [Flags]
  private let waiting: [UInt32]
  /// The block of each message in the queue; nil for one that is not in it.
  private let blocks: [QueueBlock?]
  /// The number of each session's first message, and at the end the number of all messages.
  private let messageStarts: [UInt32]
  let messages: [MessageID]
  private let messageTable: IdentityTable
  private let references: ReferenceList
  /// The latest stamp of everything that the sessions hold.
  let latestStamp: Stamp
  /// The sessions' places in the thread queue.
  let threadPlaces: [(slot: OperationID, session: SessionID)]

  private struct Flags: OptionSet {
    var rawValue: UInt8
    static let exists = Flags(rawValue: 1)
    static let isInThreadQueue = Flags(rawValue: 2)
  }

  /// The element that an `openSession` or `addMessage` introduced.
  private enum Target {
    case session(Int)
    case message(Int)
  }

  /// The ids of `openSession` and `addMessage` operations, as columns.
  private struct ReferenceList: Sendable {
    private var replicas: [ReplicaID] = []
    private var replicaNumbers: [ReplicaID: UInt32] = [:]
    private var replicaOfReference: [UInt32] = []
    private var seqs: [UInt32] = []
    /// Twice the number of a message, or twice that of a session plus 1.
    private var targets: [UInt32] = []
    private var table: IdentityTable

    init(capacity: Int) {
      table = IdentityTable(capacity: capacity)
      replicaOfReference.reserveCapacity(capacity)
      seqs.reserveCapacity(capacity)
      targets.reserveCapacity(capacity)
    }

    private func number(of id: OperationID) -> Int? {
      table.find(id.hashValue) { number in
        seqs[number] == id.seq && replicas[Int(replicaOfReference[number])] == id.replica
      }
    }

    func target(of id: OperationID) -> Target? {
      guard let number = number(of: id) else { return nil }
      let target = Int(targets[number])
      return target & 1 == 0 ? .message(target >> 1) : .session(target >> 1)
    }

    private mutating func number(ofReplica id: ReplicaID) -> UInt32 {
      if let known = replicaNumbers[id] { return known }
      let new = UInt32(replicas.count)
      replicas.append(id)
      replicaNumbers[id] = new
      return new
    }

    /// - Returns: false if the id is there already.
    mutating func insert(_ id: OperationID, _ target: Target) -> Bool {
      let replica = number(ofReplica: id.replica)
      let isNew = table.insert(seqs.count, hash: id.hashValue) {
        seqs[$0] == id.seq && replicaOfReference[$0] == replica
      }
      guard isNew else { return false }
      replicaOfReference.append(replica)
      seqs.append(id.seq)
      switch target {
      case .message(let number): targets.append(UInt32(number * 2))
      case .session(let number): targets.append(UInt32(number * 2 + 1))
      }
      return true
    }
  }

  /// - Precondition: there is a summary for each session, in their order.
  /// - Throws: `MergeError.invalidImage` if the sessions contradict each other.
  /// - Complexity: O(sessions + messages).
  init(_ packed: any PackedSessions, summaries: [SessionSummary]) throws(MergeError) {
    precondition(packed.count == summaries.count)
    self.packed = packed
    let keys = summaries.map(\.key)
    self.keys = keys
    var keyTable = IdentityTable(capacity: keys.count)
    for (index, key) in keys.enumerated() {
      guard keyTable.insert(index, hash: key.hashValue, unless: { keys[$0] == key }) else {
        throw .invalidImage(reason: "session \(key) occurs twice")
      }
    }
    self.keyTable = keyTable
    flags = summaries.map { summary in
      var flags: Flags = summary.exists ? .exists : []
      if summary.exists, summary.isQueued, summary.threadPosition != nil {
        flags.insert(.isInThreadQueue)
      }
      return flags
    }
    waiting = summaries.map { summary in UInt32(summary.blocks.count { $0 != nil }) }
    blocks = summaries.flatMap(\.blocks)
    latestStamp = summaries.reduce(.zero) { max($0, $1.latestStamp) }
    threadPlaces = summaries.compactMap { summary in
      summary.threadPosition.map { (slot: $0, session: summary.key) }
    }
    let count = summaries.reduce(0) { $0 + $1.messages.count }
    let referenceCount = summaries.reduce(0) { $0 + $1.references.count + $1.additions.count }
    guard count < 1 << 30, referenceCount < 1 << 30 else {
      throw .invalidImage(reason: "there are too many messages")
    }
    var starts: [UInt32] = [0]
    starts.reserveCapacity(summaries.count + 1)
    var messages: [MessageID] = []
    messages.reserveCapacity(count)
    var table = IdentityTable(capacity: count)
    var references = ReferenceList(capacity: referenceCount)
    for (index, summary) in summaries.enumerated() {
      for id in summary.messages {
        let isNew = table.insert(messages.count, hash: id.hashValue) { messages[$0] == id }
        guard isNew else { throw .invalidImage(reason: "message \(id) occurs twice") }
        messages.append(id)
      }
      let start = Int(starts[index])
      let isUnique =
        summary.references.allSatisfy { references.insert($0, .session(index)) }
        && summary.additions.allSatisfy { references.insert($0.id, .message(start + $0.message)) }
      guard isUnique else {
        throw .invalidImage(reason: "session \(summary.key) shares an id with another")
      }
      starts.append(UInt32(messages.count))
    }
    messageStarts = starts
    self.messages = messages
    messageTable = table
    self.references = references
  }

  /// The number of a session, or nil.
  func index(of key: SessionID) -> Int? {
    keyTable.find(key.hashValue) { keys[$0] == key }
  }

  /// The session that holds a message, and the message's place in it; nil if none does.
  func place(of id: MessageID) -> (session: Int, message: Int)? {
    guard let number = messageTable.find(id.hashValue, where: { messages[$0] == id }) else {
      return nil
    }
    let session = self.session(ofMessage: number)
    return (session: session, message: number - Int(messageStarts[session]))
  }

  /// The session that an `openSession` introduced.
  func session(introducedBy id: OperationID) -> SessionID? {
    guard case .session(let index)? = references.target(of: id) else { return nil }
    return keys[index]
  }

  /// The message that an `addMessage` introduced.
  func message(introducedBy id: OperationID) -> MessageID? {
    guard case .message(let number)? = references.target(of: id) else { return nil }
    return messages[number]
  }

  private func session(ofMessage number: Int) -> Int {
    keys.indices.partitioningIndex { Int(messageStarts[$0 + 1]) > number }
  }

  func exists(_ index: Int) -> Bool { flags[index].contains(.exists) }
  func isInThreadQueue(_ index: Int) -> Bool { flags[index].contains(.isInThreadQueue) }
  /// How many messages of a session are live.
  func waiting(_ index: Int) -> Int { Int(waiting[index]) }

  /// The numbers of the messages at some places of a session's queue in effective order, from 0.
  ///
  /// - Complexity: O(messages of the session), a byte each.
  func messages(of index: Int, at places: Range<Int>) -> [Int] {
    let start = Int(messageStarts[index])
    let here = blocks[start..<Int(messageStarts[index + 1])]
    var (found, passed): ([Int], Int) = ([], 0)
    for block in QueueBlock.allCases {
      for number in here.indices where here[number] == block {
        if places.contains(passed) { found.append(number - start) }
        passed += 1
        if passed >= places.upperBound { return found }
      }
    }
    return found
  }

  /// The places of a block in effective order, from 0.
  func places(of block: QueueBlock, in index: Int) -> Range<Int> {
    let here = blocks[Int(messageStarts[index])..<Int(messageStarts[index + 1])]
    let inFront = here.count { $0.map { $0.rawValue < block.rawValue } ?? false }
    return inFront..<inFront + here.count { $0 == block }
  }

  /// Reads a session with all its content.
  func thaw(_ index: Int) throws(MergeError) -> RestoredSession {
    let restored = try RestoredSession(packed.session(at: index))
    guard restored.session.key == keys[index], restored.session.standing.count == waiting(index),
      restored.messages.map(\.id) == messageIDs(of: index)
    else { throw .invalidImage(reason: "session \(keys[index]) is not what its outline says") }
    return restored
  }

  func messageIDs(of index: Int) -> [MessageID] {
    Array(messages[Int(messageStarts[index])..<Int(messageStarts[index + 1])])
  }
}
