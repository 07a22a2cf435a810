import Foundation
import Testing

extension EndToEnd {
  /// Two devices change the same queues while neither has a connection.
  @Suite struct OfflineMergeTests {
    @Test func conflictingOfflineEditsMerge() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        let test = try await a.send("login-page", "Write the test")
        let fix = try await a.send("login-page", "Make it pass")
        let note = try await a.send("login-page", "Update the changelog")
        try await a.send("search-api", "Profile the query")
        try await bed.agreement(a, b)

        try await a.cospool("sync", "off")
        try await b.cospool("sync", "off")
        try await a.cospool("queue", "edit", test, "Write the failing test")
        try await b.cospool("queue", "edit", test, "Write the test and the fixture")
        try await a.cospool("queue", "move", note, "--to", "1")
        try await b.cospool("queue", "move", note, "--to", "2")
        try await a.cospool("queue", "cancel", fix)
        try await b.cospool("queue", "edit", fix, "Make it pass, then tidy up")
        let added = try await a.send("search-api", "Add an index")
        let other = try await b.send("search-api", "Measure first")
        try await a.cospool("thread", "move", "search-api", "--to", "1")
        try await b.cospool("thread", "move", "login-page", "--to", "2")
        #expect(try await a.dump() != b.dump())
        // Each message that is only on this device is marked.
        let waiting = try await a.cospool("queue", "list", "-s", "search-api")
        #expect(waiting.contains("[on this device only] Add an index"), "\(waiting)")
        #expect(!waiting.contains("[on this device only] Profile the query"), "\(waiting)")
        let one = try await a.cospool("queue", "show", added)
        #expect(one.contains("on this device only"), "\(one)")

        try await a.cospool("sync", "on")
        try await b.cospool("sync", "on")
        try await bed.agreement(a, b)

        let login = try await a.queue("login-page").messages
        #expect(Set(login.map(\.id)) == [test, note])
        #expect(
          login.first { $0.id == test }?.content == "Write the failing test and the fixture")
        let arrived = try await a.cospool("queue", "list", "-s", "search-api")
        #expect(!arrived.contains("on this device only"), "\(arrived)")
        let search = try await b.queue("search-api").messages.map(\.id)
        #expect(search.count == 3)
        #expect(Set(search).isSuperset(of: [added, other]))
        #expect(try await b.threads().threads.map(\.position) == [1, 2])
        // The edit of the withdrawn prompt was kept, and shows when it is restored.
        try await a.cospool("queue", "restore", fix)
        let restored = try await a.queue("login-page").messages
        #expect(restored.first { $0.id == fix }?.content == "Make it pass, then tidy up")
      }
    }

    @Test func devicesWorkBeforeTheyArePaired() async throws {
      try await TestBed.run { bed in
        let (a, b) = (Device(bed, "a"), Device(bed, "b"))
        try await a.start()
        try await b.start()
        try await a.send("s", "queued by a")
        try await b.send("s", "queued by b")
        let server = try await bed.server()
        try await a.pair(with: server)
        try await b.pair(with: server)
        try await bed.agreement(a, b)
        #expect(Set(try await a.contents("s")) == ["queued by a", "queued by b"])
      }
    }

    @Test func changesReachAConnectedDeviceByThemselves() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "seen at once")
        try await bed.eventually("b shows what a sent", within: 60) {
          try await b.attempt("queue", "list", "-s", "s").standardOutput.contains("seen at once")
        }
      }
    }
  }
}
