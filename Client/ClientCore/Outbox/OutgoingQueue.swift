package import QueueModel

/// Outgoing messages with their states: the state machine of `OutgoingMessageQueue`, and of the
/// sync's reports about this device's messages.
///
/// Methods are events and return the actions, in order. Waits and timeouts are times in the
/// entries, and `deadline` is the next of them. Each belongs to one attempt, so no timer can
/// outlive its purpose (S3-50, S3-52, S3-54).
package struct OutgoingQueue: Sendable {
  /// An action of the driver.
  package enum Action: Hashable, Sendable {
    /// Hand it to the transport.
    case send(OutgoingMessage, sequence: UInt64, attempt: Int)
    case delivered(MessageID)
    case failed(MessageID, MessageQueueError)
    /// For the log: a confirmation arrived for a message that was abandoned, or waited to be sent
    /// again.
    case confirmedLate(MessageID, QueueStatus)
  }

  /// The contents of the store from now on.
  package struct Changes: Hashable, Sendable {
    package var written: [QueuedMessage]
    package var removed: [MessageID]

    package init(written: [QueuedMessage] = [], removed: [MessageID] = []) {
      self.written = written
      self.removed = removed
    }

    package var isEmpty: Bool { written.isEmpty && removed.isEmpty }
  }

  private struct Entry: Sendable {
    var shown: QueuedMessage
    /// The number of attempts; an event of an earlier attempt has no effect on a later one.
    var attempt = 0
    /// For a queued message, the earliest time of the attempt. For one on its way, the time at
    /// which it fails.
    var dueAt: Int64?
  }

  /// The maximum number of kept receipts of confirmed messages (S3-59).
  package static let receiptsMax = 1_000
  /// The wait after a refusal of the store, in milliseconds; it doubles with each further one, up
  /// to `storeRetryMax`.
  package static let storeRetryMin: Int64 = 1_000
  package static let storeRetryMax: Int64 = 60_000
  /// Bytes of a failure's text that are kept.
  package static let errorBytesMax = 1_024

  package let config: MessageQueueConfig
  private var entries: [MessageID: Entry] = [:]
  /// Not delivered, in the order of their numbers.
  private var waiting: [MessageID] = []
  /// Delivered, in the order of their confirmations.
  private var receipts: [MessageID] = []
  package private(set) var lastSequence: UInt64
  private var changes = Changes()
  /// The number of consecutive refusals of the store, and the time until which it is not tried.
  private var refusals = 0
  private var heldUntil: Int64 = .min

  /// Continues from a store. Messages that were on their way are sent again: their arrival is
  /// unknown, and the receiver recognizes them by their ids (S3-49, S3-58).
  package init(
    config: MessageQueueConfig, stored: [QueuedMessage] = [], lastSequence: UInt64 = 0
  ) {
    self.config = config
    self.lastSequence = max(lastSequence, stored.map(\.sequence).max() ?? 0)
    for var message in stored.sorted(by: { $0.sequence < $1.sequence })
    where entries[message.id] == nil {
      if message.status == .sending || message.status == .awaitingAck { message.status = .queued }
      entries[message.id] = Entry(shown: message)
      if message.status == .delivered {
        receipts.append(message.id)
      } else {
        waiting.append(message.id)
      }
    }
    let entries = entries
    func time(_ id: MessageID) -> Int64 { entries[id]?.shown.deliveredAt ?? 0 }
    receipts.sort { (time($0), $0) < (time($1), $1) }
  }

  /// Returns changes that the store lacks; there are none afterwards.
  package mutating func takeChanges() -> Changes {
    defer { changes = Changes() }
    return changes
  }

  /// The next time at which `timePassed` has something to do, and the store may be tried.
  package var deadline: Int64? {
    waiting.compactMap { id -> Int64? in
      guard let entry = entries[id] else { return nil }
      return entry.shown.status == .failed ? nil : entry.dueAt
    }.min().map { max($0, heldUntil) }
  }

  /// The store refused the consequences of an event. None of them happened, so due work stays due;
  /// a full disk stays full for a while.
  package mutating func storeRefused(at context: EventContext) {
    let wait = OutgoingQueue.storeRetryMin << Int64(min(refusals, 10))
    refusals += 1
    heldUntil = context.now.addingWithoutOverflow(min(wait, OutgoingQueue.storeRetryMax))
  }

  /// The store accepted the consequences of an event.
  package mutating func storeTook() {
    (refusals, heldUntil) = (0, .min)
  }
}

// Requests of users and the driver.
extension OutgoingQueue {
  /// All messages, in the order of the numbers; receipts first as they are older.
  package var allMessages: [QueuedMessage] {
    entries.values.map(\.shown).sorted { $0.sequence < $1.sequence }
  }

  /// Messages that are neither delivered nor failed (S3-31).
  package var pendingMessages: [QueuedMessage] {
    waiting.compactMap { entries[$0]?.shown }.filter { $0.status != .failed }
  }

  package var pendingCount: Int {
    waiting.reduce(0) { $0 + (entries[$1]?.shown.status == .failed ? 0 : 1) }
  }

  package func message(for id: MessageID) -> QueuedMessage? { entries[id]?.shown }

  /// Adds a message. One that is known already is not changed (S3-58).
  ///
  /// - Throws: `queueFull`, `alreadyDelivered`, `messageIDTaken`, without changing anything.
  package mutating func enqueue(
    _ message: OutgoingMessage, at context: EventContext
  ) throws(MessageQueueError) -> QueuedMessage {
    if let known = entries[message.id]?.shown {
      guard known.message == message else { throw .messageIDTaken(message.id) }
      if known.status == .delivered { throw .alreadyDelivered(message.id) }
      return known
    }
    guard waiting.count < config.maxMessages else { throw .queueFull(max: config.maxMessages) }
    lastSequence += 1
    let queued = QueuedMessage(
      message: message, sequence: lastSequence, queuedAt: context.wall)
    entries[message.id] = Entry(shown: queued)
    waiting.append(message.id)
    changes.written.append(queued)
    return queued
  }

  /// Restarts every failed message (S3-36).
  package mutating func retryFailed() {
    for id in waiting where entries[id]?.shown.status == .failed {
      update(id) { entry in
        entry.shown.status = .queued
        entry.shown.retryCount = 0
        entry.dueAt = nil
      }
    }
  }

  /// Removes all messages that are not delivered, at a user's request, never after a disconnection
  /// (S3-54).
  ///
  /// - Returns: how many messages were dropped.
  @discardableResult
  package mutating func clear() -> Int {
    let dropped = waiting
    for id in dropped { entries[id] = nil }
    waiting = []
    changes.removed += dropped
    return dropped.count
  }

  private mutating func update(_ id: MessageID, keeps: Bool = true, _ body: (inout Entry) -> Void) {
    guard var entry = entries[id] else { return }
    body(&entry)
    entries[id] = entry
    if keeps { changes.written.append(entry.shown) }
  }
}

// Events of messages.
extension OutgoingQueue {
  /// Returns due messages, in order; they count as being sent from here on (S3-24). Messages that
  /// wait for their next attempt are left alone (S3-50).
  package mutating func takeDue(at context: EventContext) -> [Action] {
    let timeout = config.deliveryTimeout.wholeMilliseconds
    var actions: [Action] = []
    for id in waiting {
      guard let entry = entries[id], entry.shown.status == .queued,
        entry.dueAt ?? .min <= context.now
      else { continue }
      let attempt = entry.attempt + 1
      // After a crash it is queued again: so its new state need not be written to the disk.
      update(id, keeps: false) { entry in
        entry.shown.status = .sending
        entry.shown.lastAttempt = context.wall
        entry.attempt = attempt
        // A transport that never reports must not hold the message forever.
        entry.dueAt = context.now.addingWithoutOverflow(timeout)
      }
      actions.append(.send(entry.shown.message, sequence: entry.shown.sequence, attempt: attempt))
    }
    return actions
  }

  /// The transport accepted it; from here on the receiver has `deliveryTimeout` (S3-25).
  ///
  /// - Parameter attempt: the attempt; nil is the latest.
  package mutating func markSent(
    _ id: MessageID, attempt: Int? = nil, at context: EventContext
  ) {
    guard let entry = entries[id], entry.shown.status == .sending,
      attempt ?? entry.attempt == entry.attempt
    else { return }
    let timeout = config.deliveryTimeout.wholeMilliseconds
    update(id, keeps: false) { entry in
      entry.shown.status = .awaitingAck
      entry.dueAt = context.now.addingWithoutOverflow(timeout)
    }
  }

  /// The receiver has it: it is never sent again, whatever its state was before (S3-26, S3-55).
  package mutating func confirmDelivery(_ id: MessageID, at context: EventContext) -> [Action] {
    guard let entry = entries[id], entry.shown.status != .delivered else { return [] }
    var actions: [Action] = []
    if entry.shown.status == .failed || entry.shown.status == .queued {
      actions.append(.confirmedLate(id, entry.shown.status))
    }
    update(id) { entry in
      entry.shown.status = .delivered
      entry.shown.deliveredAt = context.wall
      entry.shown.lastError = nil
      entry.dueAt = nil
    }
    if let index = waiting.firstIndex(of: id) { waiting.remove(at: index) }
    receipts.append(id)
    if receipts.count > OutgoingQueue.receiptsMax {
      let old = receipts.removeFirst()
      entries[old] = nil
      changes.removed.append(old)
    }
    return actions + [.delivered(id)]
  }

  /// It could not be sent, or was not confirmed (S3-27).
  ///
  /// - Parameters:
  ///   - attempt: the attempt that failed; nil means the latest. A failure of an earlier attempt
  ///     says
  ///     nothing about the current one (S3-52).
  ///   - isPermanent: trying again is pointless (S3-58).
  package mutating func sendFailed(
    _ id: MessageID, attempt: Int? = nil, reason: String?, isPermanent: Bool,
    at context: EventContext
  ) -> [Action] {
    guard let entry = entries[id], attempt ?? entry.attempt == entry.attempt else { return [] }
    switch entry.shown.status {
    case .sending, .awaitingAck: break
    // A failure that was counted already, or of a message that arrived.
    case .queued, .delivered, .failed: return []
    }
    let failures = entry.shown.retryCount + 1
    let isFinal = isPermanent || config.maxRetries.map { failures >= $0 } ?? false
    let wait = isFinal ? nil : retryDelay(after: failures, random: context.random(4))
    update(id) { entry in
      entry.shown.retryCount = failures
      entry.shown.status = isFinal ? .failed : .queued
      entry.shown.lastError = reason?.cut(toUTF8Bytes: OutgoingQueue.errorBytesMax)
      entry.dueAt = wait.map { context.now.addingWithoutOverflow($0) }
    }
    guard isFinal else { return [] }
    return [
      .failed(
        id,
        isPermanent
          ? .refused(id, reason: reason ?? "no reason given") : .maxRetriesExceeded(id))
    ]
  }

  /// The connection to the receiver broke: open messages will be sent again, which does not count
  /// as a failure.
  package mutating func connectionLost() {
    for id in waiting {
      update(id, keeps: false) { entry in
        guard entry.shown.status == .sending || entry.shown.status == .awaitingAck else { return }
        entry.shown.status = .queued
        entry.dueAt = nil
      }
    }
  }

  /// There was no sender for that attempt: it counts as not handed over.
  package mutating func notHandedOver(_ id: MessageID, attempt: Int) {
    guard isHeld(id, attempt: attempt) else { return }
    update(id, keeps: false) { entry in
      entry.shown.status = .queued
      entry.dueAt = nil
    }
  }

  /// Whether that attempt still waits for the transport to take it.
  package func isHeld(_ id: MessageID, attempt: Int) -> Bool {
    guard let entry = entries[id] else { return false }
    return entry.shown.status == .sending && entry.attempt == attempt
  }

  /// Fails messages that were not confirmed in time (S3-29).
  package mutating func timePassed(at context: EventContext) -> [Action] {
    var actions: [Action] = []
    for id in waiting {
      guard let entry = entries[id], let due = entry.dueAt, due <= context.now,
        entry.shown.status == .awaitingAck || entry.shown.status == .sending
      else { continue }
      actions += sendFailed(id, reason: nil, isPermanent: false, at: context)
    }
    return actions
  }

  /// base · 2^(failures − 1), at most `maxRetryDelay`, minus a random part (S3-28).
  package func retryDelay(after failures: Int, random: UInt64) -> Int64 {
    let most = config.maxRetryDelay.wholeMilliseconds
    let base = min(config.baseRetryDelay.wholeMilliseconds, most)
    let doublings = min(max(0, failures - 1), 40)
    let (product, overflow) = base.multipliedReportingOverflow(by: Int64(1) << Int64(doublings))
    let delay = overflow ? most : min(product, most)
    let span = UInt64(Double(delay) * config.jitter)
    return delay - Int64(random % (span + 1))
  }

  /// Each message is in exactly one list that fits its status, and numbers increase.
  package func checkInvariants() {
    precondition(Set(waiting).isDisjoint(with: receipts))
    precondition(waiting.count + receipts.count == entries.count)
    precondition(waiting.allSatisfy { entries[$0]?.shown.status != .delivered })
    precondition(receipts.allSatisfy { entries[$0]?.shown.status == .delivered })
    let numbers = waiting.compactMap { entries[$0]?.shown.sequence }
    precondition(numbers == numbers.sorted() && numbers.allSatisfy { $0 <= lastSequence })
  }
}

extension Duration {
  /// In milliseconds, clamped to the type's range.
  fileprivate var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max / 2 : min(product, .max / 2) + attoseconds / 1_000_000_000_000_000
  }
}

extension Int64 {
  fileprivate func addingWithoutOverflow(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
