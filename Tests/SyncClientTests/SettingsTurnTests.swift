import ClientCore
import QueueModel
import Testing

@testable import SyncClient

/// Values that decide whether a message starts reach the executor in the turn in which they are
/// read.
@Suite(.timeLimit(.minutes(10))) struct SettingsTurnTests {
  static func settings(_ number: Int) -> DeviceSettings {
    DeviceSettings(
      onFailure: number % 3 == 0 ? .pause : .proceed,
      agents: AgentSettings(
        kind: [.none, .claude, .hooks][number % 3], hosts: [.own, .ask, .any][number / 3 % 3]))
  }

  /// Handlers, services and apps set values in parallel: in the end, the executor has the valid
  /// ones.
  @Test func concurrentSettingsApplyInTheEnd() async throws {
    try await ClientFixture.withServer { fixture in
      let sessions = try ["a", "b"].map { try SessionID($0) }
      var client = try await fixture.open()
      for session in sessions {
        try await client.perform(.addSession(session, name: nil, project: nil))
      }
      let orders = try await client.execution.start()
      for round in 0..<20 {
        try await withThrowingTaskGroup(of: Void.self) { [client] group in
          for number in 0..<6 {
            let session = sessions[number % 2]
            group.addTask { client.apply(Self.settings(round * 7 + number)) }
            group.addTask {
              let host = (round + number) % 2 == 0 ? client.deviceID : nil
              try await client.execution.setHost(of: session, to: host)
            }
            group.addTask {
              let kind = [nil, AgentKind.hooks, AgentKind.codex][(round + number) % 3]
              try await client.execution.setAgentKind(kind, of: session)
            }
          }
          try await group.waitForAll()
        }
        let settings = client.settings
        let held = await client.engine.read { $0.executionSettings }
        #expect(held == settings.execution)
      }
      client.apply(Self.settings(1))
      let unconsented = await client.execution.unconsented()
      let kinds = await client.execution.agentKinds()
      withExtendedLifetime(orders) {}
      await client.close()
      client = try await fixture.open()
      client.apply(Self.settings(1))
      _ = try await client.execution.start()
      #expect(await client.execution.unconsented() == unconsented)
      #expect(await client.execution.agentKinds() == kinds)
      await client.close()
    }
  }

  /// After consent was withdrawn, nothing starts, whatever is set meanwhile.
  @Test func aConsentThatIsTakenBackHolds() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      client.apply(Self.settings(1))
      _ = try await client.execution.start()
      try await client.perform(.addSession(session, name: nil, project: nil))
      for number in UInt64(1)..<20 {
        try await client.execution.setHost(of: session, to: client.deviceID)
        async let set: Void = client.apply(Self.settings(number % 2 == 0 ? 1 : 10))
        try await client.execution.setHost(of: session, to: nil)
        await set
        // As another device would assign it.
        try await client.perform(.setHost(session, client.deviceID))
        try await client.perform(.text("do it", number))
        #expect(await client.execution.counts().starts == 0)
        #expect(await client.execution.obstacles() == [session: .consentMissing])
        // With the next consent, it would begin.
        try await client.perform(.clear(session))
      }
      await client.close()
    }
  }

  /// Parallel reports are read in their turn: a hook that has ended leaves no gate open.
  @Test func aGateIsAsWhoeverWaitsSaysInItsTurn() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      var settings = Self.settings(2)
      settings.agents.hosts = .any
      client.apply(settings)
      _ = try await client.execution.start()
      try await client.perform(.text("do it", 1))
      try await client.perform(.setHost(session, client.deviceID))
      #expect(await client.execution.obstacles() == [session: .agentNotAsking])
      await client.execution.gateChanged(of: session) { false }
      #expect(await client.execution.obstacles() == [session: .agentNotAsking])
      await client.execution.gateChanged(of: session) { true }
      #expect(await client.execution.running() != [:])
      await client.close()
    }
  }

  /// Reports of one session come in parallel: the last one counts.
  @Test func anAgentThatIsDoneIsNeverBusy() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      var settings = Self.settings(1)
      settings.agents.hosts = .any
      client.apply(settings)
      _ = try await client.execution.start()
      try await client.perform(.addSession(session, name: nil, project: nil))
      try await client.perform(.setHost(session, client.deviceID))
      for _ in 0..<20 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for signal in [AgentSignal.turnStarted, .turnEnded, .turnStarted] {
            group.addTask { _ = try await client.tasks.receive(signal, in: session) }
          }
          try await group.waitForAll()
        }
        let isBusy = client.device.isLiveBusy(session)
        #expect(await client.engine.read { $0.isBusy(session) } == isBusy)
      }
      await client.close()
    }
  }
}
