import Foundation
import GRDB
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

extension EndToEnd {
  /// Backups restored on either side, and copies of a device; SPECIFICATION.md, section "Identity".
  @Suite struct RestoreTests {
    @Test func restoredClientDatabaseCatchesUpAndGoesOn() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "in the backup")
        try await bed.agreement(a, b)
        try await a.stop()
        try Files.copyDatabase(from: a.data, to: bed.path("backup"))
        try await a.start()
        try await a.send("s", "after the backup")
        try await bed.agreement(a, b)
        try await a.stop()
        try Files.copyDatabase(from: bed.path("backup"), to: a.data)

        try await a.start()
        try await a.send("s", "after the restore")
        try await bed.agreement(a, b)
        #expect(
          Set(try await b.contents("s"))
            == ["in the backup", "after the backup", "after the restore"])
        #expect(try await a.status().repairs ?? 0 == 0)
        try await expectDistinctOperations(server)
      }
    }

    @Test func unsentWorkOfABackupIsSentOnce() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await bed.agreement(a, b)
        try await a.cospool("sync", "off")
        try await a.send("s", "unsent in the backup")
        try await a.stop()
        try Files.copyDatabase(from: a.data, to: bed.path("backup"))
        try await a.start()
        try await a.cospool("sync", "on")
        try await bed.agreement(a, b)
        try await a.stop()
        try Files.copyDatabase(from: bed.path("backup"), to: a.data)

        try await a.start()
        try await a.cospool("sync", "on")
        try await a.send("s", "after the restore")
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["unsent in the backup", "after the restore"])
        try await expectDistinctOperations(server)
      }
    }

    @Test func aCopiedDataDirectoryIsUsedBesideTheFirst() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "before the clone")
        try await bed.agreement(a, b)
        try await a.stop()
        let clone = Device(bed, "clone")
        try FileManager.default.copyItem(atPath: a.data, toPath: clone.data)
        try await a.start()
        try await clone.start()
        try await a.send("s", "from the original")
        try await clone.send("s", "from the clone")
        try await bed.agreement(a, b, clone)
        #expect(
          Set(try await b.contents("s"))
            == ["before the clone", "from the original", "from the clone"])
        #expect(try await b.contents("s").count == 3)
        try await expectDistinctOperations(server)
      }
    }

    @Test func restoredServerGetsBackWhatItLost() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "in the backup")
        try await bed.agreement(a, b)
        try await server.stop()
        try FileManager.default.copyItem(atPath: server.data, toPath: bed.path("backup"))
        try await server.start()
        try await a.cospool("sync", "now")
        try await b.cospool("sync", "now")
        let kept = try await a.send("s", "a, after the backup")
        try await b.send("s", "b, after the backup")
        try await bed.agreement(a, b)
        try await a.cospool("queue", "edit", kept, "a, edited after the backup")
        try await bed.agreement(a, b)
        // A is offline, so that B must also restore A's operations.
        try await a.stop()
        try await server.stop()
        try FileManager.default.removeItem(atPath: server.data)
        try FileManager.default.copyItem(atPath: bed.path("backup"), toPath: server.data)

        try await server.start()
        try await b.cospool("sync", "now")
        try await b.synchronise()
        let c = try await bed.device("c", of: server)
        try await bed.agreement(b, c)
        #expect(
          Set(try await c.contents("s"))
            == ["in the backup", "a, edited after the backup", "b, after the backup"])
        try await a.start()
        try await a.send("s", "a, later")
        try await bed.agreement(a, b, c)
        #expect(try await c.contents("s").count == 4)
        try await expectDistinctOperations(server)
      }
    }

    /// One device is connected while yesterday's server returns; another is offline with unsent
    /// work, and with data that only it and the lost log had.
    @Test func yesterdaysServerMeetsDevicesThatWereOnlineAndOffline() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        let old = try await a.send("s", "in the backup")
        try await bed.agreement(a, b)
        try await server.stop()
        try FileManager.default.copyItem(atPath: server.data, toPath: bed.path("backup"))
        try await server.start()
        try await a.send("s", "today, before a left")
        try await bed.agreement(a, b)
        try await a.cospool("sync", "off")
        try await a.send("s", "a, offline")
        try await a.cospool("queue", "edit", old, "in the backup, edited offline")
        try await b.send("s", "b, while a is away")
        try await b.synchronise()

        try await server.kill()
        try FileManager.default.removeItem(atPath: server.data)
        try FileManager.default.copyItem(atPath: bed.path("backup"), toPath: server.data)
        try await server.start()
        // A user writes to yesterday's server before any device restores today's data.
        let c = try await bed.device("c", of: server)
        try await c.send("s", "c, new")
        try await b.send("s", "b, after the restore")
        try await bed.agreement(b, c)
        try await a.cospool("sync", "on")
        try await bed.agreement(a, b, c)
        #expect(
          try await c.contents("s").sorted() == [
            "a, offline", "b, after the restore", "b, while a is away", "c, new",
            "in the backup, edited offline", "today, before a left",
          ])
        try await expectDistinctOperations(server)
      }
    }

    @Test func twoServersOfOneBackupWithDevicesThatMoveBetweenThem() async throws {
      try await TestBed.run { bed in
        let one = try await bed.server()
        let (a, b) = (try await bed.device("a", of: one), try await bed.device("b", of: one))
        try await a.send("s", "in the backup")
        try await bed.agreement(a, b)
        let other = Server(bed, data: bed.path("other"), port: one.port)
        try await change(from: one, to: other) {
          try FileManager.default.copyItem(atPath: one.data, toPath: other.data)
        }

        try await a.send("s", "a, on the other")
        try await a.synchronise()
        try await b.cospool("sync", "off")
        try await change(from: other, to: one)
        try await b.cospool("sync", "on")
        try await b.send("s", "b, on the one")
        try await bed.agreement(a, b)
        try await a.send("s", "a, on the one")
        try await bed.agreement(a, b)
        try await change(from: one, to: other)
        try await b.send("s", "b, on the other")
        try await bed.agreement(a, b)
        let c = try await bed.device("c", of: other)
        try await bed.agreement(a, b, c)
        #expect(
          try await c.contents("s").sorted() == [
            "a, on the one", "a, on the other", "b, on the one", "b, on the other",
            "in the backup",
          ])
        try await expectDistinctOperations(other)
        try await expectDistinctOperations(one)
      }
    }

    /// The disk forgets the latest writes although the server had them, as a disk without barriers
    /// does after a power failure.
    @Test func aLostTailOfTheFileAfterAKillComesBack() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "kept")
        try await bed.agreement(a, b)
        // From here on, everything is in the journal.
        try await a.stop()
        try await a.start()
        try await a.send("s", "in the tail, 1")
        let edited = try await a.send("s", "in the tail, 2")
        try await a.cospool("queue", "edit", edited, "in the tail, 2, edited")
        try await bed.agreement(a, b)
        try await a.kill()
        let journal = try FileHandle(forWritingTo: URL(filePath: a.database + "-wal"))
        let size = try journal.seekToEnd()
        #expect(size > 8_192)
        try journal.truncate(atOffset: size / 3)
        try journal.close()

        try await a.start()
        try await a.cospool("sync", "off")
        try await a.send("s", "after the loss")
        try await a.cospool("sync", "on")
        try await bed.agreement(a, b)
        #expect(
          try await b.contents("s").sorted()
            == ["after the loss", "in the tail, 1", "in the tail, 2, edited", "kept"])
        try await expectDistinctOperations(server)
      }
    }

    /// One server's process ends and the other's begins at its address.
    private func change(
      from one: Server, to other: Server, between: () throws -> Void = {}
    ) async throws {
      try await one.stop()
      try between()
      try await other.start()
    }

    @Test func corruptClientDatabaseIsKeptAsideAndSyncedAgain() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "on the server")
        try await b.send("t", "from b")
        try await bed.agreement(a, b)
        try await a.stop()
        try Files.corrupt(a.database)
        let damaged = try Data(contentsOf: URL(filePath: a.database))

        let daemon = try a.launch()
        #expect(try await daemon.ended() == .code(6), "\(daemon.transcript)")
        let kept = try Files.named("cospool.sqlite", in: a.data, holding: damaged)
        #expect(kept.count == 1, "the damaged file is kept")
        #expect(daemon.standardError.contains(kept.first ?? "?"), "\(daemon.transcript)")

        try await a.start()
        try await bed.agreement(a, b)
        #expect(try await a.contents("s") == ["on the server"])
        #expect(try await a.contents("t") == ["from b"])
        try await a.send("s", "works again")
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["on the server", "works again"])
        #expect(try Files.named("cospool.sqlite", in: a.data, holding: damaged) == kept)
      }
    }

    /// Stops the server and examines its log: every operation id is logged once, and each replica's
    /// numbers follow those that the log had of it.
    private func expectDistinctOperations(_ server: Server) async throws {
      try await server.stop()
      let path = "\(server.data)/cospool.sqlite"
      try TestBed.expectIntact(path)
      let entries = try TestBed.database(path) { database in
        try Row.fetchAll(
          database, sql: "SELECT kind, bytes FROM log ORDER BY workspace, position")
      }
      #expect(!entries.isEmpty)
      var logged = VersionVector()
      for entry in entries {
        let bytes = Array(entry["bytes"] as Data)
        guard entry["kind"] == 1 else {
          logged = try PackedSnapshot.unpack(bytes).vector
          continue
        }
        for operation in try PackedDelta.unpack(bytes) {
          let id = operation.id
          #expect(id.seq == logged[id.replica] + 1, "\(id)")
          logged[id.replica] = try #require(operation.range).last
        }
      }
    }
  }
}

/// Copies and damage.
enum Files {
  /// Copies the database with its journal, and nothing else, over the existing one.
  static func copyDatabase(from source: String, to target: String) throws {
    let files = FileManager.default
    try files.createDirectory(atPath: target, withIntermediateDirectories: true)
    for suffix in ["", "-wal", "-shm"] {
      let name = "cospool.sqlite\(suffix)"
      if files.fileExists(atPath: "\(target)/\(name)") {
        try files.removeItem(atPath: "\(target)/\(name)")
      }
      if files.fileExists(atPath: "\(source)/\(name)") {
        try files.copyItem(atPath: "\(source)/\(name)", toPath: "\(target)/\(name)")
      }
    }
  }

  /// Overwrites every page but the first, and removes the journal.
  static func corrupt(_ path: String) throws {
    for suffix in ["-wal", "-shm"] {
      // A daemon that stopped cleanly leaves none.
      try? FileManager.default.removeItem(atPath: path + suffix)
    }
    var bytes = try Data(contentsOf: URL(filePath: path))
    #expect(bytes.count > 8_192)
    for index in 4_096..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
    // In place: a new inode would look like a restored backup.
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    defer { try? file.close() }
    try file.write(contentsOf: bytes)
  }

  /// The files in `folder` whose name starts with `prefix` and whose contents are exactly `bytes`.
  static func named(_ prefix: String, in folder: String, holding bytes: Data) throws -> [String] {
    let walker = FileManager.default.enumerator(atPath: folder)
    return (walker?.compactMap { $0 as? String } ?? [])
      .filter { $0.split(separator: "/").last?.hasPrefix(prefix) == true }
      .filter { (try? Data(contentsOf: URL(filePath: "\(folder)/\($0)"))) == bytes }
  }
}
