import ClientCore
import QueueModel
import SyncTestSupport
import Testing

@testable import SyncClient

/// Handlers, services and apps in parallel, in orders that seeds draw. `COSPOOL_SEEDS` runs more of
/// them.
@Suite(.timeLimit(.minutes(10))) struct SeededTurnTests {
  private static let sessions = ["a", "b"].compactMap { try? SessionID($0) }

  /// Sets values of a device and its sessions in three tasks, several times each. Returns the
  /// differences in the end between the set values and the effective ones.
  ///
  /// - Parameter apply: gives the settings of a number to a client.
  private func disagreements(
    seed: UInt64, _ apply: @escaping @Sendable (QueueClient, DeviceSettings) async throws -> Void
  ) async throws -> [String] {
    var found: [String] = []
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open(turns: SeededTurns(seed: seed))
      for session in Self.sessions {
        try await client.perform(.addSession(session, name: nil, project: nil))
      }
      let orders = try await client.execution.start()
      try await withTaskExecutorPreference(client.engine.queue) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<8 {
            let session = Self.sessions[number % 2]
            group.addTask {
              try await apply(client, SettingsTurnTests.settings(Int(seed) + number))
            }
            group.addTask {
              let host = number / 2 % 2 == 0 ? client.deviceID : nil
              try await client.execution.setHost(of: session, to: host)
            }
            group.addTask {
              let kind = [nil, AgentKind.hooks, AgentKind.codex][number % 3]
              try await client.execution.setAgentKind(kind, of: session)
            }
          }
          try await group.waitForAll()
        }
      }
      let (held, choices) = await client.engine.read { ($0.executionSettings, $0.sessionChoices) }
      if held != client.settings.execution { found.append("settings") }
      await client.close()
      let again = try await fixture.open()
      if await again.engine.read({ $0.sessionChoices }) != choices { found.append("choices") }
      withExtendedLifetime(orders) {}
      await again.close()
    }
    return found
  }

  @Test(arguments: TestSeeds.list(standard: 12))
  func settingsApplyInEveryOrder(seed: UInt64) async throws {
    #expect(
      try await disagreements(seed: seed) { client, settings in client.apply(settings) } == [],
      "COSPOOL_SEED=\(seed)")
  }

  /// The planted bug: settings are read in one turn and passed to the executor in a later one.
  @Test func settingsThatAreGivenLaterAreFound() async throws {
    for seed in TestSeeds.list(standard: 300) {
      let found = try await disagreements(seed: seed) { client, settings in
        client.apply(settings)
        let execution = client.settings.execution
        await Task.yield()
        await client.engine.note { core, context, store in
          core.executionSettingsChanged(execution, at: context, store: store)
        }
      }
      if !found.isEmpty { return }
    }
    Issue.record("no seed finds it")
  }
}
