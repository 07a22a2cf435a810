import QueueModel

/// What was over for longer than a device keeps it is forgotten, a few messages at a time.
struct Retention: Hashable, Sendable {
  /// Days for which what is over is kept; 0 is for ever.
  private(set) var days = 0
  /// When the log is shortened next, and what can be forgotten looked for; nil: never.
  var due: Int64?
  /// What is still to be forgotten.
  var messages: [MessageID] = []

  /// When something is due; nil if nothing waits for time.
  var deadline: Int64? { due.map { messages.isEmpty ? $0 : 0 } }

  /// Another time to keep what is over.
  ///
  /// - Parameter first: when it is looked for what can be forgotten.
  mutating func keep(days: Int, first: Int64) {
    self = Retention()
    self.days = days
    due = days > 0 ? first : nil
  }
}

extension ConnectionMachine {
  mutating func retentionChanged(toDays days: Int, at context: EventContext) {
    guard days != retention.days else { return }
    // One device does it as a rule, and finds nothing left to do if another did it.
    let delay = context.random(1) % UInt64(ClientLimits.forgettingMillisecondsFirst)
    retention.keep(days: days, first: context.now + Int64(delay))
  }

  mutating func forgetIfDue(at context: EventContext, store: some ReplicaStore) -> [Action] {
    guard let due = retention.due else { return [] }
    let wall = time(at: context)
    do throws(Replica.Fault) {
      if context.now >= due {
        retention.due = context.now + ClientLimits.forgettingMilliseconds
        retention.messages = try replica.shortenLog(
          to: wall - Int64(retention.days) * 86_400_000, store: store)
      }
      guard !retention.messages.isEmpty else { return [] }
      let part = retention.messages.prefix(ClientLimits.forgettingMessagesMax)
      let outcome = try replica.forget(part, wall: wall, at: context, store: store)
      retention.messages.removeFirst(part.count)
      guard !outcome.operations.isEmpty else { return [] }
      return [.changed(outcome.touched)] + sendBatches(at: context, store: store)
    } catch {
      // Tomorrow is early enough.
      retention.messages = []
      return [.report(ConnectionProblem(message: "old messages cannot be forgotten: \(error)"))]
    }
  }
}
