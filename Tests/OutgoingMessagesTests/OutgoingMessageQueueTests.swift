import Foundation
import Logging
import OutgoingMessages
import QueueModel
import Synchronization
import Testing

/// Records a queue's requests and reports, and lets a test wait for them.
private final class Notebook: MessageQueueDelegate {
  private struct Pages {
    var sent: [OutgoingDelivery] = []
    var delivered: [MessageID] = []
    var failed: [MessageID: MessageQueueError] = [:]
  }

  private let pages = Mutex(Pages())
  let wakes = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  var sent: [OutgoingDelivery] { pages.withLock { $0.sent } }
  var delivered: [MessageID] { pages.withLock { $0.delivered } }
  var failed: [MessageID: MessageQueueError] { pages.withLock { $0.failed } }

  /// Whether a call to send does not return.
  let hangs = Mutex(false)

  func messageQueue(
    _ queue: OutgoingMessageQueue, shouldSend delivery: OutgoingDelivery
  ) async {
    pages.withLock { $0.sent.append(delivery) }
    wakes.continuation.yield()
    while hangs.withLock({ $0 }), !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(10))
    }
  }

  func messageQueue(_ queue: OutgoingMessageQueue, didDeliver id: MessageID) {
    pages.withLock { $0.delivered.append(id) }
    wakes.continuation.yield()
  }

  func messageQueue(
    _ queue: OutgoingMessageQueue, didFail id: MessageID, error: MessageQueueError
  ) {
    pages.withLock { $0.failed[id] = error }
    wakes.continuation.yield()
  }

  func reset() { pages.withLock { $0 = Pages() } }

  /// Waits until `count` attempts were made.
  func sent(_ count: Int) async {
    for await _ in wakes.stream where sent.count >= count { return }
  }
}

@Suite(.timeLimit(.minutes(5))) struct OutgoingMessageQueueTests {
  private func message(_ number: UInt64, _ text: String = "Test") throws -> OutgoingMessage {
    OutgoingMessage(
      id: MessageID(high: 3, low: number), session: try SessionID("a"), content: text)
  }

  private func open(
    _ directory: String, _ config: MessageQueueConfig = .default
  ) async throws -> OutgoingMessageQueue {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return try await OutgoingMessageQueue.open(
      directory: directory, config: config, logger: logger)
  }

  private func withDirectory(_ body: (String) async throws -> Void) async throws {
    let directory = NSTemporaryDirectory() + "cospool-outgoing-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try await body(directory)
  }

  /// A running queue.
  private func withQueue(
    _ config: MessageQueueConfig = .default,
    _ body: (OutgoingMessageQueue, Notebook) async throws -> Void
  ) async throws {
    try await withDirectory { directory in
      let notebook = Notebook()
      let queue = try await open(directory, config)
      queue.setDelegate(notebook)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await queue.run() }
        try await body(queue, notebook)
        group.cancelAll()
      }
      try await queue.close()
    }
  }

  // S3-1 to S3-5, S3-37.
  @Test func defaultConfig() {
    let config = MessageQueueConfig.default
    #expect(config.maxRetries == 3)
    #expect(config.baseRetryDelay == .seconds(1))
    #expect(config.maxRetryDelay == .seconds(10))
    #expect(config.deliveryTimeout == .seconds(30))
  }

  // S3-12.
  @Test func statesHaveTheirNames() {
    #expect(
      QueueStatus.allCases.map(\.rawValue)
        == ["queued", "sending", "awaitingAck", "delivered", "failed"])
  }

  // S3-22, S3-38.
  @Test func enqueueCallsTheDelegateOnce() async throws {
    try await withQueue { queue, notebook in
      try await queue.enqueue(try message(1))
      await notebook.sent(1)
      #expect(notebook.sent.map(\.message.content) == ["Test"])
      #expect(notebook.sent.map(\.sequence) == [1])
    }
  }

  /// A transport that does not return delays neither timeouts nor, once it returns, the messages
  /// after it.
  @Test func aDelegateThatHangsHoldsNoTimeout() async throws {
    let config = MessageQueueConfig(
      maxRetries: nil, baseRetryDelay: .milliseconds(20), maxRetryDelay: .milliseconds(20),
      deliveryTimeout: .milliseconds(50))
    try await withQueue(config) { queue, notebook in
      notebook.hangs.withLock { $0 = true }
      let id = try await queue.enqueue(message(1)).id
      await notebook.sent(1)
      for await messages in queue.updates() {
        if let shown = messages.first(where: { $0.id == id }), shown.retryCount > 0 { break }
      }
      #expect(notebook.sent.count == 1)
      notebook.hangs.withLock { $0 = false }
      let behind = try await queue.enqueue(message(2)).id
      for await _ in notebook.wakes.stream
      where notebook.sent.contains(where: { $0.message.id == behind }) { break }
    }
  }

  // S3-39.
  @Test func messagesAreNumbered() async throws {
    try await withQueue { queue, _ in
      var numbers: [UInt64] = []
      for number in 1...3 {
        numbers.append(try await queue.enqueue(message(UInt64(number))).sequence)
      }
      #expect(numbers == [1, 2, 3])
    }
  }

  // S3-40, S3-41.
  @Test func markSentAwaitsAndConfirmDelivers() async throws {
    try await withQueue { queue, notebook in
      let id = try await queue.enqueue(message(1)).id
      await notebook.sent(1)
      try await queue.markSent(id)
      #expect(queue.message(for: id)?.status == .awaitingAck)
      try await queue.confirmDelivery(id)
      #expect(queue.message(for: id)?.status == .delivered)
      #expect(notebook.delivered == [id])
      try await queue.waitForDelivery(of: id)
      // The second confirmation is not reported.
      try await queue.confirmDelivery(id)
      #expect(notebook.delivered == [id])
    }
  }

  // S3-42.
  @Test func aFailureIsTriedAgainAfterItsWait() async throws {
    let config = MessageQueueConfig(
      maxRetries: 2, baseRetryDelay: .milliseconds(100), maxRetryDelay: .milliseconds(200),
      deliveryTimeout: .seconds(60))
    try await withQueue(config) { queue, notebook in
      let id = try await queue.enqueue(message(1)).id
      await notebook.sent(1)
      try await queue.handleSendFailure(id, attempt: 1, error: nil)
      await notebook.sent(2)
      #expect(notebook.sent.map(\.attempt) == [1, 2])
    }
  }

  // S3-29: the delegate confirms nothing and reports no failure.
  @Test func unconfirmedMessagesAreSentAgain() async throws {
    let config = MessageQueueConfig(
      maxRetries: nil, baseRetryDelay: .milliseconds(10), deliveryTimeout: .milliseconds(50))
    try await withQueue(config) { queue, notebook in
      let id = try await queue.enqueue(message(1)).id
      await notebook.sent(1)
      try await queue.markSent(id, attempt: 1)
      await notebook.sent(2)
      #expect(queue.message(for: id)?.retryCount ?? 0 >= 1)
    }
  }

  // S3-15, S3-18, S3-43.
  @Test func theLastFailureIsFinalAndReported() async throws {
    try await withQueue(MessageQueueConfig(maxRetries: 1)) { queue, notebook in
      let id = try await queue.enqueue(message(1)).id
      await notebook.sent(1)
      try await queue.handleSendFailure(id, error: nil)
      #expect(queue.message(for: id)?.status == .failed)
      #expect(notebook.failed == [id: .maxRetriesExceeded(id)])
      await #expect(throws: MessageQueueError.maxRetriesExceeded(id)) {
        try await queue.waitForDelivery(of: id)
      }
    }
  }

  // S3-16.
  @Test func unknownIdsAreReportedOrSkipped() async throws {
    try await withQueue { queue, _ in
      let id = MessageID(high: 0, low: 1)
      try await queue.markSent(id)
      try await queue.confirmDelivery(id)
      #expect(queue.allMessages().isEmpty)
      await #expect(throws: MessageQueueError.messageNotFound(id)) {
        try await queue.waitForDelivery(of: id)
      }
    }
  }

  // S3-44, S3-45.
  @Test func pendingLeavesOutWhatWasDelivered() async throws {
    try await withQueue { queue, _ in
      for number in 1...3 { try await queue.enqueue(message(UInt64(number))) }
      #expect(queue.pendingCount() == 3)
      try await queue.confirmDelivery(message(1).id)
      #expect(queue.pendingMessages().map(\.id) == [try message(2).id, try message(3).id])
    }
  }

  // S3-46.
  @Test func clearEmpties() async throws {
    try await withQueue { queue, _ in
      try await queue.enqueue(message(1))
      try await queue.clear()
      #expect(queue.allMessages().isEmpty)
    }
  }

  // S3-47.
  @Test func retryFailedSendsOnceMore() async throws {
    try await withQueue(MessageQueueConfig(maxRetries: 1)) { queue, notebook in
      let id = try await queue.enqueue(message(1)).id
      await notebook.sent(1)
      try await queue.handleSendFailure(id, error: nil)
      notebook.reset()
      try await queue.retryFailed()
      await notebook.sent(1)
      #expect(queue.message(for: id)?.status != .failed)
      #expect(notebook.sent.count == 1)
    }
  }

  // S3-21: each change is reported before the next one is made.
  @Test func updatesBeginWithThePresentAndFollow() async throws {
    let config = MessageQueueConfig(baseRetryDelay: .seconds(600), maxRetryDelay: .seconds(600))
    try await withQueue(config) { queue, _ in
      let id = try message(1).id
      var steps: [QueueStatus] = []
      for await messages in queue.updates() {
        guard let shown = messages.first else {
          #expect(steps == [])
          try await queue.enqueue(message(1))
          continue
        }
        guard shown.status != steps.last, shown.status != .queued || shown.retryCount == 1 else {
          continue
        }
        steps.append(shown.status)
        switch shown.status {
        case .sending: try await queue.markSent(id)
        case .awaitingAck: try await queue.handleSendFailure(id, error: nil)
        case .queued: try await queue.confirmDelivery(id)
        case .delivered, .failed: break
        }
        if shown.status == .delivered { break }
      }
      #expect(steps == [.sending, .awaitingAck, .queued, .delivered])
    }
  }

  // S3-20.
  @Test func theQueueDoesNotKeepItsDelegateAlive() async throws {
    try await withDirectory { directory in
      let queue = try await open(directory)
      weak var kept: Notebook?
      do {
        let notebook = Notebook()
        kept = notebook
        queue.setDelegate(notebook)
        #expect(kept != nil)
      }
      #expect(kept == nil)
      try await queue.close()
    }
  }

  // S3-10, S3-49, S3-56, S3-59.
  @Test func everythingIsThereAfterReopening() async throws {
    try await withDirectory { directory in
      let queue = try await open(directory)
      try await queue.enqueue(message(1, "one\u{0}with a NUL"))
      try await queue.enqueue(message(2, "two"))
      try await queue.confirmDelivery(message(2).id)
      let times = queue.allMessages().map(\.queuedAt)
      let now = Int64(Date().timeIntervalSince1970 * 1_000)
      #expect(times.allSatisfy { (now - 600_000...now).contains($0) } && times == times.sorted())
      try await queue.close()
      await #expect(throws: MessageQueueError.closed) { try await queue.enqueue(message(3)) }

      let reopened = try await open(directory)
      #expect(reopened.allMessages().map(\.message.content) == ["one\u{0}with a NUL", "two"])
      #expect(reopened.allMessages().map(\.status) == [.queued, .delivered])
      #expect(reopened.allMessages().map(\.queuedAt) == times)
      await #expect(throws: MessageQueueError.alreadyDelivered(try message(2).id)) {
        try await reopened.enqueue(message(2, "two"))
      }
      #expect(try await reopened.enqueue(message(3)).sequence == 3)
      let notebook = Notebook()
      reopened.setDelegate(notebook)
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await reopened.run() }
        await notebook.sent(2)
        group.cancelAll()
      }
      #expect(notebook.sent.map(\.sequence) == [1, 3])
      try await reopened.close()
    }
  }

  @Test func aDirectoryHasOneQueue() async throws {
    try await withDirectory { directory in
      let queue = try await open(directory)
      let held = PersistenceFault(
        "\(directory) is in use by another process; choose another directory", isDiskFull: false)
      await #expect(throws: MessageQueueError.persistenceFailed(held)) { try await open(directory) }
      try await queue.close()
      // Closing twice is safe.
      try await queue.close()
      try await open(directory).close()
    }
  }

  @Test func aDamagedFileIsSetAside() async throws {
    try await withDirectory { directory in
      let queue = try await open(directory)
      try await queue.enqueue(message(1))
      try await queue.close()
      let path = directory + "/cospool.sqlite"
      try Data(repeating: 7, count: 8_192).write(to: URL(filePath: path))
      let kept = PersistenceFault(
        "\(path) is damaged and kept at \(path).corrupt-1; open it again to begin with an empty queue",
        isDiskFull: false)
      await #expect(throws: MessageQueueError.persistenceFailed(kept)) { try await open(directory) }
      let again = try await open(directory)
      #expect(again.allMessages().isEmpty)
      try await again.close()
    }
  }
}
