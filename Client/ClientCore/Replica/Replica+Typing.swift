import QueueModel
import SequenceCRDT

extension Replica {
  /// Ends the open stretch of typing with an edition, in one transaction.
  ///
  /// - Parameter connection: the one over which new operations are sent at once; nil while the
  ///   device is offline.
  mutating func endTyping(
    over connection: UInt64?, wall: Int64, at event: EventContext, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome {
    var next = self
    let author: Writer
    var announcement: [Operation]
    (author, announcement) = next.preparedWriter(at: event)
    next.clock.observe(workspace.latestStamp)
    var context = CommandContext(
      replica: author.replica, stamp: next.clock.tick(milliseconds: wall), time: event.deviceWall)
    context.connection = connection
    var (outcome, changes) = next.undo.endTyping(of: &next.workspace, in: context)
    if outcome.operations.isEmpty {
      // Without an operation there is no author to announce.
      announcement = []
      (next.workspace, next.writer) = (workspace, writer)
    } else {
      next.noteTime(of: &outcome, in: context)
    }
    try commitLocal(
      announcement + outcome.operations, undo: changes, waitsForDisk: false, next: &next,
      store: store)
    self = next
    return outcome
  }
}
