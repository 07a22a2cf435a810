import Foundation
import Testing

extension EndToEnd {
  /// A server that moves, and devices that follow it, or leave it.
  @Suite struct MoveTests {
    @Test func aDeviceFollowsAServerToAnotherAddress() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "before the move")
        try await bed.agreement(a, b)
        try await server.stop()
        try await a.send("s", "while nobody is there")
        let early = try await a.attempt("server", "move", "ws://127.0.0.1:1")
        #expect(early.code == 4, "\(early)")

        let moved = Server(bed, data: server.data)
        try await moved.start()
        #expect(moved.port != server.port)
        let said = try await a.cospool("server", "move", moved.url)
        #expect(said == "follows \(moved.url), workspace default\n")
        try await b.cospool("server", "move", moved.url + "/")
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["before the move", "while nobody is there"])
        let devices = try await moved.command(["devices", "--json"]).succeeded()
        #expect(devices.standardOutput.components(separatedBy: "\"id\"").count == 3)

        // Also after a restart.
        try await a.stop()
        try await a.start()
        try await a.send("s", "after a restart")
        try await bed.agreement(a, b)
      }
    }

    /// A server without a backup, whose database is gone.
    @Test func aLostServerHasAllBackFromItsDevices() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "before")
        try await bed.agreement(a, b)
        struct List: Decodable {
          struct Workspace: Decodable { var id: String }
          var workspaces: [Workspace]
        }
        let list: List = try await server.command(["workspace", "list", "--json"]).succeeded()
          .decoded()
        let id = try #require(list.workspaces.first?.id)
        try await server.stop()
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: server.data)
        where name.hasPrefix("cospool.sqlite") {
          try files.removeItem(atPath: "\(server.data)/\(name)")
        }
        try await b.send("s", "while it was gone")
        try await server.start()
        let other = try await a.attempt("pair", server.url, try await server.code())
        #expect(other.code == 1 && other.standardError.contains("--workspace-id \(id)"), "\(other)")
        for device in [a, b] {
          let grant: Server.PairingCode = try await server.command(
            ["pair", "--workspace", "team", "--workspace-id", id, "--json"]
          ).succeeded().decoded()
          try await device.cospool("pair", server.url, grant.code)
        }
        try await bed.agreement(a, b)
        #expect(try await a.contents("s") == ["before", "while it was gone"])
      }
    }

    @Test func anotherServerIsNotTheOneThatMoved() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let stranger = Server(bed, data: bed.path("stranger"))
        try await stranger.start()
        _ = try await stranger.code()
        let before = try String(contentsOfFile: a.credentials, encoding: .utf8)
        let refused = try await a.attempt("server", "move", stranger.url)
        #expect(refused.code == 3, "\(refused)")
        let exposed = try await a.attempt("server", "move", "ws://cospool.example.org")
        #expect(exposed.code == 2 && exposed.standardError.contains("not encrypted"))
        #expect(try String(contentsOfFile: a.credentials, encoding: .utf8) == before)
        try await a.send("s", "goes on")
        try await a.synchronise()
        let paired = try await a.attempt("pair", stranger.url, try await stranger.code())
        #expect(paired.code == 1 && paired.standardError.contains("cospool server move"))
      }
    }

    /// One of two workspaces moves to another machine, as OPERATIONS.md describes.
    @Test func aWorkspaceGoesToAnotherServerWithItsFiles() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server, workspace: "team")
        let b = try await bed.device("b", of: server, workspace: "team")
        let other = try await bed.device("other", of: server, workspace: "other")
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        for name in ["early", "late"] { try content.write(to: URL(filePath: bed.path(name))) }
        try await a.cospool("send", "-s", "s", "--attach", bed.path("early"), "look")
        try await bed.agreement(a, b)
        try await other.send("s", "of the other workspace")
        try await other.synchronise()
        let folder = bed.path("backups")
        try await bed.eventually("the backup has the file") {
          let made = try await server.command(["backup", "create", "--folder", folder])
          return made.standardOutput.contains("1 attachment")
        }
        let moved = Server(bed, data: bed.path("moved"))
        _ = try await moved.command(["backup", "restore", "--folder", folder]).succeeded()
        _ = try await moved.command(["workspace", "delete", "other", "--yes"]).succeeded()
        try await moved.start()

        // The devices send the changes made meanwhile.
        try await a.cospool("send", "-s", "s", "--attach", bed.path("late"), "meanwhile")
        try await bed.agreement(a, b)
        for device in [a, b] { try await device.cospool("server", "move", moved.url) }
        _ = try await server.command(["workspace", "delete", "team", "--yes"]).succeeded()
        try await b.send("s", "there")
        try await bed.agreement(a, b)
        try await a.send("s", "and back")
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["look", "meanwhile", "there", "and back"])
        for (message, name) in zip(try await b.queue("s").messages, ["early", "late"]) {
          let fetched = bed.path("fetched " + name)
          try await bed.eventually("\(name) is there") {
            try await b.attempt("queue", "fetch", message.id, name, "-o", fetched).isSuccess
          }
          #expect(try Data(contentsOf: URL(filePath: fetched)) == content)
        }
        let log = try await b.cospool("log")
        #expect(log.contains("look") && log.contains("there"), "\(log)")
        try await other.cospool("sync", "now")
        try await other.synchronise()
        for (of, name) in [(server, "other"), (moved, "team")] {
          let listed = try await of.command(["workspace", "list"]).succeeded().standardOutput
          #expect(listed.hasPrefix("\(name): ") && listed.split(separator: "\n").count == 1)
        }
      }
    }

    @Test func anUnpairedDeviceKeepsItsQueuesAndComesBack() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "paired")
        try await bed.agreement(a, b)
        try await a.cospool("unpair")
        #expect(try await a.status().state == "notPaired")
        #expect(!FileManager.default.fileExists(atPath: a.credentials))
        try await a.send("s", "alone")
        #expect(try await a.contents("s") == ["paired", "alone"])
        #expect(try await a.attempt("unpair").code == 1)
        try await a.stop()
        try await a.start()

        // Its queues belong to a workspace, and cannot get into another one.
        let other = try await a.attempt(
          "pair", server.url, try await server.code(workspace: "other"))
        #expect(other.code == 1, "\(other)")
        #expect(other.standardError.contains("belong to another one"), "\(other)")
        try await server.stop()
        let moved = Server(bed, data: server.data)
        try await moved.start()
        try await a.pair(with: moved)
        try await b.cospool("server", "move", moved.url)
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["paired", "alone"])
      }
    }
  }
}
