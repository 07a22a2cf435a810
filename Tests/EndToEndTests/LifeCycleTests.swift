import Foundation
import Testing

extension EndToEnd {
  /// Starting and stopping.
  @Suite struct LifeCycleTests {
    @Test func terminationIsClean() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        try await a.send("s", "text")
        try await a.synchronise()
        let dump = try await a.dump()
        // The server stops first: the device gets `goAway` and waits, without an error.
        #expect(try await server.stop() == .code(0))
        try await bed.eventually("a waits for the server") {
          try await a.status().state != "connected"
        }
        #expect(try await a.status().refusalCode == nil)
        try await a.send("s", "offline")
        #expect(try await a.stop() == .code(0))
        #expect(!FileManager.default.fileExists(atPath: "\(a.database)-wal"), "checkpointed")

        try await server.start()
        try await a.start()
        try await a.synchronise()
        #expect(try await a.dump() != dump)
        #expect(try await a.contents("s") == ["text", "offline"])
      }
    }

    /// The logs show the times of each connection, and a night without a server as one line.
    @Test func logsSayWhenAConnectionComesAndGoes() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let daemon = try #require(a.daemon)
        @Sendable func lines(_ words: String) -> Int {
          daemon.standardError.split(separator: "\n").count { $0.contains(words) }
        }
        try await a.synchronise()
        #expect(lines("connected to \(server.url)") == 1, "\(daemon.standardError)")
        #expect(lines("version 0.1.0") == 1)
        #expect(server.process?.standardError.contains("version 0.1.0 serves") == true)
        #expect(try await server.stop() == .code(0))
        for _ in 1...3 { _ = try await a.attempt("sync", "now") }
        try await bed.eventually("it is told") { lines("nothing answers at") > 0 }
        for _ in 1...3 { _ = try await a.attempt("sync", "now") }
        #expect(lines("not connected any more to") == 1, "\(daemon.standardError)")
        try await server.start()
        try await a.synchronise()
        #expect(lines("nothing answers at") == 1, "\(daemon.standardError)")
        #expect(lines("connected to \(server.url)") == 2, "\(daemon.standardError)")
      }
    }

    @Test func interruptionIsCleanToo() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let daemon = try #require(a.daemon)
        daemon.send(SIGINT)
        #expect(try await daemon.ended() == .code(0))
        let process = try #require(server.process)
        process.send(SIGINT)
        #expect(try await process.ended() == .code(0))
      }
    }

    @Test func oneDaemonPerStore() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        try await a.send("s", "text")
        let second = Device(bed, "second", data: a.data)
        let process = try second.launch()
        let exit = try await process.ended()
        #expect([.code(1), .code(5), .code(75)].contains(exit), "\(process.transcript)")
        #expect(process.standardError.contains(a.data), "\(process.transcript)")
        #expect(try await a.contents("s") == ["text"], "the first one goes on")
        // A killed daemon's lock does not survive it.
        try await a.kill()
        try await second.start()
        #expect(try await second.contents("s") == ["text"])
      }
    }

    @Test func oneServerPerDataDirectory() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let second = try bed.start(
          "cospool-server", ["serve", "--data", server.data, "--host", "127.0.0.1", "--port", "0"])
        let exit = try await second.ended()
        #expect([.code(1), .code(5), .code(75)].contains(exit), "\(second.transcript)")
        let a = try await bed.device("a", of: server)
        try await a.synchronise()
      }
    }

    @Test func dataDirectoriesArePrivate() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let file = try FileManager.default.attributesOfItem(atPath: a.credentials)
        #expect(file[.posixPermissions] as? Int == 0o600)
        for folder in [a.data, server.data] {
          let attributes = try FileManager.default.attributesOfItem(atPath: folder)
          #expect((attributes[.posixPermissions] as? Int ?? 0) & 0o077 == 0, "\(folder)")
        }
        // From the moment when a file is made, and in a shared directory. A daemon names the modes
        // itself: its agents have the mask of the user who started it.
        let process = try #require(server.process)
        let status = try String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8)
        #expect(status.contains("Umask:\t0077"), "\(process.name)")
      }
    }
  }
}
