import QueueModel
import SequenceCRDT

extension Replica {
  /// Keeps what agents of this device got, of messages whose text somebody changed too late; SPECIFICATION.md,
  /// section "Editions".
  ///
  /// - Parameters:
  ///   - before: the state that what changed came to.
  ///   - ids: where to look.
  /// - Returns: what of the queues changed.
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

  /// Notes which texts of this device's user came too late for an agent.
  mutating func noteLate(among ids: Set<MessageID>) {
    late += LateText.saved(on: record.device, in: workspace, among: ids)
  }

  /// Notes which of them came too late since an earlier state.
  ///
  /// - Complexity: O(messages).
  mutating func noteLate(since before: Workspace) {
    let known = Set(LateText.saved(on: record.device, in: before))
    late += LateText.saved(on: record.device, in: workspace).filter { !known.contains($0) }
  }
}
