import QueueModel

/// Forgets messages that finished longer ago than the device keeps them, a few at a time.
struct Retention: Hashable, Sendable {
  /// How many days finished messages are kept; 0 means forever.
  private(set) var days = 0
  /// When to forget the next messages, or to look for them; nil: never.
  var due: Int64?
  /// Messages to forget.
  var messages: [MessageID] = []

  /// Sets another time to keep finished messages.
  ///
  /// - Parameter first: when to look for messages to forget.
  mutating func keep(days: Int, first: Int64) {
    self = Retention()
    self.days = days
    due = days > 0 ? first : nil
  }
}

extension ConnectionMachine {
  mutating func retentionChanged(toDays days: Int, at context: EventContext) {
    guard days != retention.days else { return }
    // Usually one device does it, and the others find nothing left to do.
    let delay = context.random(1) % UInt64(ClientLimits.forgettingMillisecondsFirst)
    retention.keep(days: days, first: context.now + Int64(delay))
  }

  mutating func forgetIfDue(at context: EventContext, store: some ReplicaStore) -> [Action] {
    guard let due = retention.due, context.now >= due else { return [] }
    // In an old state, or by a wrong clock, a message that waits can seem to have ended long ago.
    guard credentials == nil || isSynced else {
      retention.due = context.now + ClientLimits.forgettingMillisecondsAgain
      retention.messages = []
      return []
    }
    let wall = time(at: context)
    retention.due = context.now + ClientLimits.forgettingMilliseconds
    do throws(Replica.Fault) {
      if retention.messages.isEmpty {
        retention.messages = try replica.shortenLog(
          to: wall - Int64(retention.days) * 86_400_000, store: store)
      }
      // Other devices forget the messages, if this one may not change anything.
      if credentials != nil, replica.record.access?.obstacle(at: wall) != nil {
        retention.messages = []
      }
      guard !retention.messages.isEmpty else { return [] }
      let part = retention.messages.prefix(ClientLimits.forgettingMessagesMax)
      let outcome = try replica.forget(part, wall: wall, at: context, store: store)
      retention.messages.removeFirst(part.count)
      if !retention.messages.isEmpty {
        retention.due = context.now + ClientLimits.forgettingMillisecondsBetween
      }
      guard !outcome.operations.isEmpty else { return [] }
      return [.changed(outcome.touched)] + sendBatches(at: context, store: store)
    } catch {
      // Tomorrow is early enough.
      retention.messages = []
      return [.report(ConnectionProblem(message: "old messages cannot be forgotten: \(error)"))]
    }
  }
}
