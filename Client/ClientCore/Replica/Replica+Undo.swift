package import QueueModel

/// What this device can undo and redo.
extension Replica {
  /// What an undo would do now; nil if nothing is left to undo.
  package func undoNext(apart: Apartness?) -> UndoNext? {
    workspace.next(of: undo, isUndone: false, apart: apart)
  }

  /// What a redo would do now; nil if nothing was undone since the latest change.
  package func redoNext(apart: Apartness?) -> UndoNext? {
    workspace.next(of: undo, isUndone: true, apart: apart)
  }

  /// Records an act of a user that is not a command of the queues: undo names the command that
  /// reverses it, and goes no further back until it is skipped.
  ///
  /// - Parameter former: the former value; nil if it had not been set.
  /// - Parameter wall: the best known time, milliseconds since 1970.
  /// - Returns: the number of the change.
  @discardableResult
  package mutating func noteAct(
    _ label: UndoLabel, former: String?, wall: Int64, store: some ReplicaStore
  ) throws(Fault) -> Int64? {
    var next = self
    var transaction = StoreTransaction(record: record)
    transaction.waitsForDisk = false
    let number: Int64?
    (transaction.undo, number) = next.undo.noteAct(
      label, former: former, milliseconds: wall, in: workspace)
    try commit(transaction, to: store)
    self = next
    return number
  }
}
