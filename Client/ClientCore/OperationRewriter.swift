import QueueModel
import SequenceCRDT

/// Gives operations new ids: those of each replica get successors of its own, and references among
/// them follow.
///
/// Needed when the server has other events under the same ids (a fork). Every device that has the
/// operations gives them the same ids, whatever else it has; see `Operation.successorReplica`.
struct OperationRewriter {
  /// What the rewriter has to know of the replicas that it writes for.
  struct Surroundings {
    /// Operations of possible successors that are here already, each replica's in their order.
    var held: [ReplicaID: [Operation]] = [:]
    /// The announcement that a successor begins with; nil where it is here, or not to be given.
    var announcement: (Successor) -> Operation.Body? = { _ in nil }
    /// What takes the place of a successor that is in use for something else; nil where none is.
    var substitute: (Successor) -> ReplicaID? = { _ in nil }
  }

  private struct Stretch {
    var first: UInt32
    var last: UInt32
    var newFirst: OperationID
  }

  /// Begun for the operations of a replica.
  struct Successor {
    var replica: ReplicaID
    var of: ReplicaID
  }

  private let surroundings: Surroundings
  /// Under which replica an old one's operations go on.
  private var targets: [ReplicaID: ReplicaID] = [:]
  /// All go on under this one, whose numbers go on.
  private let only: ReplicaID?
  /// The ids that the next operations of new replicas get.
  private var next: [ReplicaID: OperationID] = [:]
  /// By old replica, in rising order.
  private var stretches: [ReplicaID: [Stretch]] = [:]
  private(set) var operations: [Operation] = []
  /// In the order in which they were begun.
  private(set) var successors: [Successor] = []

  /// Rewrites operations in an order in which they can be applied.
  init(_ originals: [Operation], in surroundings: Surroundings) {
    self.surroundings = surroundings
    only = nil
    for original in originals { rewrite(original) }
  }

  /// Rewrites operations, of whatever replicas, for one that has others up to `last`.
  init(_ originals: [Operation], behind last: OperationID) {
    surroundings = Surroundings()
    only = last.replica
    next[last.replica] = OperationID(replica: last.replica, seq: last.seq &+ 1)
    for original in originals { rewrite(original) }
  }

  private mutating func rewrite(_ original: Operation) {
    // The successor announces itself; nothing refers to an announcement.
    if case .announceDevice = original.body { return }
    if only == nil, targets[original.id.replica] == nil {
      begin(original.successorReplica, for: original.id.replica)
    }
    if case .deleteText(let deletion) = original.body {
      for piece in pieces(of: deletion) { place(.deleteText(piece), of: original, isNamed: false) }
      return
    }
    place(rewritten(original.body), of: original, isNamed: true)
  }

  private mutating func begin(_ successor: ReplicaID, for replica: ReplicaID) {
    var begun = Successor(replica: successor, of: replica)
    if let substitute = surroundings.substitute(begun) { begun.replica = substitute }
    successors.append(begun)
    if let announcement = surroundings.announcement(begun) {
      operations.append(
        Operation(id: OperationID(replica: begun.replica, seq: 1), body: announcement))
    }
    targets[replica] = begun.replica
    next[begun.replica] = OperationID(replica: begun.replica, seq: 2)
  }

  /// Puts what became of an operation behind what there is of the successor.
  ///
  /// Where a copy wrote something else there, that is a fork as well: what follows goes on under
  /// the successor's successor.
  private mutating func place(
    _ body: Operation.Body, of original: Operation, isNamed: Bool
  ) {
    let replica = original.id.replica
    var first = original.id.seq
    var rest = nextID(for: replica).map { Operation(id: $0, body: body) }
    while let operation = rest {
      let alike = unitsBeforeAnother(operation)
      if let front = operation.keepingFirst(alike) {
        operations.append(front)
        let count = UInt32(clamping: front.length)
        if isNamed {
          stretches[replica, default: []].append(
            Stretch(first: first, last: first &+ (count - 1), newFirst: front.id))
        }
        first = first &+ count
        next[front.id.replica] = front.id.advanced(by: front.length)
      }
      guard alike < operation.length,
        let other = alike == 0 ? operation : operation.droppingFirst(alike)
      else { return }
      begin(other.successorReplica, for: replica)
      rest = nextID(for: replica).map { Operation(id: $0, body: other.body) }
    }
  }

  private func nextID(for replica: ReplicaID) -> OperationID? {
    (only ?? targets[replica]).flatMap { next[$0] }
  }

  /// How many units of an operation there are before one that is another event here.
  private func unitsBeforeAnother(_ operation: Operation) -> Int {
    guard let held = surroundings.held[operation.id.replica], let range = operation.range else {
      return operation.length
    }
    var low = 0
    var high = held.count
    while low < high {
      let middle = (low + high) / 2
      if held[middle].lastID?.seq ?? 0 < range.first { low = middle + 1 } else { high = middle }
    }
    let there = Array(held[low...].prefix { $0.id.seq <= range.last })
    for pair in [operation].aligned(with: there) where !pair.mine.isSameEvent(as: pair.theirs) {
      return Int(pair.mine.id.seq - range.first) + Int(pair.mine.unitsAlike(with: pair.theirs))
    }
    return operation.length
  }

  private func stretch(of id: OperationID) -> Stretch? {
    guard let list = stretches[id.replica] else { return nil }
    var low = 0
    var high = list.count
    while low < high {
      let middle = (low + high) / 2
      if list[middle].last < id.seq { low = middle + 1 } else { high = middle }
    }
    guard low < list.count, list[low].first <= id.seq else { return nil }
    return list[low]
  }

  /// The id that an operation, slot or scalar has now.
  func mapped(_ id: OperationID) -> OperationID {
    guard let stretch = stretch(of: id) else { return id }
    return stretch.newFirst.advanced(by: Int(id.seq - stretch.first)) ?? id
  }

  private func mapped(_ origins: Operation.Origins) -> Operation.Origins {
    Operation.Origins(left: origins.left.map(mapped), right: origins.right.map(mapped))
  }

  /// The scalars of one deletion may have got ids that no longer follow on each other.
  private func pieces(of deletion: Operation.DeleteText) -> [Operation.DeleteText] {
    var pieces: [Operation.DeleteText] = []
    for offset in 0..<max(deletion.count, 0) {
      guard let old = deletion.first.advanced(by: offset) else { break }
      let new = mapped(old)
      if let last = pieces.last, last.first.advanced(by: last.count) == new {
        pieces[pieces.count - 1].count += 1
      } else {
        pieces.append(
          Operation.DeleteText(
            message: mapped(deletion.message), first: new, count: 1,
            backwards: deletion.backwards))
      }
    }
    return deletion.backwards ? pieces.reversed() : pieces
  }

  private func rewritten(_ body: Operation.Body) -> Operation.Body {
    switch body {
    case .announceDevice, .deleteText:
      return body
    case .openSession(let session, let clears):
      return .openSession(session: session, clears: clears.map(mapped))
    case .addMessage(var addition):
      addition.session = mapped(addition.session)
      addition.origins = mapped(addition.origins)
      addition.clears = addition.clears.map(mapped)
      return .addMessage(addition)
    case .insertText(var insertion):
      insertion.message = mapped(insertion.message)
      insertion.origins = mapped(insertion.origins)
      return .insertText(insertion)
    case .placeMessage(let message, let session, let origins, let stamp):
      return .placeMessage(
        message: mapped(message), session: mapped(session), origins: mapped(origins),
        stamp: stamp)
    case .placeThread(let session, let origins, let stamp):
      return .placeThread(
        session: mapped(session), origins: mapped(origins), stamp: stamp)
    case .enqueueThread(var enqueue):
      enqueue.session = mapped(enqueue.session)
      enqueue.origins = mapped(enqueue.origins)
      enqueue.clearsQueued = enqueue.clearsQueued.map(mapped)
      enqueue.clearsLocked = enqueue.clearsLocked.map(mapped)
      return .enqueueThread(enqueue)
    case .addTag(let element, let field, let clears, let note):
      return .addTag(
        element: mapped(element), field: field, clears: clears.map(mapped), note: note)
    case .clearTags(let element, let field, let clears):
      return .clearTags(element: mapped(element), field: field, clears: clears.map(mapped))
    case .setRegister(let element, let field, let value, let stamp):
      return .setRegister(
        element: mapped(element), field: field, value: value, stamp: stamp)
    }
  }
}

extension Operation {
  /// The operation with another stamp, where it has one.
  func withStamp(_ change: (Stamp) -> Stamp) -> Operation {
    var changed = self
    switch body {
    case .addMessage(var addition):
      addition.stamp = change(addition.stamp)
      changed.body = .addMessage(addition)
    case .placeMessage(let message, let session, let origins, let stamp):
      changed.body = .placeMessage(
        message: message, session: session, origins: origins, stamp: change(stamp))
    case .placeThread(let session, let origins, let stamp):
      changed.body = .placeThread(session: session, origins: origins, stamp: change(stamp))
    case .enqueueThread(var enqueue):
      enqueue.stamp = change(enqueue.stamp)
      changed.body = .enqueueThread(enqueue)
    case .setRegister(let element, let field, let value, let stamp):
      changed.body = .setRegister(
        element: element, field: field, value: value,
        // A fence is no time: it orders by lease and attempt, and no clock moves it.
        stamp: field.isFenced ? stamp : change(stamp))
    case .announceDevice, .openSession, .insertText, .deleteText, .addTag, .clearTags:
      break
    }
    return changed
  }
}
