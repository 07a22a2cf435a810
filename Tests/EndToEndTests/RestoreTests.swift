import Foundation
import GRDB
import Testing

extension EndToEnd {
  /// Backups brought back on either side, and copies of a device.
  @Suite struct RestoreTests {
    @Test func restoredClientDatabaseTakesANewReplica() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "in the backup")
        try await bed.agreement(a, b)
        let replica = try await a.status().replica
        try await a.stop()
        try Files.copyDatabase(from: a.data, to: bed.path("backup"))
        try await a.start()
        try await a.send("s", "after the backup")
        try await bed.agreement(a, b)
        try await a.stop()
        try Files.copyDatabase(from: bed.path("backup"), to: a.data)

        try await a.start()
        #expect(try await a.status().replica != replica)
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

    @Test func clonedDataDirectoryIsAnotherReplica() async throws {
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
        #expect(try await a.status().replica != clone.status().replica)
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
        // A is away, so that B must bring A's operations back too.
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

    /// Stops the server and looks into its log: every operation id stands there once, and no
    /// replica has a gap.
    private func expectDistinctOperations(_ server: Server) async throws {
      try await server.stop()
      let path = "\(server.data)/cospool.sqlite"
      try TestBed.expectIntact(path)
      let ranges = try TestBed.database(path) { database in
        try Row.fetchAll(
          database,
          sql: """
            SELECT workspace, replica, first_seq, last_seq FROM log_ranges
            ORDER BY workspace, replica, first_seq
            """
        ).map { row -> (replica: [Int64], first: Int64, last: Int64) in
          ([row["workspace"], row["replica"]], row["first_seq"], row["last_seq"])
        }
      }
      #expect(!ranges.isEmpty)
      for (range, next) in zip(ranges, ranges.dropFirst()) where range.replica == next.replica {
        #expect(next.first == range.last + 1)
      }
    }
  }
}

/// Copies and damage.
enum Files {
  /// Copies the database with its journal, and nothing else, over what is there.
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

  /// Overwrites every page but the first, and the journal goes.
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

  /// The files in `folder` whose name starts with `prefix` and that hold exactly `bytes`.
  static func named(_ prefix: String, in folder: String, holding bytes: Data) throws -> [String] {
    let walker = FileManager.default.enumerator(atPath: folder)
    return (walker?.compactMap { $0 as? String } ?? [])
      .filter { $0.split(separator: "/").last?.hasPrefix(prefix) == true }
      .filter { (try? Data(contentsOf: URL(filePath: "\(folder)/\($0)"))) == bytes }
  }
}
