import QueueModel
import SequenceCRDT

/// The texts that agents of this device got, for messages whose text a user changed too late;
/// SPECIFICATION.md, section "Editions".
///
/// It is stored before the change. The state after a change does not show what an agent got, so a
/// crash in between would lose that.
extension Replica {
  /// Keeps the texts that others' operations will change.
  ///
  /// - Returns: the changes to the queues.
  /// - Complexity: O(operations) if they change no such text; else as `merge`.
  mutating func keepRanTexts(
    before operations: [Operation], wall: Int64, at event: EventContext, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome? {
    let ids = RanText.retyped(by: operations, in: workspace)
      .filter { RanText.ran($0, on: record.device, in: workspace) }
    guard !ids.isEmpty else { return nil }
    var later = workspace
    do {
      _ = try later.merge(operations)
    } catch {
      // The merge itself reports it.
      return nil
    }
    let texts = RanText.changed(
      from: workspace, to: later, among: ids.sorted(), on: record.device)
    return try keep(texts, wall: wall, at: event, store: store)
  }

  /// Keeps the texts that a snapshot will change.
  ///
  /// - Returns: the changes to the queues.
  /// - Complexity: O(messages of the state and of the snapshot).
  mutating func keepRanTexts(
    before base: Base, wall: Int64, at event: EventContext, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome? {
    let ids = RanText.started(on: record.device, in: workspace)
    guard !ids.isEmpty else { return nil }
    let texts = RanText.changed(from: workspace, to: base.image, among: ids, on: record.device)
    return try keep(texts, wall: wall, at: event, store: store)
  }

  private mutating func keep(
    _ texts: [RanText], wall: Int64, at event: EventContext, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome? {
    guard !texts.isEmpty else { return nil }
    return try author(wall: wall, at: event, store: store) {
      workspace, context throws(QueueError) in
      try RanText.keep(texts, in: &workspace, context)
    }
  }

  /// Records which texts of this device's user were too late for an agent.
  mutating func noteLate(among ids: Set<MessageID>) {
    late += LateText.saved(on: record.device, in: workspace, among: ids)
  }

  /// Records which of them were too late since an earlier state.
  ///
  /// - Complexity: O(messages).
  mutating func noteLate(since before: Workspace) {
    let known = Set(LateText.saved(on: record.device, in: before))
    late += LateText.saved(on: record.device, in: workspace).filter { !known.contains($0) }
  }
}

extension ConnectionMachine {
  /// Records which cancellations by this device's user came too late: they are in the outbox, and
  /// reached the server after the report that an agent had started. If the server knew of the
  /// start, it reports that.
  ///
  /// - Parameter wasCancelled: whether a message was cancelled here before that report.
  mutating func noteLateCancels(
    store: some ReplicaStore, _ wasCancelled: (MessageID) -> Bool
  ) {
    let outbox = replica.record.outbox
    var operations: [Operation] = []
    var last: Int64 = 0
    // If the log cannot be read, the notice is omitted, which is no reason to fail.
    while !outbox.isEmpty,
      let page = try? store.entries(in: outbox.ranges, after: last, countMax: 1_000),
      let end = page.last
    {
      operations += page.flatMap(\.operations).filter { outbox.contains($0.id) }
      last = end.id
    }
    let late = LateText.cancels(among: operations, in: replica.workspace)
    replica.late += late.filter { wasCancelled($0.message) }
  }
}
