import ClientCore
import QueueModel
import Testing

@testable import SyncClient

/// What whoever runs agents is told, and when others hear of it.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
  private static let message = MessageID(high: 9, low: 1)

  @Test func ordersComeAsTheyWereGiven() async throws {
    let (stream, continuation) = AsyncStream<ExecutionOrder>.makeStream()
    let orders = OrderStream(continuation)
    let session = try SessionID("a")
    orders.giveSoon(.stop(session, attempt: 1))
    orders.give(.stop(session, attempt: 2))
    orders.giveSoon(.stop(session, attempt: 3))
    // By itself, too.
    var iterator = stream.makeAsyncIterator()
    for attempt in UInt16(1)...3 {
      #expect(await iterator.next() == .stop(session, attempt: attempt))
    }
    orders.giveSoon(.stop(session, attempt: 4))
    orders.finish()
    #expect(await iterator.next() == .stop(session, attempt: 4))
    #expect(await iterator.next() == nil)
  }

  @Test func whatIsMadeReadyHasLeaveOnceItBegins() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("do it", 1))
      try await client.perform(.setHost(session, client.deviceID))
      var orders = try await client.execute(ExecutionSettings(isEnabled: true))
        .makeAsyncIterator()
      guard case .prepare(let start, let leave) = await orders.next() else {
        Issue.record("nothing is made ready")
        return
      }
      #expect(await leave.isGiven)
      #expect(await orders.next() == .begin(start))
      #expect(start.message == Self.message && start.prompt == "do it")
      await client.executionEnded(start, with: .succeeded(summary: "done"))
      await client.close()
    }
  }

  /// A stop of an attempt before is not one of the attempt that is made ready.
  @Test func aStopRefusesLeaveToItsOwnAttempt() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      _ = try await client.execute(ExecutionSettings(isEnabled: false))
      let session = try SessionID("a")
      let order = StartOrder(
        session: session, message: Self.message, attempt: 2, token: 1, text: "do it")
      let refused = await client.engine.onQueue { state in
        client.engine.tell(.prepare(order), &state)
        let leave = state.prepared[session]?.leave
        client.engine.tell(.stop(session, attempt: 1), &state)
        let before = leave?.isRefused
        client.engine.tell(.stop(session, attempt: 2), &state)
        return [before, leave?.isRefused]
      }
      #expect(refused == [false, true])
      await client.close()
    }
  }

  /// What is sent while an agent begins waits a moment, and goes out in its order.
  @Test func framesWaitWhileAnAgentBegins() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        let session = try SessionID("a")
        let order = StartOrder(
          session: session, message: Self.message, attempt: 1, token: 1, text: "do it")
        _ = try await client.execute(ExecutionSettings(isEnabled: false))
        let commands = [try Command.text("one", 1), try Command.text("two", 2)]
        let held = await client.engine.onQueue { state in
          client.engine.tell(.begin(order), &state)
          for command in commands {
            let done = try? state.core.commandGiven(
              command, at: client.engine.occasion(), store: client.engine.store)
            client.engine.settle(&state, done?.actions ?? [])
          }
          return state.held?.count
        }
        #expect((held ?? 0) >= 1)
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try fixture.server.workspace.texts() == ["one", "two"])
        #expect(await client.engine.onQueue { $0.held == nil })
      }
    }
  }
}
