import AgentFormats
import Foundation
import Synchronization
import Testing

extension EndToEnd {
  /// A process stands ready beside each daemon and becomes its next agent.
  @Suite struct StarterTests {
    /// Those that wait: they bear the executable's name until they become an agent. With their parents.
    private static func waiting() throws -> [pid_t: pid_t] {
      let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc")
      let found = processes.compactMap { pid_t($0) }.compactMap { id -> (pid_t, pid_t)? in
        let line = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
        guard let stat = line.flatMap(ProcessStat.init), stat.name == "cospool-starter",
          !stat.isZombie
        else { return nil }
        return (id, stat.parent)
      }
      return Dictionary(uniqueKeysWithValues: found)
    }

    private static func one(of daemon: pid_t, besides last: pid_t?, _ bed: TestBed) async throws
      -> pid_t
    {
      let found = Mutex<pid_t?>(nil)
      try await bed.eventually("one stands ready", within: 90) {
        let waiting = try waiting().filter { $0.value == daemon }.keys
        found.withLock { $0 = waiting.first }
        return waiting.count == 1 && waiting.first != last
      }
      return try #require(found.withLock { $0 })
    }

    @Test func whatStandsReadyBecomesTheAgentAndEndsWithTheDaemon() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        try await device.cospool("config", "set", "command", "sh -c 'echo $$'")
        try await device.cospool("config", "set", "agent", "command")
        try await device.cospool("session", "add", "s")
        try await device.cospool("session", "host", "s", "this")
        let daemon = try #require(device.daemon).id

        func send() async throws -> pid_t {
          let message = try await device.send("s", "hello")
          try await bed.eventually("it is done", within: 90) {
            try await device.message(message).status == "succeeded"
          }
          let log = try await device.cospool("log", message)
          return try #require(log.split(separator: "\n").compactMap { pid_t($0) }.last, "\(log)")
        }

        var ready = try await Self.one(of: daemon, besides: nil, bed)
        for _ in 0..<2 {
          let last = ready
          #expect(try await send() == last)
          ready = try await Self.one(of: daemon, besides: last, bed)
        }
        // Whoever ends it costs nobody a message.
        kill(ready, SIGKILL)
        #expect(try await send() != ready)
        let last = try await Self.one(of: daemon, besides: ready, bed)
        try await device.kill()
        try await bed.eventually("it is gone", within: 90) {
          try Self.waiting()[last] == nil
        }
      }
    }
  }
}
