import QueueModel
import SequenceCRDT
import WireProtocol

/// Finding operations again in a state, where there are none to compare; SPECIFICATION.md, section
/// "Forms".
extension Replica {
  /// Authors anew what the base of the server has other events for, or may have.
  ///
  /// Called before a base is taken over, since its operations leave the log. What the base shows
  /// under the id it has here has arrived, and with it all before; typed text never comes twice.
  /// What follows of own operations is not there, or no longer shown: then it comes again rather
  /// than not at all. Where nothing speaks against its being there it keeps its ids, under which
  /// another device may bring what comes behind, and what does no harm is done a second time. What
  /// the server had, others' above all, goes from the first on that the base has something else for.
  ///
  /// - Parameter isMadeHere: whether the base is made of what others' operations are here.
  package mutating func reauthorForked(
    from base: Base, isMadeHere: Bool, at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) {
    var compared: Set<ReplicaID> = []
    let others = base.image.replicas.filter { !record.ownReplicas.contains($0.id) }
    if isMadeHere { compared.formUnion(others.map(\.id)) }
    while true {
      let found = try forked(from: base, besides: compared, store: store)
      // A copy may have authored the beginning alike, and something else behind it: then the
      // replica that it is authored under now is to be compared as well.
      compared.formUnion(record.ownReplicas)
      compared.formUnion(workspace.vector.sorted.map(\.replica))
      if !found.doubtful.isEmpty {
        // Behind what is authored anew nothing of its replica is to follow.
        if found.cuts[record.replica] != nil { try takeFreshReplica(at: occasion, store: store) }
        try doAgain(found.doubtful, at: occasion, store: store)
      }
      if found.cuts.isEmpty { return }
      var divergence = Divergence(cuts: found.cuts)
      for replica in others where found.cuts[replica.id] == nil {
        divergence.confirmed[replica.id] = replica.seq
      }
      _ = try reauthor(divergence, at: occasion, store: store)
    }
  }

  /// What a state says about operations.
  private struct Findings {
    /// The first number of each replica that is to be authored anew.
    var cuts: [ReplicaID: UInt32] = [:]
    /// What has arrived as far as can be said, does not show, and does no harm if it is done twice.
    var doubtful: [Operation] = []
  }

  /// Operations under whose ids the server may have something else.
  private struct Suspect {
    var numbers: ClosedRange<UInt32>
    /// Whether the server may never have had them.
    var isUnconfirmed: Bool
  }

  /// Looks for operations in a base that may hold other events than are here.
  private func forked(
    from base: Base, besides compared: Set<ReplicaID>, store: some ReplicaStore
  ) throws(Fault) -> Findings {
    let suspects = try suspects(in: base.image.replicas.filter { !compared.contains($0.id) }, store)
    guard !suspects.isEmpty else { return Findings() }
    let ranges = suspects.sorted { $0.key < $1.key }.map {
      OperationRange(
        replica: $0.key, first: $0.value.numbers.lowerBound, last: $0.value.numbers.upperBound)
    }
    let held = try entries(of: store, in: ranges)
    let own = record.ownReplicas
    let continuations = Continuation.all(
      of: held.flatMap { entry in
        entry.operations.filter { entry.isLocal || !own.contains($0.id.replica) }
      }, in: suspects.mapValues(\.numbers), known: Set(base.image.replicas.map(\.id)))
    let evidence = Evidence(
      of: base.image, about: Set(suspects.keys).union(continuations.map(\.successor)),
      deleting: held.flatMap(\.operations).flatMap(\.deletedScalars))
    var found = Findings()
    for range in ranges {
      let operations = held.flatMap(\.operations).inOrder(of: range.replica)
      var first: UInt32
      var doubtful: [Operation] = []
      if suspects[range.replica]?.isUnconfirmed == true {
        let arrival = evidence.arrival(of: range, among: operations)
        guard let last = arrival.last else {
          found.doubtful += arrival.doubtful
          continue
        }
        first = last + 1
        doubtful = arrival.doubtful
      } else if let other = evidence.firstOther(of: range, among: operations) {
        first = other
      } else {
        continue
      }
      for continuation in continuations where continuation.replica == range.replica {
        guard try shows(evidence, continuation, cuts: found.cuts, store: store) else { continue }
        first = continuation.first
        break
      }
      found.doubtful += doubtful.filter { $0.id.seq < first }
      found.cuts[range.replica] = first
    }
    return found
  }

  /// Does operations once more, under new ids of the present replica.
  private mutating func doAgain(
    _ operations: [Operation], at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) {
    if workspace.vector[record.replica] >= Limits.sequenceMax {
      try takeFreshReplica(at: occasion, store: store)
    }
    var next = self
    let last = OperationID(replica: record.replica, seq: workspace.vector[record.replica])
    let again = OperationRewriter(operations, behind: last).operations
    do {
      _ = try next.workspace.merge(again)
    } catch {
      throw .merge(error)
    }
    try commitLocal(again, next: &next, store: store)
    self = next
  }

  /// The operations under whose ids the server may have something else.
  private func suspects(
    in known: [WorkspaceImage.Replica], _ store: some ReplicaStore
  ) throws(Fault) -> [ReplicaID: Suspect] {
    var suspects: [ReplicaID: Suspect] = [:]
    for replica in known {
      let mine = workspace.vector[replica.id]
      let last = min(replica.seq, mine)
      let floor = record.floor[replica.id]
      guard floor < last else { continue }
      let isOwn = record.ownReplicas.contains(replica.id)
      let acknowledged = max(record.acknowledged[replica.id], floor)
      let isUnconfirmed = isOwn && acknowledged < last
      if replica.seq <= mine {
        let known = KnownReplica(replica: replica.id, seq: replica.seq, digest: replica.digest)
        let digest =
          replica.seq == mine
          ? workspace.digest(of: replica.id)
          : try digests(upTo: [known], store: store)[replica.id]
        guard let digest, digest != replica.digest else { continue }
        let first = isUnconfirmed ? acknowledged : floor
        suspects[replica.id] = Suspect(numbers: first + 1...last, isUnconfirmed: isOwn)
      } else {
        // This store was set back, or another one wrote under the same id.
        let first = isUnconfirmed ? acknowledged : floor
        suspects[replica.id] = Suspect(numbers: first + 1...last, isUnconfirmed: isUnconfirmed)
      }
    }
    return suspects
  }

  /// Whether the state shows what would be authored anew from there on.
  private func shows(
    _ evidence: Evidence, _ continuation: Continuation, cuts: [ReplicaID: UInt32],
    store: some ReplicaStore
  ) throws(Fault) -> Bool {
    var cuts = cuts
    cuts[continuation.replica] = continuation.first
    var cutting = Cutting(Divergence(cuts: cuts), record: record)
    for entry in try allEntries(of: store) { _ = cutting.kept(of: entry) }
    _ = cutting.kept(
      of: LogEntry(id: 0, isLocal: true, operations: workspace.pendingOperations))
    let anew = OperationRewriter(cutting.taken, in: OperationRewriter.Surroundings())
    for operation in anew.operations where operation.id.replica == continuation.successor {
      switch evidence.finding(about: operation) {
      case .shown: return true
      case .silence: continue
      case .otherEvent: return false
      }
    }
    return false
  }
}

/// A replica that the server knows, and under which a copy of this store would have authored its
/// operations anew from a certain one on.
///
/// The copy compared operations, or a state that showed more or less than the one at hand; so it
/// may have begun at another one than this device would.
private struct Continuation {
  var replica: ReplicaID
  var first: UInt32
  var successor: ReplicaID

  /// Those of local operations, in the order of their ids.
  ///
  /// - Complexity: O(units of the operations).
  static func all(
    of operations: [Operation], in ranges: [ReplicaID: ClosedRange<UInt32>],
    known: Set<ReplicaID>
  ) -> [Continuation] {
    var found: [Continuation] = []
    for operation in operations {
      let replica = operation.id.replica
      guard let range = ranges[replica] else { continue }
      for (offset, successor) in operation.successorReplicas.enumerated()
      where known.contains(successor) {
        let first = operation.id.seq + UInt32(offset)
        guard range.contains(first) else { continue }
        found.append(Continuation(replica: replica, first: first, successor: successor))
      }
    }
    return found.sorted { ($0.replica, $0.first) < ($1.replica, $1.first) }
  }
}

/// What a state shows under the ids of some replicas.
private struct Evidence {
  /// What it says about an operation.
  enum Finding {
    /// It is there.
    case shown
    /// It may have been there and be gone.
    case silence
    /// There is something else, or it would still be there.
    case otherEvent
  }

  private enum Element: Hashable {
    case session(SessionID)
    case message(MessageID)
  }

  private struct Scalar: Hashable {
    var addition: OperationID
    /// nil for one that is deleted.
    var scalar: Unicode.Scalar?
  }

  private struct Mark: Hashable {
    var element: Element
    var field: UInt8
  }

  private let replicas: Set<ReplicaID>
  private let devices: [ReplicaID: DeviceID]
  /// By the operations that introduced them.
  private var elements: [OperationID: Element] = [:]
  private var scalars: [OperationID: Scalar] = [:]
  private var slots: [OperationID: Element] = [:]
  private var tags: [OperationID: Mark] = [:]
  private var registers: [OperationID: Mark] = [:]
  /// One operation can put a tag on a message and one on its session.
  private var shownTags: [OperationID: Set<TagField>] = [:]
  /// Of scalars that operations delete, those that show.
  private var undeleted: Set<OperationID> = []
  private let deleted: Set<OperationID>

  /// - Parameter deleted: scalars that operations in question delete.
  init(
    of image: WorkspaceImage, about replicas: Set<ReplicaID>, deleting deleted: [OperationID]
  ) {
    self.replicas = replicas
    self.deleted = Set(deleted)
    devices = Dictionary(
      image.replicas.compactMap { replica in
        replica.announcement.map { (replica.id, $0.device) }
      }
    ) { first, _ in first }
    for session in image.sessions {
      let element = Element.session(session.key)
      for reference in session.references { elements[reference] = element }
      if let slot = session.threadPosition?.slot { slots[slot] = element }
      if let slot = session.enqueued?.slot { slots[slot] = element }
      note(session.tags, session.registers, of: element)
      for message in session.messages {
        let element = Element.message(message.id)
        slots[message.position.slot] = element
        note(message.tags, message.registers, of: element)
        for addition in message.additions {
          elements[addition.id] = element
          note(addition)
        }
      }
    }
  }

  private mutating func note(
    _ tags: [WorkspaceImage.Tags], _ registers: [WorkspaceImage.Register], of element: Element
  ) {
    for set in tags {
      for tag in set.tags {
        self.tags[tag.id] = Mark(element: element, field: set.field.rawValue)
        shownTags[tag.id, default: []].insert(set.field)
      }
    }
    for register in registers {
      self.registers[register.writer] = Mark(element: element, field: register.field.rawValue)
    }
  }

  private mutating func note(_ addition: WorkspaceImage.Addition) {
    var text = addition.text.unicodeScalars.makeIterator()
    for run in addition.runs {
      for offset in 0..<run.slots.length {
        let scalar = run.isVisible ? text.next() : nil
        guard let id = run.slots.id.advanced(by: offset) else { continue }
        if run.isVisible, deleted.contains(id) { undeleted.insert(id) }
        guard replicas.contains(id.replica) else { continue }
        scalars[id] = Scalar(addition: addition.id, scalar: scalar)
      }
    }
  }

  /// How much of a range of operations is there.
  struct Arrival {
    /// The last that is there; nil where nothing speaks against all of it.
    var last: UInt32?
    /// Of these, the last of what is there, nothing shows.
    var doubtful: [Operation] = []
  }

  func arrival(of range: OperationRange, among operations: [Operation]) -> Arrival {
    var shown = range.first - 1
    var other: UInt32?
    // What follows on the last that shows.
    var silent: [Operation] = []
    for operation in operations where other == nil {
      guard let ids = operation.range, ids.last >= range.first, ids.first <= range.last
      else { continue }
      switch finding(about: operation) {
      case .shown:
        shown = max(shown, min(ids.last, range.last))
        silent = []
      case .silence: silent.append(operation)
      case .otherEvent: other = max(ids.first, range.first)
      }
    }
    if let index = silent.firstIndex(where: isUndone) {
      other = max(silent[index].id.seq, range.first)
      silent.removeSubrange(index...)
    }
    // Texts of which no scalar is left may be others', too.
    if silent.contains(where: { if case .insertText = $0.body { true } else { false } }) {
      return Arrival(last: shown)
    }
    return Arrival(last: other.map { $0 - 1 }, doubtful: silent.filter(\.doesNoHarmTwice))
  }

  /// Whether something shows that the operation takes away.
  private func isUndone(_ operation: Operation) -> Bool {
    func shows(_ field: TagField, _ tags: [OperationID]) -> Bool {
      tags.contains { shownTags[$0]?.contains(field) == true }
    }
    return switch operation.body {
    case .deleteText: operation.deletedScalars.contains(where: undeleted.contains)
    case .addTag(_, let field, let clears, _), .clearTags(_, let field, let clears):
      shows(field, clears)
    case .enqueueThread(let enqueue):
      shows(.queued, enqueue.clearsQueued) || shows(.locked, enqueue.clearsLocked)
    case .announceDevice, .openSession, .addMessage, .insertText, .placeMessage, .placeThread,
      .setRegister:
      false
    }
  }

  /// The first number of a range for which there is something else; nil where there is none.
  func firstOther(of range: OperationRange, among operations: [Operation]) -> UInt32? {
    for operation in operations {
      guard let ids = operation.range, ids.last >= range.first, ids.first <= range.last,
        let offset = unitsBeforeAnother(in: operation)
      else { continue }
      return max(range.first, ids.first + UInt32(clamping: offset))
    }
    return nil
  }

  func finding(about operation: Operation) -> Finding {
    let id = operation.id
    switch operation.body {
    case .openSession(let session, _):
      // References to sessions and messages are never dropped.
      return elements[id] == .session(session) ? .shown : .otherEvent
    case .addMessage(let addition):
      return elements[id] == .message(addition.message) ? .shown : .otherEvent
    case .insertText(let insertion):
      return finding(about: insertion, id)
    case .announceDevice(let device, _) where id.seq == 1:
      return devices[id.replica] == device ? .shown : .silence
    default:
      break
    }
    if elements[id] != nil || scalars[id] != nil { return .otherEvent }
    switch operation.body {
    case .placeMessage(let element, _, _, _), .placeThread(let element, _, _):
      return found(slots[id], elements[element])
    case .enqueueThread(let enqueue):
      return found(slots[id], elements[enqueue.session])
    case .addTag(let element, let field, _, _):
      return found(tags[id], mark(element, field.rawValue))
    case .setRegister(let element, let field, _, _):
      return found(registers[id], mark(element, field.rawValue))
    default:
      return .silence
    }
  }

  private func mark(_ element: OperationID, _ field: UInt8) -> Mark? {
    elements[element].map { Mark(element: $0, field: field) }
  }

  private func found<Value: Equatable>(_ shown: Value?, _ expected: Value?) -> Finding {
    guard let shown else { return .silence }
    return shown == expected ? .shown : .otherEvent
  }

  private func finding(
    about insertion: Operation.InsertText, _ id: OperationID
  ) -> Finding {
    var finding = Finding.silence
    for (offset, scalar) in insertion.text.unicodeScalars.enumerated() {
      switch self.finding(about: scalar, at: id.advanced(by: offset), of: insertion.message) {
      case .otherEvent: return .otherEvent
      case .shown: finding = .shown
      case .silence: continue
      }
    }
    return finding
  }

  private func finding(
    about scalar: Unicode.Scalar, at id: OperationID?, of message: OperationID
  ) -> Finding {
    guard let id else { return .silence }
    if elements[id] != nil || slots[id] != nil { return .otherEvent }
    guard let shown = scalars[id] else { return .silence }
    return shown.addition == message && shown.scalar ?? scalar == scalar ? .shown : .otherEvent
  }

  /// How many units of an operation come before the first for which there is something else; nil
  /// where there is none.
  private func unitsBeforeAnother(in operation: Operation) -> Int? {
    guard case .insertText(let insertion) = operation.body else {
      return finding(about: operation) == .otherEvent ? 0 : nil
    }
    let scalars = Array(insertion.text.unicodeScalars)
    return scalars.indices.first { offset in
      finding(
        about: scalars[offset], at: operation.id.advanced(by: offset), of: insertion.message)
        == .otherEvent
    }
  }
}

extension Operation {
  fileprivate var deletedScalars: [OperationID] {
    guard case .deleteText(let deletion) = body else { return [] }
    return (0..<deletion.count).compactMap { deletion.first.advanced(by: $0) }
  }

  /// Whether the same again changes nothing where it was there, other than to pause a queue or to
  /// attach a file a second time.
  fileprivate var doesNoHarmTwice: Bool {
    switch body {
    case .deleteText, .clearTags, .placeMessage, .placeThread, .setRegister: true
    case .addTag(_, let field, _, _): field == .paused || field == .attachment
    case .announceDevice, .openSession, .addMessage, .insertText, .enqueueThread: false
    }
  }
}
