import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// `kill -9` at random moments: a completed command takes effect once, on every device.
  @Suite struct KillTests {
    // S1-28.
    @Test func answeredCommandsSurviveKills() async throws {
      try await TestBed.run { bed in
        let seed = SeededGenerator.seed(for: "answeredCommandsSurviveKills")
        var random = SeededGenerator(seed: seed)
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        let counter = CommandCounter()
        let authors = [a, b].map {
          Author(device: $0, bed: bed, counter: counter, seed: random.next())
        }
        let killer = Killer(server: server, devices: [a, b], seed: random.next())
        let ledger = try await withThrowingTaskGroup(of: [Expected].self) { group in
          for author in authors { group.addTask { try await author.run(commands: 100) } }
          group.addTask {
            try await killer.run(after: counter)
            return []
          }
          return try await group.reduce(into: []) { $0 += $1 }
        }
        for device in [a, b] { try await device.cospool("sync", "now") }
        try await bed.agreement(a, b)
        try await check(ledger, on: a, seed: seed)
        let answered = ledger.count { $0.isAnswered }
        print("\(counter.count) commands, \(answered) prompts, \(killer.kills) kills")
        #expect(counter.count == 200)
        #expect(killer.kills >= 10)
        #expect(answered >= 40)
        try await a.stop()
        try await b.stop()
        try await server.stop()
        for path in [a.database, b.database, "\(server.data)/cospool.sqlite"] {
          try TestBed.expectIntact(path)
        }
      }
    }

    private func check(_ ledger: [Expected], on device: Device, seed: UInt64) async throws {
      var found: [String: [QueueList.Message]] = [:]
      for session in Set(ledger.map(\.session)).sorted() {
        let queue = try await device.attempt("queue", "list", "-s", session, "--json")
        // A session whose only prompt was never completed may not exist.
        guard queue.isSuccess else { continue }
        let list = try #require(try queue.decoded(QueueLists.self).queues.first)
        #expect(
          list.messages.map(\.position)
            == Array(1...max(1, list.messages.count)).prefix(list.messages.count).map { $0 })
        for message in list.messages { found[message.id, default: []].append(message) }
      }
      for entry in ledger {
        let copies = found[entry.id] ?? []
        #expect(copies.count <= 1, "\(entry) is there \(copies.count) times; seed \(seed)")
        if entry.isAnswered, entry.cancellation == .none {
          #expect(copies.count == 1, "\(entry) is lost; seed \(seed)")
        }
        if entry.cancellation == .answered {
          #expect(copies.isEmpty, "\(entry) was cancelled; seed \(seed)")
        }
        if let copy = copies.first {
          #expect(entry.contents.contains(copy.content), "\(entry) holds \(copy); seed \(seed)")
        }
      }
      let known = Set(ledger.map(\.id))
      for id in found.keys {
        #expect(known.contains(id), "\(id) was never sent; seed \(seed)")
      }
    }
  }
}

/// What must be true for one prompt at the end.
struct Expected: Sendable {
  enum Cancellation { case none, unanswered, answered }

  var id: String
  var session: String
  /// Its possible contents: more than one if an edit was not completed.
  var contents: Set<String>
  var isAnswered = false
  var cancellation = Cancellation.none
}
