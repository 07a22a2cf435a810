import DeltaCodec

/// Packing what nobody touches, so that memory follows from what waits and not from what was.
extension ClientCore {
  /// Notes that queues changed; the driver calls it after every event. What was unpacked for that is
  /// packed once nothing has changed for a while.
  package mutating func noteChanges(by actions: [Action], at occasion: Occasion) {
    let isChange = actions.contains { action in
      if case .changed = action { true } else { false }
    }
    if isChange { awaitRest(at: occasion) }
  }

  mutating func awaitRest(at occasion: Occasion) {
    let since = packing?.since ?? occasion.now
    let due = min(
      occasion.now + ClientLimits.restMilliseconds, since + ClientLimits.unrestMilliseconds)
    packing = (since: since, due: due)
  }

  mutating func packIfDue(at occasion: Occasion) {
    guard let packing, occasion.now >= packing.due else { return }
    self.packing = nil
    SnapshotCodec.pack(&replica.workspace)
  }
}
