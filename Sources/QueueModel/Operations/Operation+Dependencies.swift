package import SequenceCRDT

extension Operation {
  /// Every id that the operation names, except its own; it waits until all are known.
  package var dependencies: [OperationID] {
    switch body {
    case .announceDevice:
      []
    case .openSession(_, let clears):
      clears
    case .addMessage(let addition):
      [addition.session] + addition.origins.ids + addition.clears
    case .insertText(let insertion):
      [insertion.message] + insertion.origins.ids
    case .deleteText(let deletion):
      [deletion.message, deletion.first.advanced(by: deletion.count - 1) ?? deletion.first]
    case .placeMessage(let message, let session, let origins, _):
      [message, session] + origins.ids
    case .placeThread(let session, let origins, _):
      [session] + origins.ids
    case .enqueueThread(let enqueue):
      [enqueue.session] + enqueue.origins.ids + enqueue.clearsQueued + enqueue.clearsLocked
    case .addTag(let element, _, let clears, _), .clearTags(let element, _, let clears):
      [element] + clears
    case .setRegister(let element, _, _, _):
      [element]
    }
  }

  /// The stamp of the operation's register writes, if it has any. A fence is not a stamp.
  package var stamp: Stamp? {
    switch body {
    case .addMessage(let addition): addition.stamp
    case .placeMessage(_, _, _, let stamp), .placeThread(_, _, let stamp): stamp
    case .enqueueThread(let enqueue): enqueue.stamp
    case .setRegister(_, let field, _, let stamp): field.isFenced ? nil : stamp
    case .announceDevice, .openSession, .insertText, .deleteText, .addTag, .clearTags: nil
    }
  }
}

extension Operation.Origins {
  /// The ids of the origins that are units.
  package var ids: [OperationID] { [left, right].compactMap { $0 } }

  /// The neighbours a sequence names.
  init(_ pair: (left: OperationID?, right: OperationID?)) {
    self.init(left: pair.left, right: pair.right)
  }
}
