import ClientCore
import ClientStore
import Dispatch
public import Logging
public import QueueModel
import Synchronization

/// Sends the messages of an outgoing queue, and receives reports of their results.
public protocol MessageQueueDelegate: AnyObject, Sendable {
  /// Send it; then call `markSent`, and `confirmDelivery` or `handleSendFailure` later (S3-13).
  ///
  /// Calls come one after another, in the order of the numbers. The receiver must recognize
  /// repetitions by the message's id: messages that were sent and not confirmed are sent again.
  func messageQueue(_ queue: OutgoingMessageQueue, shouldSend delivery: OutgoingDelivery) async
  /// The receiver confirmed it (S3-14).
  func messageQueue(_ queue: OutgoingMessageQueue, didDeliver id: MessageID)
  /// The message was given up (S3-15); it is kept, and `retryFailed` restarts it.
  func messageQueue(
    _ queue: OutgoingMessageQueue, didFail id: MessageID, error: MessageQueueError)
}

/// One attempt to send a message.
public struct OutgoingDelivery: Hashable, Sendable {
  /// The message to send.
  public var message: OutgoingMessage
  /// The message's number in its queue (S3-56).
  public var sequence: UInt64
  /// The number of this message's attempt since the queue was opened, from 1. Return it with the
  /// result, so that a late result is not taken for that of a later attempt.
  public var attempt: Int
}

/// Messages that an app sends to its own server, with delivery tracked: stored before `enqueue`
/// returns, retried with growing waits, confirmed by the receiver.
///
/// Messages to a Cospool server do not need this: a command is stored in the log, and the sync
/// sends it to the server, however long that takes. `ClientQueues.outgoingMessages` of `SyncClient`
/// shows it in the same terms.
///
/// ```swift
/// let queue = try await OutgoingMessageQueue.open(directory: path, logger: logger)
/// queue.setDelegate(transport)
/// async let sending: Void = queue.run()
/// try await queue.enqueue(.init(id: .random(), session: session, content: "Go on"))
/// for await messages in queue.updates() { show(messages) }
/// ```
///
/// Events run one at a time on their own thread, where storing may block.
public final class OutgoingMessageQueue: Sendable {
  private struct State {
    var queue: OutgoingQueue
    var watchers: [UInt64: AsyncStream<[QueuedMessage]>.Continuation] = [:]
    var lastWatcher: UInt64 = 0
    var wake: AsyncStream<Void>.Continuation?
    /// Attempts that were taken out, but not passed to the delegate yet.
    var taken: [OutgoingDelivery] = []
    var isClosed = false
    weak var delegate: (any MessageQueueDelegate)?
  }

  /// The longest sleep of `run` before it checks the time again, in milliseconds.
  private static let sleepMax: Int64 = 60_000

  private let directory: LockedDirectory
  private let store: ClientStore
  private let logger: Logger
  private let clock = DeviceClock()
  /// The queue of the events.
  private let events = DispatchQueue(label: "cospool.outgoing")
  private let state: Mutex<State>

  private init(
    directory: LockedDirectory, store: ClientStore, queue: OutgoingQueue, logger: Logger
  ) {
    self.directory = directory
    self.store = store
    self.logger = logger
    state = Mutex(State(queue: queue))
  }

  /// Opens or creates the queue of a directory. Only one process at a time may use the directory,
  /// and it must not be the data directory of a `QueueClient`.
  ///
  /// - Throws: `persistenceFailed`, with the reason and what to do. Then a damaged file was set
  ///   aside; opening again starts with an empty queue.
  public static func open(
    directory path: String, config: MessageQueueConfig = .default, logger: Logger
  ) async throws(MessageQueueError) -> OutgoingMessageQueue {
    do throws(ClientStore.OpenError) {
      let directory = try LockedDirectory(path: path)
      let store = try ClientStore.open(directory: directory.path).store
      do {
        let box = try store.outgoing(in: ClientStore.ownBox)
        let queue = OutgoingQueue(
          config: config, stored: box.messages, lastSequence: box.lastSequence)
        return OutgoingMessageQueue(
          directory: directory, store: store, queue: queue, logger: logger)
      } catch { throw .storage(error) }
    } catch {
      throw .persistenceFailed(PersistenceFault(error))
    }
  }

  /// The limits of attempts and waits.
  public var config: MessageQueueConfig { state.withLock { $0.queue.config } }

  /// Sets the sender, which the queue does not retain (S3-20).
  public func setDelegate(_ delegate: (any MessageQueueDelegate)?) {
    state.withLock {
      $0.delegate = delegate
      _ = $0.wake?.yield()
    }
  }

  /// Sends due messages and watches the times, until the task is cancelled or the queue is closed.
  /// One task at a time.
  public func run() async {
    let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let isFirst = state.withLock { state -> Bool in
      guard state.wake == nil, !state.isClosed else { return false }
      state.wake = wake
      return true
    }
    guard isFirst else { return }
    wake.yield()
    let (handovers, handover) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    await withTaskCancellationHandler {
      await withDiscardingTaskGroup { group in
        // In parallel with the clock: a delegate that does not return must not delay the timeouts.
        group.addTask {
          for await _ in handovers {
            while let next = self.takeOut() { await self.hand(over: next) }
          }
        }
        // One sleep until then is enough.
        var scheduled = Int64.min
        for await _ in wakes {
          await step()
          handover.yield()
          let now = clock.now
          guard let deadline = state.withLock({ $0.queue.deadline }),
            scheduled <= now || deadline < scheduled
          else { continue }
          let delay = min(max(1, deadline - now), OutgoingMessageQueue.sleepMax)
          scheduled = now + delay
          group.addTask {
            // A cancelled sleep wakes a task that no longer listens.
            try? await Task.sleep(for: .milliseconds(delay))
            wake.yield()
          }
        }
        group.cancelAll()
      }
    } onCancel: {
      wake.finish()
    }
    state.withLock { $0.wake = nil }
  }

  /// Processes due messages once.
  private func step() async {
    let context = clock.context
    // If the store refuses, nothing changes; a later step tries again.
    let actions =
      (try? await change { queue in
        queue.timePassed(at: context) + queue.takeDue(at: context)
      }) ?? []
    // Removes abandoned attempts, so that there is at most one for each message.
    state.withLock { state in
      for case .send(let message, let sequence, let attempt) in actions {
        state.taken.append(
          OutgoingDelivery(message: message, sequence: sequence, attempt: attempt))
      }
      state.taken.removeAll { !state.queue.isHeld($0.message.id, attempt: $0.attempt) }
    }
  }

  /// The next attempt that still waits to be handed over.
  private func takeOut() -> OutgoingDelivery? {
    state.withLock { state in
      while !state.taken.isEmpty {
        let next = state.taken.removeFirst()
        if state.queue.isHeld(next.message.id, attempt: next.attempt) { return next }
      }
      return nil
    }
  }

  private func hand(over delivery: OutgoingDelivery) async {
    guard let delegate = state.withLock({ $0.delegate }) else {
      // If the store refuses, the attempt times out and is tried again.
      _ = try? await change { queue in
        queue.notHandedOver(delivery.message.id, attempt: delivery.attempt)
        return []
      }
      return
    }
    await delegate.messageQueue(self, shouldSend: delivery)
  }

  /// Runs an event, stores the changes, and notifies observers; changes nothing if it throws.
  @discardableResult
  private func change(
    _ event:
      @escaping @Sendable (inout OutgoingQueue) throws(MessageQueueError) ->
      [OutgoingQueue.Action]
  ) async throws(MessageQueueError) -> [OutgoingQueue.Action] {
    let outcome: Result<[OutgoingQueue.Action], MessageQueueError> = await withCheckedContinuation {
      continuation in
      events.async { continuation.resume(returning: self.stored(event)) }
    }
    let actions = try outcome.get()
    tell(actions)
    return actions
  }

  private func stored(
    _ event: (inout OutgoingQueue) throws(MessageQueueError) -> [OutgoingQueue.Action]
  ) -> Result<[OutgoingQueue.Action], MessageQueueError> {
    state.withLock { state in
      guard !state.isClosed else { return .failure(.closed) }
      var next = state.queue
      do throws(MessageQueueError) {
        let actions = try event(&next)
        let changes = next.takeChanges()
        do throws(StoreError) {
          try store.keep(changes, lastSequence: next.lastSequence, in: ClientStore.ownBox)
          if !changes.isEmpty { next.storeTook() }
        } catch {
          state.queue.storeRefused(at: clock.context)
          throw .persistenceFailed(PersistenceFault(error))
        }
        state.queue = next
        for watcher in state.watchers.values { watcher.yield(next.allMessages) }
        return .success(actions)
      } catch {
        return .failure(error)
      }
    }
  }

  private func tell(_ actions: [OutgoingQueue.Action]) {
    let delegate = state.withLock { $0.delegate }
    for action in actions {
      switch action {
      case .send: break
      case .delivered(let id): delegate?.messageQueue(self, didDeliver: id)
      case .failed(let id, let error):
        delegate?.messageQueue(self, didFail: id, error: error)
      case .confirmedLate(let id, let status):
        logger.notice(
          "outgoing message \(id) was confirmed late; it counted as \(status.rawValue)")
      }
    }
  }

  private func wake() { state.withLock { _ = $0.wake?.yield() } }
}

// The methods for an app.
extension OutgoingMessageQueue {
  /// Adds a message; it is on disk when the call returns (S3-22, S3-49). A known message is not
  /// changed.
  ///
  /// - Returns: the message with its number.
  /// - Throws: `queueFull`, `alreadyDelivered`, `messageIDTaken`, `persistenceFailed`, `closed`.
  @discardableResult
  public func enqueue(
    _ message: OutgoingMessage
  ) async throws(MessageQueueError) -> QueuedMessage {
    let context = clock.context
    try await change { queue throws(MessageQueueError) in
      _ = try queue.enqueue(message, at: context)
      return []
    }
    wake()
    guard let queued = self.message(for: message.id) else { throw .messageNotFound(message.id) }
    return queued
  }

  /// The transport accepted it (S3-25). An unknown id is ignored.
  public func markSent(
    _ id: MessageID, attempt: Int? = nil
  ) async throws(MessageQueueError) {
    let context = clock.context
    try await change { queue in
      queue.markSent(id, attempt: attempt, at: context)
      return []
    }
    // A timeout begins.
    wake()
  }

  /// The receiver has it (S3-26). This counts in every state of the message, which is never sent
  /// again (S3-55). An unknown id is ignored.
  public func confirmDelivery(_ id: MessageID) async throws(MessageQueueError) {
    let context = clock.context
    try await change { queue in queue.confirmDelivery(id, at: context) }
  }

  /// An attempt failed (S3-27).
  ///
  /// - Parameters:
  ///   - attempt: the attempt; a failure of an earlier one has no effect (S3-52).
  ///   - isPermanent: whether further attempts are pointless (S3-58).
  public func handleSendFailure(
    _ id: MessageID, attempt: Int? = nil, error: (any Error)?, isPermanent: Bool = false
  ) async throws(MessageQueueError) {
    let context = clock.context
    let reason = error.map { "\($0)" }
    try await change { queue in
      queue.sendFailed(
        id, attempt: attempt, reason: reason, isPermanent: isPermanent, at: context)
    }
    wake()
  }

  /// The connection to the receiver broke: open messages are sent again, which does not count as a
  /// failure. A disconnection never drops messages (S3-54).
  public func connectionLost() async throws(MessageQueueError) {
    try await change { queue in
      queue.connectionLost()
      return []
    }
    wake()
  }

  /// Restarts every failed message (S3-36).
  public func retryFailed() async throws(MessageQueueError) {
    try await change { queue in
      queue.retryFailed()
      return []
    }
    wake()
  }

  /// Removes every message that is not delivered, with its waits (S3-35, S3-54). Receipts stay.
  public func clear() async throws(MessageQueueError) {
    try await change { queue in
      queue.clear()
      return []
    }
  }

  /// All messages, receipts of delivered ones included, by number (S3-30, S3-59).
  public func allMessages() -> [QueuedMessage] { state.withLock { $0.queue.allMessages } }

  /// Messages that are neither delivered nor failed (S3-31).
  public func pendingMessages() -> [QueuedMessage] { state.withLock { $0.queue.pendingMessages } }

  /// The number of these messages (S3-33).
  public func pendingCount() -> Int { state.withLock { $0.queue.pendingCount } }

  /// One message (S3-32).
  public func message(for id: MessageID) -> QueuedMessage? {
    state.withLock { $0.queue.message(for: id) }
  }

  /// All messages, now and after every change (S3-21); a slow reader gets only the newest value.
  /// Ends when the queue is closed.
  public func updates() -> AsyncStream<[QueuedMessage]> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state -> UInt64? in
        guard !state.isClosed else { return nil }
        state.lastWatcher += 1
        state.watchers[state.lastWatcher] = continuation
        continuation.yield(state.queue.allMessages)
        return state.lastWatcher
      }
      guard let id else {
        continuation.finish()
        return
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { $0.watchers[id] = nil }
      }
    }
  }

  /// Returns when the receiver has it.
  ///
  /// - Throws: `messageNotFound`, `maxRetriesExceeded` or `refused` if it was given up, `closed`.
  public func waitForDelivery(of id: MessageID) async throws(MessageQueueError) {
    for await messages in updates() {
      guard let message = messages.first(where: { $0.id == id }) else {
        throw .messageNotFound(id)
      }
      switch message.status {
      case .delivered: return
      case .failed:
        guard let max = config.maxRetries, message.retryCount >= max else {
          throw .refused(id, reason: message.lastError ?? "no reason given")
        }
        throw .maxRetriesExceeded(id)
      case .queued, .sending, .awaitingAck: break
      }
    }
    throw .closed
  }

  /// Ends streams and `run`, and releases the directory; idempotent.
  ///
  /// - Throws: `persistenceFailed` if the file cannot be closed; nothing is lost.
  public func close() async throws(MessageQueueError) {
    let (watchers, wake) = state.withLock { state in
      state.isClosed = true
      defer { (state.watchers, state.wake) = ([:], nil) }
      return (state.watchers, state.wake)
    }
    wake?.finish()
    for watcher in watchers.values { watcher.finish() }
    // Runs after pending stores.
    let problem: StoreError? = await withCheckedContinuation { continuation in
      events.async {
        do throws(StoreError) {
          try self.store.close()
          continuation.resume(returning: nil)
        } catch {
          continuation.resume(returning: error)
        }
      }
    }
    directory.release()
    if let problem { throw .persistenceFailed(PersistenceFault(problem)) }
  }
}

extension PersistenceFault {
  fileprivate init(_ error: StoreError) {
    self.init(error.message, isDiskFull: error.code == .full)
  }

  fileprivate init(_ error: ClientStore.OpenError) {
    let words: String
    switch error {
    case .locked(let path):
      words = "\(path) is in use by another process; choose another directory"
    case .corrupt(let path, let keptAt):
      words = "\(path) is damaged and kept at \(keptAt); open it again to begin with an empty queue"
    case .newer(let path, let found, let supported):
      words =
        "\(path) has format \(found), and this version reads up to \(supported); install a newer one"
    case .storage(let error):
      self.init(error)
      return
    }
    self.init(words, isDiskFull: false)
  }
}
