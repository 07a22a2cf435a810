import Foundation
import Testing

extension EndToEnd {
  /// Files of messages with real processes.
  @Suite struct AttachmentSyncTests {
    private static func bytes(_ count: Int, seed: UInt64) -> Data {
      var state = seed
      return Data(
        (0..<count).map { _ in
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return UInt8(truncatingIfNeeded: state >> 33)
        })
    }

    // C-12: the other device fetches the file that this one attached, on request.
    @Test func aFileComesToTheOtherDeviceWhenItIsAskedFor() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let b = try await bed.device("b", of: server)
        let picture = bed.path("picture.png")
        // Larger than a connection may send before its device is known.
        let content = Self.bytes(3_000_000, seed: 7)
        try content.write(to: URL(filePath: picture))
        let id = "11111111-1111-4111-8111-111111111111"
        try await a.cospool("send", "-s", "s", "--id", id, "--attach", picture, "look")
        try await bed.agreement(a, b)
        let list = try await b.cospool("queue", "files", "1111")
        #expect(list.contains("server"), "\(list)")
        #expect(list.contains("picture.png"), "\(list)")
        let fetched = bed.path("fetched.png")
        try await bed.eventually("the file is at the server") {
          try await b.attempt("queue", "fetch", "1111", "picture.png", "-o", fetched).isSuccess
        }
        #expect(try Data(contentsOf: URL(filePath: fetched)) == content)
        // Now it is there without the server.
        try await server.stop()
        try FileManager.default.removeItem(atPath: fetched)
        try await b.cospool("queue", "fetch", "1111", "picture.png", "-o", fetched)
        #expect(try Data(contentsOf: URL(filePath: fetched)) == content)
        let here = try await b.cospool("queue", "files", "1111")
        #expect(here.contains("here"), "\(here)")
      }
    }

    /// A message comes before its files, and its agent gets both.
    @Test func anAgentOfAnotherDeviceGetsTheFiles() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        let command = #"sh -c 'cksum < "$COSPOOL_FILES/picture 1.png"; ls "$COSPOOL_FILES"'"#
        try await host.cospool("config", "set", "command", command)
        try await host.cospool("config", "set", "agent", "command")
        try await host.cospool("session", "add", "s")
        try await host.cospool("session", "host", "s", "this")
        try await bed.agreement(host, phone)
        let (picture, notes) = (bed.path("picture 1.png"), bed.path("notes.txt"))
        let content = Self.bytes(3_000_000, seed: 8)
        try content.write(to: URL(filePath: picture))
        try Data("notes".utf8).write(to: URL(filePath: notes))
        let id = "11111111-1111-4111-8111-111111111111"
        try await phone.cospool(
          "send", "-s", "s", "--id", id, "--attach", picture, "--attach", notes, "look")
        try await bed.eventually("it is done", within: 120) {
          try await host.message(id).status == "succeeded"
        }
        let sum = try bed.launch("/usr/bin/cksum", [picture], name: "cksum")
        let expected = try await bed.finish(sum, [picture]).succeeded().standardOutput
          .split(separator: " ").prefix(2).joined(separator: " ")
        let log = try await host.cospool("log", id)
        #expect(log.contains("\(expected)\nnotes.txt\npicture 1.png\n"), "\(log)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: host.data + "/turns") == [])
        #expect(
          try Self.undocumented(in: host.data) == [] && Self.undocumented(in: server.data) == [])
      }
    }

    /// Files of a data directory that INSTALLING.md, "Where the data is", does not name.
    private static func undocumented(in folder: String) throws -> [String] {
      let text = try String(
        contentsOf: Executables.root.appending(path: "Client/INSTALLING.md"), encoding: .utf8)
      let section = try #require(text.split(separator: "\n## ").first { $0.hasPrefix("Where the") })
      return try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
        let bare = name.replacing(#/-(wal|shm)$/#, with: "")
        return !section.contains("`\(bare)`") && !section.contains("`\(bare)/`")
      }
    }

    /// An attacker between device and server, or a faulty server, sends other bytes.
    @Test func aFileThatCameAsAnotherIsNotTaken() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let proxy = try await AckEatingProxy.start(to: server.port)
        let a = try await bed.device("a", of: server)
        bed.atEnd { await proxy.stop() }
        let b = Device(bed, "b")
        try await b.start()
        try await b.pair(url: proxy.url, code: try await server.code())
        let notes = bed.path("notes.txt")
        try Data("four whole words here".utf8).write(to: URL(filePath: notes))
        let id = "11111111-1111-4111-8111-111111111111"
        try await a.cospool("send", "-s", "s", "--id", id, "--attach", notes, "look")
        try await bed.agreement(a, b)
        proxy.forge("four whole words", as: "four wrong words")
        let output = bed.path("out")
        try await bed.eventually("the file is at the server") {
          try await b.attempt("queue", "fetch", "1111", "notes.txt", "-o", output).code != 75
        }
        let refused = try await b.attempt("queue", "fetch", "1111", "notes.txt", "-o", output)
        #expect(refused.code == 6, "\(refused)")
        #expect(refused.standardError.contains("is not that file"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: output))
        let list = try await b.cospool("queue", "files", "1111")
        #expect(list.contains("server"), "it is not kept: \(list)")
        proxy.forge("four whole words", as: "four whole words")
        try await b.cospool("queue", "fetch", "1111", "notes.txt", "-o", output)
        let fetched = try Data(contentsOf: URL(filePath: output))
        #expect(try fetched == Data(contentsOf: URL(filePath: notes)))
      }
    }

    @Test func aFileThatIsDamagedAtTheServerIsNotTaken() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let b = try await bed.device("b", of: server)
        let notes = bed.path("notes.txt")
        try Data("notes".utf8).write(to: URL(filePath: notes))
        let id = "11111111-1111-4111-8111-111111111111"
        try await a.cospool("send", "-s", "s", "--id", id, "look")
        try await a.cospool("queue", "attach", "1111", notes)
        try await bed.agreement(a, b)
        let blobs = server.data + "/blobs"
        try await bed.eventually("the file is at the server") {
          let workspaces = (try? FileManager.default.contentsOfDirectory(atPath: blobs)) ?? []
          guard let workspace = workspaces.first else { return false }
          let files = try FileManager.default.contentsOfDirectory(
            atPath: blobs + "/" + workspace)
          guard let file = files.first, !file.hasSuffix(".new") else { return false }
          try Data("nodes".utf8).write(to: URL(filePath: "\(blobs)/\(workspace)/\(file)"))
          return true
        }
        let output = bed.path("out")
        let refused = try await b.attempt("queue", "fetch", "1111", "notes.txt", "-o", output)
        #expect(refused.code == 75, "who has it whole gives it again: \(refused)")
        #expect(!FileManager.default.fileExists(atPath: output))
      }
    }
  }
}
