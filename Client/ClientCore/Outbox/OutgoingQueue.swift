package import QueueModel

/// Messages on their way out, each with what became of it: the state machine behind
/// `OutgoingMessageQueue`, and behind what the sync says of the messages of this device.
///
/// Methods are events and return what is to be done, in order. Waits and timeouts are times in the
/// entries, so each belongs to one attempt, and `deadline` is the next of them: there is no timer
/// that could outlive what it was set for (S3-50, S3-52, S3-54).
package struct OutgoingQueue: Sendable {
  /// What the driver does.
  package enum Action: Hashable, Sendable {
    /// Hand it to the transport.
    case send(OutgoingMessage, sequence: UInt64, attempt: Int)
    case delivered(MessageID)
    case failed(MessageID, MessageQueueError)
    /// For the log: a confirmation came for what was given up, or was to be sent again.
    case confirmedLate(MessageID, QueueStatus)
  }

  /// What a store has to hold from now on.
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
    /// Attempts in all; an event of an earlier attempt has no effect on a later one.
    var attempt = 0
    /// While it is queued: not before. While it is under way: fails then.
    var dueAt: Int64?
  }

  /// Confirmed messages of which the receipt is kept (S3-59).
  package static let receiptsMax = 1_000
  /// A store that refused is tried again after so long, in milliseconds; each further time after
  /// twice as long, up to `storeRetryMax`.
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
  /// How often in a row the store refused, and until when it is left alone.
  private var refusals = 0
  private var heldUntil: Int64 = .min

  /// Takes up what a store held. What was under way is sent again: nobody knows whether it arrived,
  /// and the receiver knows it by its id (S3-49, S3-58).
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

  /// What the store does not hold yet; empty afterwards.
  package mutating func takeChanges() -> Changes {
    defer { changes = Changes() }
    return changes
  }

  /// The next time at which `timePassed` has something to do, and a store that may take it.
  package var deadline: Int64? {
    waiting.compactMap { id -> Int64? in
      guard let entry = entries[id] else { return nil }
      return entry.shown.status == .failed ? nil : entry.dueAt
    }.min().map { max($0, heldUntil) }
  }

  /// The store did not take what followed from an event. Nothing of that happened, so what is due
  /// stays due; a disk that is full stays so for a while.
  package mutating func storeRefused(at context: EventContext) {
    let wait = OutgoingQueue.storeRetryMin << Int64(min(refusals, 10))
    refusals += 1
    heldUntil = context.now.addingWithoutOverflow(min(wait, OutgoingQueue.storeRetryMax))
  }

  /// The store took what followed from an event.
  package mutating func storeTook() {
    (refusals, heldUntil) = (0, .min)
  }
}

// What a person or the driver asks.
extension OutgoingQueue {
  /// Everything, in the order of the numbers; receipts first as they are older.
  package var allMessages: [QueuedMessage] {
    entries.values.map(\.shown).sorted { $0.sequence < $1.sequence }
  }

  /// What is neither delivered nor failed (S3-31).
  package var pendingMessages: [QueuedMessage] {
    waiting.compactMap { entries[$0]?.shown }.filter { $0.status != .failed }
  }

  package var pendingCount: Int {
    waiting.reduce(0) { $0 + (entries[$1]?.shown.status == .failed ? 0 : 1) }
  }

  package func message(for id: MessageID) -> QueuedMessage? { entries[id]?.shown }

  /// Puts a message in. One that is in already is left as it is (S3-58).
  ///
  /// - Throws: `queueFull`, `alreadyDelivered`, `messageIDTaken`; nothing changed then.
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

  /// Starts every failed message over (S3-36).
  package mutating func retryFailed() {
    for id in waiting where entries[id]?.shown.status == .failed {
      update(id) { entry in
        entry.shown.status = .queued
        entry.shown.retryCount = 0
        entry.dueAt = nil
      }
    }
  }

  /// Forgets everything that is not delivered. A person asks for it, never a disconnection (S3-54).
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

// What happens to messages.
extension OutgoingQueue {
  /// Takes out what is due to be sent, in order; it counts as being sent from here on (S3-24).
  /// What waits for its next attempt is left alone (S3-50).
  package mutating func takeDue(at context: EventContext) -> [Action] {
    let timeout = config.deliveryTimeout.wholeMilliseconds
    var actions: [Action] = []
    for id in waiting {
      guard let entry = entries[id], entry.shown.status == .queued,
        entry.dueAt ?? .min <= context.now
      else { continue }
      let attempt = entry.attempt + 1
      // After a crash it is queued again: where it was going to is not worth a write to the disk.
      update(id, keeps: false) { entry in
        entry.shown.status = .sending
        entry.shown.lastAttempt = context.wall
        entry.attempt = attempt
        // A transport that never says what became of it must not hold the message for ever.
        entry.dueAt = context.now.addingWithoutOverflow(timeout)
      }
      actions.append(.send(entry.shown.message, sequence: entry.shown.sequence, attempt: attempt))
    }
    return actions
  }

  /// The transport took it; from here on the receiver has `deliveryTimeout` (S3-25).
  ///
  /// - Parameter attempt: the attempt it is about; nil is the latest.
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

  /// The receiver has it: it is never sent again, whatever it was before (S3-26, S3-55).
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
  ///   - attempt: the attempt that failed; nil is the latest. A failure of an earlier attempt says
  ///     nothing about the present one (S3-52).
  ///   - isPermanent: trying again is pointless (S3-58).
  package mutating func sendFailed(
    _ id: MessageID, attempt: Int? = nil, reason: String?, isPermanent: Bool,
    at context: EventContext
  ) -> [Action] {
    guard let entry = entries[id], attempt ?? entry.attempt == entry.attempt else { return [] }
    switch entry.shown.status {
    case .sending, .awaitingAck: break
    // A failure that is already counted, or one of something that arrived.
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

  /// The way to the receiver broke: what is under way will be sent again. Not a failure.
  package mutating func connectionLost() {
    for id in waiting {
      update(id, keeps: false) { entry in
        guard entry.shown.status == .sending || entry.shown.status == .awaitingAck else { return }
        entry.shown.status = .queued
        entry.dueAt = nil
      }
    }
  }

  /// Nobody was there to send that attempt: it is as if it had not been taken out.
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

  /// Fails what was not confirmed in time (S3-29).
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

  /// base · 2^(failures − 1), at most `maxRetryDelay`, less what chance takes off (S3-28).
  package func retryDelay(after failures: Int, random: UInt64) -> Int64 {
    let most = config.maxRetryDelay.wholeMilliseconds
    let base = min(config.baseRetryDelay.wholeMilliseconds, most)
    let doublings = min(max(0, failures - 1), 40)
    let (product, overflow) = base.multipliedReportingOverflow(by: Int64(1) << Int64(doublings))
    let delay = overflow ? most : min(product, most)
    let span = UInt64(Double(delay) * config.jitter)
    return delay - Int64(random % (span + 1))
  }

  /// Each message is in exactly one list that fits its status, and numbers rise.
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
  /// In milliseconds, cut down to what fits.
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
