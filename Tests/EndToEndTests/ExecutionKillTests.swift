import Foundation
import Synchronization
import Testing

extension EndToEnd {
  /// `kill -9` of daemon, server and agent while a queue drains. `COSPOOL_EXECUTIONS` is the number
  /// of messages (200 in a long run).
  @Suite struct ExecutionKillTests {
    private static let messages =
      ProcessInfo.processInfo.environment["COSPOOL_EXECUTIONS"].flatMap { Int($0) } ?? 24

    @Test func noAttemptStartsTwiceAndNothingIsLost() async throws {
      try await TestBed.run { bed in
        let seed = SeededGenerator.seed(for: "noAttemptStartsTwiceAndNothingIsLost", standard: 1)
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: host)
        try await phone.cospool("config", "set", "maxQueueSize", "1000")
        try await host.synchronise()
        let flag = DoneFlag()
        let sent = try await withThrowingTaskGroup(of: [String].self) { group in
          group.addTask {
            defer { flag.raise() }
            return try await drain(agent, phone, count: Self.messages)
          }
          group.addTask {
            try await kill(agent, host, server, seed: seed, until: flag)
            return []
          }
          return try await group.reduce(into: []) { $0 += $1 }
        }
        let starts = agent.starts()
        var seen: Set<String> = []
        for start in starts {
          let isFirst = seen.insert("\(start.message) \(start.attempt)").inserted
          #expect(isFirst, "\(start) came twice; seed \(seed)")
        }
        #expect(Set(starts.map(\.message)) == Set(sent), "seed \(seed)")
        for id in sent {
          let status = try await phone.message(id).status
          #expect(status == "succeeded", "\(id) is \(status); seed \(seed)")
          #expect(agent.ends().contains(id), "\(id) never ended; seed \(seed)")
        }
        try await bed.agreement(host, phone)
        print("\(sent.count) messages, \(starts.count) starts, seed \(seed)")
      }
    }

    /// Sends, decides about messages that wait for a decision, and waits until all have succeeded.
    private func drain(
      _ agent: ScriptAgent, _ phone: Device, count: Int
    ) async throws -> [String] {
      var sent: [String] = []
      for number in 1...count {
        sent.append(try await phone.send("s", number % 3 == 0 ? "slow \(number)" : "\(number)"))
      }
      let deadline = ContinuousClock.now + .seconds(60 + 10 * count)
      while true {
        let queue = try await phone.queue("s").messages
        if queue.isEmpty { return sent }
        guard ContinuousClock.now < deadline else {
          throw ProcessFailure("\(queue.count) messages still wait, the first: \(queue[0])")
        }
        for message in queue
        where ["failed", "unknown", "interrupted"].contains(message.status) {
          // It may have been decided already.
          _ = try await phone.attempt("queue", "retry", message.id)
        }
      }
    }

    private func kill(
      _ agent: ScriptAgent, _ host: Device, _ server: Server, seed: UInt64, until flag: DoneFlag
    ) async throws {
      var random = SeededGenerator(seed: seed)
      while !flag.isRaised {
        // These delays are part of the fault; they do not replace a wait for something.
        try await Task.sleep(for: .milliseconds(Int.random(in: 500...2_500, using: &random)))
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          try await server.kill()
          try await server.start()
        case 1, 2:
          try await host.kill()
          try await host.start()
        default:
          killProcesses(of: agent)
        }
      }
    }

    /// Only those of this test's agent: other tests run agents at the same time.
    private func killProcesses(of agent: ScriptAgent) {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
        guard let process = pid_t(name),
          let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline"),
          String(decoding: line, as: UTF8.self).contains(agent.path),
          let environment = FileManager.default.contents(atPath: "/proc/\(process)/environ"),
          String(decoding: environment, as: UTF8.self).contains("COSPOOL_MESSAGE=")
        else { continue }
        Foundation.kill(process, SIGKILL)
      }
    }
  }
}

/// The signal that the work is done.
private final class DoneFlag: Sendable {
  private let state = Mutex(false)

  var isRaised: Bool { state.withLock { $0 } }

  func raise() { state.withLock { $0 = true } }
}
