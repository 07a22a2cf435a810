import QueueModel
import SequenceCRDT

/// Gives operations new ids under another replica; references among them follow.
///
/// Needed when the server has other events under the same ids (a fork).
struct OperationRewriter {
  private struct Stretch {
    var first: UInt32
    var last: UInt32
    var newFirst: UInt32
  }

  let replica: ReplicaID
  private var next: UInt32
  /// By old replica, in rising order.
  private var stretches: [ReplicaID: [Stretch]] = [:]
  private(set) var operations: [Operation] = []

  /// Rewrites for `replica`, whose operations up to `lastSeq` exist already.
  init(_ originals: [Operation], replica: ReplicaID, lastSeq: UInt32) {
    self.replica = replica
    next = lastSeq + 1
    for original in originals { rewrite(original) }
  }

  private mutating func rewrite(_ original: Operation) {
    // The new replica has announced itself; nothing refers to an announcement.
    if case .announceDevice = original.body { return }
    if case .deleteText(let deletion) = original.body {
      for piece in pieces(of: deletion) { append(.deleteText(piece), length: piece.count) }
      return
    }
    let length = original.length
    stretches[original.id.replica, default: []].append(
      Stretch(
        first: original.id.seq, last: original.id.seq &+ UInt32(clamping: length - 1),
        newFirst: next))
    append(rewritten(original.body), length: length)
  }

  private mutating func append(_ body: Operation.Body, length: Int) {
    operations.append(Operation(id: OperationID(replica: replica, seq: next), body: body))
    next = next &+ UInt32(clamping: length)
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
    return OperationID(replica: replica, seq: stretch.newFirst &+ (id.seq &- stretch.first))
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
