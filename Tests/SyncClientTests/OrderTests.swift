import ClientStore
import QueueModel
import Testing

@testable import SyncClient

/// The orders to the program that runs agents.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
  private let message = MessageID(high: 9, low: 1)

  /// Opens a client that runs one message.
  private func withOrders(
    _ body: (QueueClient, AsyncStream<TurnOrder>) async throws -> Void
  ) async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("do it", 1))
      try await client.perform(.setHost(try SessionID("a"), client.deviceID))
      try await body(client, try await client.execution.start(ExecutionSettings(isEnabled: true)))
      await client.close()
    }
  }

  @Test func anAgentStartsWhenTheDiskHasItsIntent() async throws {
    try await withOrders { client, orders in
      var orders = orders.makeAsyncIterator()
      guard case .start(let start)? = await orders.next() else {
        Issue.record("nothing starts")
        return
      }
      #expect(client.engine.store.isSynchronized)
      #expect(start.message == message && start.attempt == 1 && start.prompt == "do it")
      await client.execution.ended(start, with: .succeeded(summary: "done"))
      let status = try client.workspace().message(message).status
      #expect(status == .succeeded)
    }
  }

  /// A stop between the order and the process: a turn that never began did not succeed.
  @Test func aStopComesBehindItsStart() async throws {
    try await withOrders { client, orders in
      var orders = orders.makeAsyncIterator()
      guard case .start(let start)? = await orders.next() else {
        Issue.record("nothing starts")
        return
      }
      let wasAtWork = try await client.execution.stopAgent(of: start.session) != nil
      #expect(wasAtWork)
      #expect(await orders.next() == .stop(start.session, attempt: 1))
      await client.execution.ended(start, with: .notStarted("the agent was stopped"))
      let status = try client.workspace().message(message).status
      #expect(status == .cancelled)
    }
  }
}
