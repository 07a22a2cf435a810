import Foundation
import Synchronization
import Testing

@testable import SyncCommand

/// The questions of `cospool setup` at a terminal. EndToEndTests runs all of it with real
/// processes.
@Suite(.timeLimit(.minutes(5))) struct SetupAskingTests {
  private final class Person: Sendable {
    let answers: Mutex<[String]>
    let asked = Mutex<[String]>([])
    let lines = Mutex<[String]>([])

    init(_ answers: [String]) { self.answers = Mutex(answers) }
  }

  private func setup(
    _ fixture: CommandFixture, _ person: Person, _ arguments: String...
  ) async -> CommandRunner.Outcome {
    var environment = Environment(
      variables: ["COSPOOL_DATA": fixture.directory, "PATH": fixture.directory],
      input: StandardInput { [] }, style: .plain, watching: .none)
    environment.doctorLimits = .unhurried
    environment.tell = { line in person.lines.withLock { $0.append(line) } }
    environment.ask = { text in
      person.asked.withLock { $0.append(text) }
      return person.answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
    return await CommandRunner(environment: environment).run(["setup"] + arguments)
  }

  @Test func addressAndCodeAreAskedFor() async throws {
    try await CommandFixture.run { fixture in
      let person = Person(["ws://127.0.0.1:1", "BCDF-GHJK"])
      let outcome = await setup(fixture, person)
      #expect(outcome.exitCode == 1, "\(outcome)")
      #expect(person.asked.withLock { $0.count } == 2)
      let lines = person.lines.withLock { $0 }
      #expect(lines.first?.hasPrefix("init      created") == true)
      #expect(lines.contains { $0.hasPrefix("daemon    process") }, "\(lines)")
      #expect(lines.contains { $0.hasPrefix("pair      failed: ") }, "\(lines)")
    }
  }

  @Test func aWrongAddressIsRefusedAtOnce() async throws {
    try await CommandFixture.run { fixture in
      let person = Person(["127.0.0.1:17420", "http://host", ""])
      #expect(await setup(fixture, person).exitCode == 0)
      let asked = person.asked.withLock { $0 }
      #expect(asked.count == 3 && asked.allSatisfy { $0.hasPrefix("Server") }, "\(asked)")
      let lines = person.lines.withLock { $0 }
      #expect(
        lines.contains { $0.hasPrefix("127.0.0.1:17420 is not a server's address") }, "\(lines)")
      let named = await setup(fixture, Person([]), "--server", "host:1", "--code", "BCDF-GHJK")
      #expect(named.exitCode == 2 && named.errors.contains("--server: host:1 is not"), "\(named)")
    }
  }

  @Test func itSaysWhereCodesComeFrom() async throws {
    try await CommandFixture.run { fixture in
      let person = Person(["wss://host", ""])
      _ = await setup(fixture, person)
      #expect(person.asked.withLock { $0.last }?.contains("cospool-server pair prints one") == true)
    }
  }

  @Test func setupWithoutAServerDoesNotPair() async throws {
    try await CommandFixture.run { fixture in
      for answers in [[""], [], ["wss://host", ""]] {
        let person = Person(answers)
        let outcome = await setup(fixture, person)
        #expect(outcome.exitCode == 0, "\(outcome)")
        #expect(person.lines.withLock { $0 }.contains { $0.contains("cospool pair URL CODE") })
      }
      let silent = Person(["ws://127.0.0.1:1", "BCDF-GHJK"])
      #expect(await setup(fixture, silent, "--yes").exitCode == 0)
      #expect(silent.asked.withLock { $0.isEmpty })
    }
  }
}
