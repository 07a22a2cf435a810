import Foundation
import GRDB
import Testing

extension EndToEnd {
  /// Compaction with real processes: `cospool-server compact`, and devices that were away.
  @Suite struct CompactionTests {
    /// `cospool-server compact --json`, and an element of `status --json`.
    private struct Log: Decodable {
      var epoch: UInt64
      var logEntries: Int
      var logOperations: Int
      var deadUnits: Int
      var totalUnits: Int
      var waitsForCompaction: Bool
    }

    private struct LogList: Decodable {
      var workspaces: [Log]
    }

    private func churn(_ device: Device, _ message: String) async throws {
      for round in 0..<3 {
        try await device.cospool("queue", "edit", message, "Draft number \(round) of the text")
        try await device.cospool("queue", "move", message, "--to", "1")
        try await device.cospool("queue", "move", message, "--to", "2")
      }
    }

    private func status(_ server: Server) async throws -> Log {
      let list: LogList = try await server.command(["status", "--json"]).succeeded().decoded()
      return try #require(list.workspaces.first)
    }

    @Test func deviceThatWasAwayBringsItsWorkOnceAndTheLogsShrink() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        let first = try await a.send("api", "The first prompt")
        let second = try await a.send("api", "The second prompt")
        try await churn(a, first)
        try await bed.agreement(a, b)

        try await b.cospool("sync", "off")
        // These name slots and characters that the base will not have.
        try await b.cospool("queue", "edit", first, "Draft number 2 of the text, from b")
        let added = try await b.send("api", "Added while away")
        try await b.cospool("queue", "move", second, "--to", "1")
        try await churn(a, first)
        try await a.synchronise()

        let before = try await status(server)
        #expect(before.epoch == 0 && before.logEntries > 10 && before.deadUnits > 10)
        let compacted: Log = try await server.command(["compact", "--now", "--json"])
          .succeeded().decoded()
        #expect(compacted.epoch == 1 && compacted.logEntries == 0 && compacted.deadUnits == 0)
        #expect(!compacted.waitsForCompaction)

        // The connected device took the base over by itself; the other one does when it is back.
        try await a.send("api", "Queued in the new epoch")
        try await b.cospool("sync", "on")
        try await bed.agreement(a, b)
        let contents = try await a.contents("api")
        #expect(contents.count == 4)
        #expect(contents.filter { $0 == "Added while away" }.count == 1)
        #expect(contents.contains { $0.contains("from b") })
        #expect(try await a.queue("api").messages.map(\.id).contains(added))
        #expect(try await status(server).epoch == 1)

        // Once everybody has seen everything, no force is needed.
        let again: Log = try await server.command(["compact", "--json"]).succeeded().decoded()
        #expect(again.epoch == 2 && again.logEntries == 0)
        try await bed.agreement(a, b)
        for device in [a, b] { try await device.stop() }
        for device in [a, b] {
          let entries = try TestBed.database(device.database) {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM entries")
          }
          #expect(entries == 0, "\(device.name)")
          try TestBed.expectIntact(device.database)
        }
      }
    }

    @Test func compactionWithoutAServerProcessAndAKilledOne() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let first = try await a.send("api", "A prompt")
        try await a.send("api", "Another prompt")
        try await churn(a, first)
        try await a.synchronise()
        let dump = try await a.dump()
        try await server.kill()
        let compacted: Log = try await server.command(["compact", "--now", "--json"])
          .succeeded().decoded()
        #expect(compacted.epoch == 1 && compacted.logOperations == 0)
        try await server.start()
        try await a.synchronise()
        #expect(try await a.dump() == dump)
        let b = try await bed.device("b", of: server)
        try await bed.agreement(a, b)
        let missing = try await server.command(["compact", "nobody"])
        #expect(missing.code == 1)
      }
    }
  }
}
