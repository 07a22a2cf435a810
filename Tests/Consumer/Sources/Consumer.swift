import Foundation
import Logging
import OutgoingMessages
import QueueModel
import SyncClient

/// Two devices of one user, as an app would have them: `Consumer SERVER CODE CODE DIRECTORY`.
///
/// It exits with 0 if the phone sent a message, the laptop ran it, the phone answered the agent's
/// question, a file was transferred, a sync in the background fetched the rest, and a message was
/// delivered to the app's own server.
@main struct Consumer {
  let laptop: QueueClient
  let phone: QueueClient
  let session: SessionID

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 4 else {
      throw Failure("usage: Consumer SERVER CODE CODE DIRECTORY")
    }
    let values = Array(arguments)
    let (server, directory) = (values[0], values[3])
    let consumer = Consumer(
      laptop: try await open("laptop", in: directory),
      phone: try await open("phone", in: directory),
      session: try SessionID("login-page"))
    try await consumer.within(.seconds(120)) {
      _ = try await consumer.laptop.pair(server: server, code: values[1])
      _ = try await consumer.phone.pair(server: server, code: values[2])
      try await consumer.inTheForeground()
      try await consumer.inTheBackground()
    }
    await consumer.phone.close()
    await consumer.laptop.close()
    try await consumer.within(.seconds(60)) {
      try await consumer.toAServerOfItsOwn("\(directory)/outgoing")
    }
    print("consumer: sent, observed, ran, answered, attached, synced in the background, delivered")
  }

  private static func open(_ name: String, in directory: String) async throws -> QueueClient {
    try await QueueClient.open(
      ClientConfiguration(dataDirectory: "\(directory)/\(name)", deviceName: name),
      logger: Logger(label: name))
  }

  /// Both apps are open.
  private func inTheForeground() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await laptop.run() }
      group.addTask { try await phone.run() }
      let message = try await sendAndObserve()
      try await attach(to: message)
      try await runAndAnswer(message)
      // `run` ends the connection in an orderly way and returns.
      group.cancelAll()
    }
  }

  private func sendAndObserve() async throws -> MessageID {
    let message = MessageID.random()
    let receipt = try await phone.perform(
      .send(.init(session: session, id: message, text: "Write the failing test")))
    for await view in laptop.queues.updates(of: session) where !view.messages.isEmpty { break }
    guard let range = receipt.operations else { throw Failure("the send did nothing") }
    for await _ in phone.syncStatusUpdates() {
      if await phone.changeState(range) != .onThisDevice { return message }
    }
    throw Failure("the phone's status ended")
  }

  private func attach(to message: MessageID) async throws {
    let log = Data("1 test failed\n".utf8)
    let file = try await laptop.attachments.keep(log, name: "test.log")
    try await laptop.perform(.attach(message, [file]))
    for await view in phone.queues.updates(of: session)
    where view.messages.first?.attachments == [file] { break }
    // The queue may show the attachment before its bytes have arrived.
    while true {
      do {
        guard try await phone.attachments.bytes(of: file.hash) == log else {
          throw Failure("the file changed on its way")
        }
        return
      } catch ClientError.attachmentMissing {
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  /// The laptop runs the message; its agent asks, and the phone answers.
  private func runAndAnswer(_ message: MessageID) async throws {
    try await laptop.perform(.setHost(session, laptop.deviceID))
    let orders = try await laptop.execution.start(ExecutionSettings(isEnabled: true))
    let events = try await phone.events()
    async let answered: Void = answer(events)
    for await case .start(let turn) in orders where turn.message == message {
      let answer = try await laptop.tasks.ask(
        .approval(toolName: "Bash", summary: "swift test"), in: session)
      guard answer.ending == .allowed else { throw Failure("it ended as \(answer.ending)") }
      await laptop.execution.ended(turn, with: .succeeded(summary: "1 test passes"))
      break
    }
    try await answered
    for await view in phone.queues.updates(of: session) where view.messages.isEmpty { return }
    throw Failure("the phone's queue ended")
  }

  private func answer(_ events: EventFeed) async throws {
    for await _ in events {
      guard let awaited = await phone.tasks.awaitedRequests().first else { continue }
      let event = try await phone.tasks.answer(
        TaskAnswer(to: awaited, verdict: .allowed))
      guard event == .taken else { throw Failure("the answer was \(event)") }
      return
    }
  }

  /// The phone's app is asleep; the system lets it sync briefly.
  private func inTheBackground() async throws {
    let message = MessageID.random()
    try await laptop.perform(.send(.init(session: session, id: message, text: "Make it pass")))
    try await sync(laptop)
    try await sync(phone)
    guard try phone.workspace().message(message).content == "Make it pass" else {
      throw Failure("the phone has another text")
    }
  }

  /// A message outside Cospool: the app sends it, and the queue keeps it until it is confirmed.
  private func toAServerOfItsOwn(_ directory: String) async throws {
    let queue = try await OutgoingMessageQueue.open(
      directory: directory, logger: Logger(label: "outgoing"))
    let transport = OwnTransport()
    queue.setDelegate(transport)
    let message = OutgoingMessage(id: .random(), session: session, content: "Done")
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await queue.run() }
      try await queue.enqueue(message)
      try await queue.waitForDelivery(of: message.id)
      group.cancelAll()
    }
    try await queue.close()
  }

  private func sync(_ client: QueueClient) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await client.run() }
      try await client.waitUntilSynced(timeout: .seconds(30))
      group.cancelAll()
    }
  }

  private func within(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await body() }
      group.addTask {
        try await Task.sleep(for: limit)
        throw Failure("it took longer than \(limit)")
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}

/// A server that accepts every message at once.
final class OwnTransport: MessageQueueDelegate {
  func messageQueue(
    _ queue: OutgoingMessageQueue, shouldSend delivery: OutgoingDelivery
  ) async {
    // If this fails, the queue sends the message again.
    try? await queue.markSent(delivery.message.id, attempt: delivery.attempt)
    try? await queue.confirmDelivery(delivery.message.id)
  }

  func messageQueue(_ queue: OutgoingMessageQueue, didDeliver id: MessageID) {}

  func messageQueue(
    _ queue: OutgoingMessageQueue, didFail id: MessageID, error: MessageQueueError
  ) {}
}

struct Failure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}
