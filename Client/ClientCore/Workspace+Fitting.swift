import QueueModel
import SequenceCRDT

extension Workspace {
  /// Merges operations of which some were made on another form of what they name.
  ///
  /// Where such a one has its origins the wrong way round now, it keeps the left one and gets the
  /// end as right one; a place next to one of its neighbours is better than none.
  ///
  /// - Parameter mayChange: whether the server is not known to have the operation.
  /// - Complexity: that of a merge for each operation that changes.
  mutating func mergeFitting(
    _ operations: [Operation], where mayChange: (Operation) -> Bool
  ) throws(MergeError) -> MergeOutcome {
    var fitting = operations
    while true {
      do {
        return try merge(fitting)
      } catch {
        guard case .originsOutOfOrder(let id) = error,
          let index = fitting.firstIndex(where: { $0.range?.contains(id) == true }),
          mayChange(fitting[index]), let open = fitting[index].withOpenEnd
        else { throw error }
        fitting[index] = open
      }
    }
  }
}

extension Operation {
  /// The insertion with the end as right origin; nil where it has that, or inserts nothing.
  fileprivate var withOpenEnd: Operation? {
    var changed = self
    switch body {
    case .addMessage(var addition) where addition.origins.right != nil:
      addition.origins.right = nil
      changed.body = .addMessage(addition)
    case .insertText(var insertion) where insertion.origins.right != nil:
      insertion.origins.right = nil
      changed.body = .insertText(insertion)
    case .placeMessage(let message, let session, let origins, let stamp)
    where origins.right != nil:
      changed.body = .placeMessage(
        message: message, session: session,
        origins: Origins(left: origins.left, right: nil), stamp: stamp)
    case .placeThread(let session, let origins, let stamp) where origins.right != nil:
      changed.body = .placeThread(
        session: session, origins: Origins(left: origins.left, right: nil), stamp: stamp)
    case .enqueueThread(var enqueue) where enqueue.origins.right != nil:
      enqueue.origins.right = nil
      changed.body = .enqueueThread(enqueue)
    default:
      return nil
    }
    return changed
  }
}
