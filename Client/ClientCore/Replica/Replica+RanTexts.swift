import QueueModel
import SequenceCRDT

extension Replica {
  /// Keeps the texts that agents of this device got, of messages whose text was changed too late;
  /// SPECIFICATION.md, section "Editions".
  ///
  /// - Parameters:
  ///   - before: the state before the change.
  ///   - ids: the messages to examine.
  /// - Returns: the changes of the queues.
  mutating func keepRanTexts(
    from before: Workspace, among ids: some Sequence<MessageID>, wall: Int64,
    at event: EventContext, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome? {
    let texts = RanText.changed(
      from: before, to: workspace, among: ids.sorted(), on: record.device)
    guard !texts.isEmpty else { return nil }
    return try author(wall: wall, at: event, store: store) {
      workspace, context throws(QueueError) in
      try RanText.keep(texts, in: &workspace, context)
    }
  }
}
