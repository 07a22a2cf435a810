import Foundation
import QueueModel
import SyncClient
import Synchronization
import Testing
import WireProtocol

/// Notes what a queue asks and tells; a test waits for what it wants to see.
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

  /// Waits until so many attempts went out.
  func sent(_ count: Int) async {
    for await _ in wakes.stream where sent.count >= count { return }
  }
}

@Suite(.timeLimit(.minutes(2))) struct OutgoingMessageQueueTests {
  private func message(_ number: UInt64, _ text: String = "Test") throws -> OutgoingMessage {
    OutgoingMessage(
      id: MessageID(high: 3, low: number), session: try SessionID("a"), content: text)
  }

  /// A running queue of a client without a server.
  private func withQueue(
    _ config: MessageQueueConfig = .default,
    _ body: (OutgoingMessageQueue, Notebook) async throws -> Void
  ) async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let notebook = Notebook()
      let queue = try await client.outgoingMessageQueue(named: "chat", config: config)
      queue.setDelegate(notebook)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await queue.run() }
        try await body(queue, notebook)
        group.cancelAll()
      }
      await client.close()
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

  /// A transport that does not return holds neither the timeouts nor, once it does, what waited behind.
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
      // The second time says nothing.
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

  // S3-29: nobody confirms it, and nobody says that it failed.
  @Test func whatIsNotConfirmedInTimeIsSentAgain() async throws {
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
  @Test func theLastFailureIsFinalAndTold() async throws {
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
  @Test func unknownIdsAreToldOrPassedOver() async throws {
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

  // S3-21.
  @Test func updatesBeginWithThePresentAndFollow() async throws {
    try await withQueue { queue, _ in
      try await queue.enqueue(message(1))
      let id = try message(1).id
      var seen: [QueueStatus] = []
      for await messages in queue.updates() {
        guard let status = messages.first?.status else { continue }
        if seen.isEmpty { try await queue.confirmDelivery(id) }
        seen.append(status)
        if status == .delivered { break }
      }
      #expect(seen.count >= 2)
    }
  }

  // S3-49, S3-56, S3-59.
  @Test func everythingIsThereAfterReopening() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let queue = try await client.outgoingMessageQueue(named: "chat")
      try await queue.enqueue(message(1, "one\u{0}with a NUL"))
      try await queue.enqueue(message(2, "two"))
      try await queue.confirmDelivery(message(2).id)
      await client.close()
      await #expect(throws: MessageQueueError.closed) { try await queue.enqueue(message(3)) }

      let again = try await fixture.open()
      let other = try await again.outgoingMessageQueue(named: "mail")
      #expect(other.allMessages().isEmpty)
      let reopened = try await again.outgoingMessageQueue(named: "chat")
      #expect(reopened.allMessages().map(\.message.content) == ["one\u{0}with a NUL", "two"])
      #expect(reopened.allMessages().map(\.status) == [.queued, .delivered])
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
      await again.close()
    }
  }
}

/// The sync's own outgoing messages: what became of them follows from what the server has.
@Suite(.timeLimit(.minutes(2))) struct OutgoingMessagesTests {
  @Test func offlineIsNoFailureAndTheServersAnswerDelivers() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("one", 1))
      try await client.perform(.text("two", 2))
      var outgoing = try await client.queues.outgoingMessages()
      #expect(outgoing.map(\.sequence) == [1, 2])
      #expect(outgoing.map(\.id) == [MessageID(high: 9, low: 1), MessageID(high: 9, low: 2)])
      #expect(outgoing.allSatisfy { $0.status == .queued && $0.lastError == nil })
      await client.close()

      try await fixture.running { client in
        #expect(try await client.queues.outgoingMessages().count == 2)
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        outgoing = try await client.queues.outgoingMessages()
        #expect(outgoing.map(\.status) == [.delivered, .delivered])
        try await client.perform(.text("three", 3))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        outgoing = try await client.queues.outgoingMessages()
        #expect(outgoing.map(\.sequence) == [1, 2, 3])
        #expect(outgoing.allSatisfy { $0.status == .delivered })
      }
    }
  }
}
