import QueueModel

/// What was over for longer than a device keeps it is forgotten, a few messages at a time.
struct Forgetting: Sendable {
  /// When the log is shortened next, and what can be forgotten looked for.
  var due: Int64
  /// What is still to be forgotten.
  var messages: [MessageID] = []
}

extension ClientCore {
  /// Says how long to keep what is over, in days; 0 is for ever.
  package mutating func retentionChanged(toDays days: Int, at occasion: Occasion) {
    guard days != retentionDays else { return }
    retentionDays = days
    guard days > 0 else { return forgetting = nil }
    // One device does it as a rule, and finds nothing left to do where another did it.
    let delay = occasion.random(1) % UInt64(ClientLimits.forgettingMillisecondsFirst)
    forgetting = Forgetting(due: occasion.now + Int64(delay))
  }

  var forgettingDeadline: Int64? {
    forgetting.map { $0.messages.isEmpty ? $0.due : 0 }
  }

  mutating func forgetIfDue(at occasion: Occasion, store: some ReplicaStore) -> [Action] {
    guard var forgetting else { return [] }
    defer { self.forgetting = forgetting }
    let wall = time(at: occasion)
    do throws(Replica.Fault) {
      if occasion.now >= forgetting.due {
        forgetting.due = occasion.now + ClientLimits.forgettingMilliseconds
        forgetting.messages = try replica.shortenLog(
          to: wall - Int64(retentionDays) * 86_400_000, store: store)
      }
      guard !forgetting.messages.isEmpty else { return [] }
      let part = forgetting.messages.prefix(ClientLimits.forgettingMessagesMax)
      let outcome = try replica.forget(part, wall: wall, at: occasion, store: store)
      forgetting.messages.removeFirst(part.count)
      guard !outcome.operations.isEmpty else { return [] }
      return [.changed(outcome.touched)] + pumped(at: occasion, store: store)
    } catch {
      // Tomorrow is early enough.
      forgetting.messages = []
      return [.report(Trouble(message: "old messages cannot be forgotten: \(error)"))]
    }
  }
}
