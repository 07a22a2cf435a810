import Foundation
import Synchronization
import Testing

extension EndToEnd {
  /// Backups of a running server, and what happens to the devices after a restore.
  @Suite struct BackupFlowTests {
    /// The server's acknowledgements so far, by text.
    private final class Acknowledged: Sendable {
      private let texts = Mutex<Set<String>>([])
      var all: Set<String> { texts.withLock { $0 } }
      func add(_ more: [String]) { texts.withLock { $0.formUnion(more) } }
    }

    private static let batches = 6
    private static let batchSize = 4

    /// Sends in batches, and records each when the server has it on its disk.
    private static func write(_ device: Device, _ acknowledged: Acknowledged) async throws {
      for batch in 0..<batches {
        let texts = (0..<batchSize).map { "\(device.name) \(batch) \($0)" }
        // A session accepts ten waiting messages.
        for text in texts { try await device.send("s\(batch)", text) }
        try await device.synchronise()
        acknowledged.add(texts)
      }
    }

    /// The waiting messages in the sessions of `write`.
    private static func texts(on device: Device) async throws -> [String] {
      var texts: [String] = []
      for batch in 0..<batches {
        // A backup may be older than the session.
        let listed = try await device.attempt("queue", "list", "-s", "s\(batch)", "--json")
        if listed.isSuccess {
          texts += try listed.decoded(QueueLists.self).queues.flatMap(\.messages).map(\.content)
        }
      }
      return texts
    }

    @Test func aBackupTakenUnderLoadLosesNothingAcknowledgedAndDevicesBringTheRest() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        let picture = bed.path("picture")
        try Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) }).write(
          to: URL(filePath: picture))
        try await a.cospool("send", "-s", "files", "--attach", picture, "look")
        try await bed.agreement(a, b)
        let folder = bed.path("backups")
        let acknowledged = Acknowledged()
        let before = try await withThrowingTaskGroup(of: Void.self) { group in
          for device in [a, b] { group.addTask { try await Self.write(device, acknowledged) } }
          var before: Set<String> = []
          for count in 1...3 {
            try await bed.eventually("batches came", within: 60) {
              acknowledged.all.count >= count * Self.batchSize
            }
            before = acknowledged.all
            _ = try await server.command(["backup", "create", "--folder", folder]).succeeded()
          }
          try await group.waitForAll()
          return before
        }
        #expect(before.count >= 3 * Self.batchSize)
        let verified = try await server.command(["backup", "verify"]).succeeded()
        #expect(verified.standardOutput.contains("is complete"))
        let listed = try await server.command(["backup", "list"]).succeeded()
        #expect(listed.standardOutput.contains("1 attachment\n"))

        // Only a new device sees exactly what the backup contained.
        for device in [a, b] { try await device.kill() }
        let refused = try await server.command(["backup", "restore"])
        #expect(refused.code == 1 && refused.standardError.contains("serves"), "\(refused)")
        try await server.kill()
        let restored = Server(bed, data: bed.path("restored"), port: server.port)
        let said = try await restored.command(["backup", "restore", "--folder", folder]).succeeded()
        #expect(said.standardOutput.contains("Start the server."))
        try await restored.start()
        let c = try await bed.device("c", of: restored)
        try await c.synchronise()
        let back = Set(try await Self.texts(on: c))
        #expect(back.isSuperset(of: before), "\(before.subtracting(back))")

        for device in [a, b] { try await device.start() }
        try await bed.agreement(a, b, c)
        let all = ["a", "b"].flatMap { name in
          (0..<Self.batches).flatMap { batch in
            (0..<Self.batchSize).map { "\(name) \(batch) \($0)" }
          }
        }
        #expect(try await Self.texts(on: c).sorted() == all.sorted())
        try await restored.stop()
        try TestBed.expectIntact("\(restored.data)/cospool.sqlite")
      }
    }

    @Test func existingBackupsAreKeptAndTheDoctorSeesThem() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        try await a.send("s", "in the backup")
        try await a.synchronise()
        let folder = bed.path("backups")
        _ = try await server.command(["backup", "create", "--folder", folder]).succeeded()

        let report = try await server.command(["doctor", "--json"])
        #expect(report.standardOutput.contains(#""code":"backupAge""#), "\(report)")
        #expect(report.standardOutput.contains(#""code":"serverHealth","severity":"ok""#))
        try await server.stop()
        let stopped = try await server.command(["doctor"])
        #expect(stopped.code == 1 && stopped.standardOutput.contains("no server runs"))
        _ = try await server.command(["backup", "restore"]).succeeded()
        let kept = try FileManager.default.contentsOfDirectory(atPath: server.data)
          .filter { $0.hasPrefix("before-restore-") }
        #expect(kept.count == 1)
        try await server.start()
        try await a.cospool("sync", "now")
        try await a.synchronise()

        // Damage of a backup by the disk is found.
        let made = try #require(
          try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix("Z") })
        let file = try FileHandle(
          forWritingTo: URL(filePath: "\(folder)/\(made)/cospool.sqlite"))
        try file.seek(toOffset: 4_096)
        try file.write(contentsOf: Data("damage".utf8))
        try file.close()
        #expect(try await server.command(["backup", "verify"]).code == 6)
      }
    }

    private static let account: UInt32 = 65_534

    /// The data of a server that ran.
    private static func begin(_ data: String, in bed: TestBed) async throws {
      let server = Server(bed, data: data)
      try await server.start()
      try await server.stop()
    }

    /// Gives a data directory to the account, which can reach it.
    private static func give(_ data: String, in bed: TestBed) throws {
      #expect(chmod(bed.directory, 0o755) == 0 && chown(data, account, account) == 0)
      for name in try FileManager.default.contentsOfDirectory(atPath: data) {
        #expect(chown("\(data)/\(name)", account, account) == 0)
      }
    }

    /// The data belongs to an account that may be broken into: root runs nothing from it, and that
    /// account can read root's files.
    @Test func rootMakesBackupsAsTheAccountOfTheData() async throws {
      guard geteuid() == 0 else { return }
      try await TestBed.run { bed in
        let (data, account) = (bed.path("data"), Self.account)
        func run(_ words: String...) async throws -> Output {
          try await bed.run("cospool-server", words + ["--data", data])
        }
        try await Self.begin(data, in: bed)
        try Self.give(data, in: bed)
        let folder = bed.path("backups")
        #expect(mkdir(folder, 0o700) == 0)
        // Root creates nothing for an account that another user may control: the error names what
        // root has to do.
        let refused = try await run("backup", "create", "--folder", folder)
        #expect(refused.code == 7 && refused.standardError.contains("chown"), "\(refused)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        #expect(chown(folder, account, account) == 0)
        let made = try await run(
          "backup", "create", "--folder", folder, "--then", "id -u; echo $HOME")
        #expect(made.isSuccess && made.standardError.hasPrefix("\(account)\n"), "\(made)")
        #expect(!made.standardError.contains("/root"), "\(made)")
        for path in [folder, folder + "/backup.lock", data + "/backup.json"] {
          var status = stat()
          #expect(stat(path, &status) == 0 && status.st_uid == account, "\(path)")
        }
        #expect(try await run("backup", "list").standardOutput.contains("0 attachments"))
        let report = try await run("doctor", "--json")
        #expect(report.standardOutput.contains(#""code":"backupAge""#), "\(report)")
        #expect(try await run("backup", "restore").isSuccess)
      }
    }

    /// Prints the terminal that a shell has by each of its names, and the names of its initial
    /// variables.
    private static let terminalProbe = #"""
      read pid name state parent group session terminal rest </proc/$$/stat; \
      echo "alone $((session == pid)) terminal $terminal"; tty; \
      (: </dev/tty) 2>/dev/null && echo reached; (: <&7) 2>/dev/null && echo inherited; printf "\033[2J\n"; \
      tr "\0" "\n" </proc/$$/environ | cut -d= -f1 | sort | tr "\n" " "
      """#

    /// Root makes a backup by hand, on a terminal: neither the data nor programs of their account
    /// reach the terminal.
    @Test func theCommandAfterABackupHasNotRootsTerminal() async throws {
      try await TestBed.run { bed in
        let (data, ran) = (bed.path("data"), bed.path("data/ran"))
        try await Self.begin(data, in: bed)
        let folder = bed.path("backups")
        #expect(mkdir(folder, 0o700) == 0)
        let settings = """
          {"calendar":"daily","folder":"/nowhere","command":"touch \(ran)"}
          """
        try Data(settings.utf8).write(to: URL(filePath: data + "/backup.json"))
        if geteuid() == 0 {
          try Self.give(data, in: bed)
          #expect(chown(folder, Self.account, Self.account) == 0)
        }
        func onTerminal(_ words: String...) async throws -> String {
          let all = [try Executables.path(of: "cospool-server"), "backup", "create"] + words
          let line = (all + ["--folder", folder, "--data", data]).map { "'\($0)'" }
          let process = try bed.launch(
            "/usr/bin/script",
            ["-qefc", "exec 7</dev/null; " + line.joined(separator: " "), "/dev/null"],
            name: "terminal", environment: ["SECRET_OF_ROOT": "s3cr3t"])
          let output = try await bed.finish(process, words).succeeded()
          return output.standardOutput.replacing("\r\n", with: "\n")
        }
        let plain = try await onTerminal()
        #expect(
          plain.contains("Backup ") && !FileManager.default.fileExists(atPath: ran), "\(plain)")
        let said = try await onTerminal("--then", Self.terminalProbe)
        #expect(said.contains("alone 1 terminal 0\nnot a tty\n\u{FFFD}[2J\n"), "\(said)")
        #expect(
          said.contains("COSPOOL_BACKUP_FOLDER COSPOOL_BACKUP_NAME HOME LANG PATH \n"), "\(said)")
      }
    }

    /// An intruder in the account chooses the contents of the data, but not where root writes.
    @Test func rootDoesNotFollowPathsInTheData() async throws {
      guard geteuid() == 0 else { return }
      try await TestBed.run { bed in
        let (data, folder) = (bed.path("data"), bed.path("cron.service.d"))
        func run(_ words: String...) async throws -> Output {
          try await bed.run("cospool-server", words + ["--data", data])
        }
        try await Self.begin(data, in: bed)
        try Self.give(data, in: bed)
        #expect(mkdir(folder, 0o755) == 0)
        for path in [folder, folder + "/new"] {
          try Data(#"{"folder":"\#(path)"}"#.utf8).write(to: URL(filePath: data + "/backup.json"))
          let made = try await run("backup", "create")
          #expect(made.code == 7 && made.standardError.contains(folder), "\(made)")
          #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
      }
    }

    /// The account of the data chooses the words, and root reads them.
    @Test func textsInTheDataDoNotControlATerminal() async throws {
      try await TestBed.run { bed in
        let data = bed.path("data")
        try await Self.begin(data, in: bed)
        let settings = #"{"folder":"\#(bed.path("x"))\u001b[2J\u009b\u202e"}"#
        try Data(settings.utf8).write(to: URL(filePath: data + "/backup.json"))
        for verb in ["create", "list", "verify"] {
          let said = try await bed.run("cospool-server", ["backup", verb, "--data", data])
          #expect(!said.isSuccess && said.standardError.contains("[2J"), "\(said)")
          for scalar in ["\u{1B}", "\u{9B}", "\u{202E}"] {
            #expect(!said.standardError.contains(scalar), "\(said)")
          }
        }
      }
    }

    @Test func aCommandAfterABackupCanFailIt() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        _ = try await server.code()
        let folder = bed.path("backups")
        let good = try await server.command(
          ["backup", "create", "--folder", folder, "--then", "echo \"$COSPOOL_BACKUP_NAME\""])
        #expect(good.isSuccess && good.standardError.contains("Z\n"), "\(good)")
        let bad = try await server.command(
          ["backup", "create", "--folder", folder, "--then", "exit 9"])
        #expect(bad.code == 1 && bad.standardError.contains("ended with 9"))
        for name in ["", "/backups", "/blobs/of/mine"] {
          let inside = try await server.command([
            "backup", "create", "--folder", server.data + name,
          ])
          #expect(inside.code == 2 && inside.standardError.contains("data directory"), "\(inside)")
        }
        #expect(try await server.command(["backup", "list"]).standardOutput.contains("attachment"))
        try FileManager.default.removeItem(atPath: server.data + "/backup.json")
        let unset = try await server.command(["backup", "list"])
        #expect(unset.code == 2 && unset.standardError.contains("--folder FOLDER"), "\(unset)")
        for verb in ["create", "list"] {
          let nameless = try await server.command(["backup", verb, "--folder", ""])
          #expect(nameless.code == 2 && nameless.standardError.contains("--folder"), "\(nameless)")
        }
        // The unit's value if no hook is set.
        let none = try await server.command(["backup", "create", "--folder", folder, "--then", ""])
        #expect(none.isSuccess && none.standardError.isEmpty, "\(none)")
        // A disk that is not mounted: no backup is made in its place, unless the user requests it.
        let disk = bed.path("disk")
        _ = try await server.command(["backup", "create", "--folder", disk]).succeeded()
        try FileManager.default.removeItem(atPath: disk)
        for words in [["create"], ["create", "--folder", disk]] {
          let unmounted = try await server.command(["backup"] + words)
          #expect(
            unmounted.code == 7 && unmounted.standardError.contains("Mount that disk"),
            "\(unmounted)")
        }
        #expect(!FileManager.default.fileExists(atPath: disk))
        try FileManager.default.removeItem(atPath: server.data + "/backup.json")
        let kept = try await server.command(["backup", "create", "--folder", disk, "--keep", "1"])
        #expect(kept.isSuccess, "\(kept)")
        let again = try await server.command(["backup", "create", "--keep", "1"])
        #expect(again.isSuccess && again.standardOutput.contains("\nRemoved "), "\(again)")
        #expect(try await server.command(["backup", "create", "--keep", "0"]).code == 2)
      }
    }
  }
}
