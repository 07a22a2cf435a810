import Crypto
import Foundation
import NIOCore
import NIOPosix
import Operations
import ProcessResources
import QueueModel
import ServerCore
import ServerStore
import Testing
import WireProtocol

@testable import SyncServer

/// `cospool-server doctor` finds planted faults, and names them.
@Suite(.timeLimit(.minutes(5))) struct ServerDoctorTests {
  static func findings(
    of directory: String, _ change: (inout ServerDoctorContext) -> Void = { _ in }
  ) async -> [DoctorFinding] {
    var context = ServerDoctorContext(dataDirectory: directory)
    // Other tests use the processors.
    context.limit = .seconds(60)
    change(&context)
    return await ServerDoctor.findings(context)
  }

  /// Requires a finding, with advice if it is a fault.
  func expect(
    _ findings: [DoctorFinding], _ code: String, _ severity: DoctorFinding.Severity,
    _ word: String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      findings.contains {
        $0.code == code && $0.severity == severity && (word.isEmpty || $0.what.contains(word))
          && (severity <= .info || $0.fix?.isEmpty == false)
      }, "\(code) in \(findings.filter { $0.severity > .ok })", sourceLocation: sourceLocation)
  }

  /// A data directory without a process.
  func withDirectory(_ body: (String) async throws -> Void) async throws {
    let directory = NSTemporaryDirectory() + "cospool-server-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: directory) }
    _ = try ServerAdministration(dataDirectory: directory).pair(workspaceName: "team")
    try await body(directory)
  }

  private func mode(_ bits: Int, of path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: bits], ofItemAtPath: path)
  }

  @Test func aServerThatIsWellIsCalledThat() async throws {
    try await ServerFixture.with { fixture in
      _ = try await fixture.pair(1)
      let folder = fixture.directory + "-backup"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      _ = try ServerBackup(dataDirectory: fixture.directory, folder: folder).create()
      let findings = await Self.findings(of: fixture.directory) {
        $0.url = "ws://127.0.0.1:\(fixture.server.port)"
      }
      for code in [
        "dataDirectory", "fileMode", "store", "workspace", "pushSettings", "server",
        "serverVersion", "serverHealth", "serverAddress", "serverUpgrade", "backupAge",
      ] {
        expect(findings, code, .ok)
      }
      let bad = findings.filter { $0.severity == .error }.map(\.code)
      #expect(Set(bad).isSubset(of: ["diskSpace"]), "the disk of this machine may be full")
      // The order is that of the checks.
      #expect(findings.first?.code == "dataDirectory")
    }
  }

  /// As with a stopped or hanging server: the system still accepts connections for it.
  @Test func aServerThatNeverAnswersIsAnError() async throws {
    let silent = try await ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
      .bind(host: "127.0.0.1", port: 0).get()
    let url = "ws://127.0.0.1:\(silent.localAddress?.port ?? 0)"
    try await withDirectory { directory in
      let lock = try DirectoryLock(directory: directory)
      AddressFile(directory: directory).write(.init(url: url))
      let findings = await Self.findings(of: directory) {
        $0.url = url
        $0.limit = .seconds(2)
      }
      lock.release()
      expect(findings, "serverHealth", .error, "did not answer within")
      expect(findings, "serverAddress", .error, "did not answer within")
    }
    try await silent.close()
  }

  @Test func dataThatAreNotThereAreNotMade() async throws {
    let directory = NSTemporaryDirectory() + "cospool-server-" + UUID().uuidString
    expect(await Self.findings(of: directory), "dataDirectory", .error, "does not exist")
    #expect(!FileManager.default.fileExists(atPath: directory))
    try Data().write(to: URL(filePath: directory))
    defer { try? FileManager.default.removeItem(atPath: directory) }
    expect(await Self.findings(of: directory), "dataDirectory", .error, "not a folder")
  }

  @Test func rightsOfOthersAreFoundAndTakenAway() async throws {
    try await withDirectory { directory in
      let push = directory + "/push.json"
      try PushSettings().write(directory: directory)
      try mode(0o644, of: push)
      try mode(0o777, of: directory)
      let findings = await Self.findings(of: directory)
      expect(findings, "fileMode", .error, "push.json")
      expect(findings, "dataMode", .error, "other users can write")
      for finding in findings { _ = finding.repair?.done() }
      let after = await Self.findings(of: directory)
      expect(after, "fileMode", .ok)
      expect(after, "dataDirectory", .ok)
    }
  }

  /// Root may type the advice, or use `--fix`.
  @Test func aLinkInPlaceOfAFileIsReportedAndNotFollowed() async throws {
    try await withDirectory { directory in
      let foreign = directory + "-foreign"
      defer { try? FileManager.default.removeItem(atPath: foreign) }
      try Data("not ours\n".utf8).write(to: URL(filePath: foreign))
      try mode(0o644, of: foreign)
      try FileManager.default.createSymbolicLink(
        atPath: directory + "/revocations", withDestinationPath: foreign)
      let findings = await Self.findings(of: directory)
      expect(findings, "fileKind", .error, "/revocations is a symbolic link to \(foreign)")
      #expect(!findings.contains { ["fileMode", "revocations"].contains($0.code) }, "\(findings)")
      #expect(findings.allSatisfy { $0.fix?.contains("chmod") != true && $0.repair == nil })
    }
  }

  @Test func aFullDiskIsReported() {
    let full = ServerDoctor.diskSpace(left: 100 << 20, whole: 100 << 30, of: "/d")
    #expect(full.severity == .error && full.what.contains("accepts no changes"))
    #expect(ServerDoctor.diskSpace(left: 1 << 30, whole: 100 << 30, of: "/d").severity == .warning)
    #expect(ServerDoctor.diskSpace(left: 90 << 30, whole: 100 << 30, of: "/d").severity == .ok)
  }

  @Test func aDamagedDatabaseIsFoundAndLeftAlone() async throws {
    try await withDirectory { directory in
      let path = directory + "/cospool.sqlite"
      for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
      var bytes = try Data(contentsOf: URL(filePath: path))
      for index in 4_096..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
      try bytes.write(to: URL(filePath: path))
      expect(await Self.findings(of: directory), "store", .error, "damaged")
      #expect(FileManager.default.fileExists(atPath: path))
      try Data("no database at all, but long enough".utf8).write(to: URL(filePath: path))
      expect(await Self.findings(of: directory), "store", .error, "damaged")
    }
  }

  /// The lost workspaces' files are not leftovers, and the way to restore them is checked.
  @Test func aDatabaseThatWasSetAsideIsReportedAndItsFilesAreKept() async throws {
    try await withDirectory { directory in
      let path = directory + "/" + ServerDatabase.fileName
      let folder = BlobStore.folder(of: WorkspaceID(high: 1, low: 2), dataDirectory: directory)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      expect(await Self.findings(of: directory), "deletedFiles", .warning)
      try BackupPlace(folder: directory + "/nowhere").write(directory: directory)
      let kept = path + ".corrupt-1"
      try FileManager.default.moveItem(atPath: path, toPath: kept)
      for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
      let findings = await Self.findings(of: directory)
      expect(findings, "storeSetAside", .error, kept)
      // It would not start.
      let start = findings.first { $0.code == "server" }?.fix
      #expect(start?.contains("storeSetAside") == true && start?.contains("Start it") == false)
      expect(findings, "backup", .error)
      for begin in [
        { _ = try ServerAdministration(dataDirectory: directory).pair(workspaceName: "team") },
        { _ = try ServerAdministration(dataDirectory: directory).workspaces() },
      ] {
        #expect {
          try begin()
        } throws: { error in
          let error = error as? SyncServerError
          return error?.exitCode == 6 && error?.message.contains(kept) == true
        }
      }
      #expect(!FileManager.default.fileExists(atPath: path))
      // A former one is beside it, as after a restore.
      try FileManager.default.copyItem(atPath: kept, toPath: path)
      let restored = await Self.findings(of: directory)
      #expect(!restored.contains { ["storeSetAside", "deletedFiles"].contains($0.code) })
      try FileManager.default.removeItem(atPath: kept)
      expect(await Self.findings(of: directory), "deletedFiles", .warning)
    }
  }

  @Test func aDamagedWorkspaceIsNamed() async throws {
    try await withDirectory { directory in
      let administration = ServerAdministration(dataDirectory: directory)
      let id = try #require(try administration.workspaces().workspaces.first?.id)
      let workspace = try #require(WorkspaceID(id))
      let database = try ServerDatabase.open(directory: directory, for: .administration)
      let head = try #require(try database.header(of: workspace)).head
      let delta: [UInt8] = [1, 2, 3]
      try database.append(
        LogEntry(prefix: head.appending(delta), content: .delta(delta)), to: workspace, at: 0)
      try database.close()
      expect(await Self.findings(of: directory), "workspace", .error, "team")
    }
  }

  @Test func damagedAttachmentsAreNamed() async throws {
    try await withDirectory { directory in
      let id = try #require(
        try ServerAdministration(dataDirectory: directory).workspaces().workspaces.first?.id)
      let bytes = Array("a file".utf8)
      let hash = try #require(ContentHash(bytes: Array(SHA256.hash(data: bytes))))
      _ = try BlobStore(dataDirectory: directory, quotaBytes: 1 << 20).keep(
        bytes, as: hash, in: try #require(WorkspaceID(id)))
      expect(await Self.findings(of: directory), "attachments", .ok, "1 files, 1 of them compared")
      let path = "\(directory)/blobs/\(id)/\(hash)"
      try Data("b file".utf8).write(to: URL(filePath: path))
      expect(await Self.findings(of: directory), "attachments", .error, hash.description)
      expect(
        await Self.findings(of: directory) { $0.attachmentBytesMax = 3 }, "attachments", .ok,
        "0 of them compared")
      try FileManager.default.moveItem(atPath: path, toPath: path + ".damaged")
      expect(await Self.findings(of: directory), "attachments", .warning, "set aside")
    }
  }

  /// A deletion may end in the middle: the workspace is removed from the database first.
  @Test func filesOfAWorkspaceThatIsGoneAreNamed() async throws {
    try await withDirectory { place in
      // The command that removes files is pasted into a shell.
      let directory = place + "/my data"
      let administration = ServerAdministration(dataDirectory: directory)
      _ = try administration.pair(workspaceName: "default")
      let known = try #require(try administration.workspaces().workspaces.first)
      let id = try #require(WorkspaceID(known.id))
      let folder = BlobStore.folder(of: id, dataDirectory: directory)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      #expect(!(await Self.findings(of: directory).contains { $0.code == "deletedFiles" }))
      _ = try administration.deleteWorkspace(named: known.name)
      #expect(!FileManager.default.fileExists(atPath: folder))
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let findings = await Self.findings(of: directory)
      expect(findings, "deletedFiles", .warning, folder)
      let fix = findings.first { $0.code == "deletedFiles" }?.fix
      #expect(fix?.hasSuffix("rm -r '\(folder)'") == true, "\(fix ?? "")")
    }
  }

  @Test func devicesThatAreBackInAreFound() async throws {
    try await ServerFixture.with { fixture in
      _ = try await fixture.pair(1)
      let id = DeviceID(high: 9, low: 1)
      let workspace = try #require(
        WorkspaceID(try fixture.administration.workspaces().workspaces[0].id))
      try RevocationFile(directory: fixture.directory).add(
        id, in: workspace, at: ProcessClock.wallMilliseconds + 1_000)
      expect(await Self.findings(of: fixture.directory), "revocations", .error, "\(id)")
      _ = try fixture.administration.revoke(device: "d1", workspaceName: nil)
      expect(await Self.findings(of: fixture.directory), "revocations", .ok)
      try Data("nonsense\n".utf8).write(to: URL(filePath: fixture.directory + "/revocations"))
      expect(await Self.findings(of: fixture.directory), "revocations", .error, "1 lines")
    }
  }

  @Test func aStoppedOrSilentServerIsReported() async throws {
    try await withDirectory { directory in
      expect(await Self.findings(of: directory), "server", .error, "no server runs")
      let lock = try DirectoryLock(directory: directory)
      expect(await Self.findings(of: directory), "server", .error, "does not report its address")
      // The record has an address, but nothing listens there.
      AddressFile(directory: directory).write(
        AddressFile.Listening(url: "ws://127.0.0.1:1", version: "0.0.1"))
      let findings = await Self.findings(of: directory)
      expect(findings, "serverVersion", .warning, "0.0.1")
      expect(findings, "serverHealth", .error, "127.0.0.1:1")
      lock.release()
    }
  }

  /// An address that was given once is remembered.
  @Test func theAddressThatDevicesUseIsAsked() async throws {
    try await ServerFixture.with({ $0.front.url = "ws://127.0.0.1:1" }) { fixture in
      let findings = await Self.findings(of: fixture.directory)
      expect(findings, "serverPort", .warning, "127.0.0.1:1 ")
      let named = await Self.findings(of: fixture.directory) { $0.url = fixture.server.url }
      expect(named, "serverAddress", .ok)
    }
  }

  @Test func fewDescriptorsAreReported() {
    func limits(_ soft: Int) -> String {
      """
      Limit                     Soft Limit           Hard Limit           Units
      Max open files            \(soft)                 1048576              files
      """
    }
    let few = ServerDoctor.descriptors(limits(1_024))
    #expect(few?.code == "descriptors" && few?.severity == .warning)
    #expect(ServerDoctor.descriptors(limits(65_536))?.severity == .ok)
    #expect(ServerDoctor.descriptors("") == nil)
  }

  @Test func certificatesAreLookedAtByDaysAndByName() async throws {
    try await ServerFixture.with({ $0.certificate = TestCertificate.localhost }) { fixture in
      let root = TestCertificate.localhost.chainFile
      let url = "wss://localhost:\(fixture.server.port)"
      let well = await Self.findings(of: fixture.directory) {
        $0.url = url
        $0.certificateFile = root
      }
      expect(well, "certificateDays", .ok, "days")
      expect(well, "serverAddress", .ok)
      // Its own port is checked under any name; from outside, the chain counts.
      let untrusted = await Self.findings(of: fixture.directory) { $0.url = url }
      expect(untrusted, "serverHealth", .ok)
      expect(untrusted, "serverTLS", .error, "not trusted")
      let later = await Self.findings(of: fixture.directory) {
        $0.now = Date(timeIntervalSinceNow: 400 * 365.0 * 86_400)
      }
      expect(later, "certificateDays", .error, "expired")
      let missing = await Self.findings(of: fixture.directory) {
        $0.url = url
        $0.certificateFile = "/nowhere.pem"
      }
      expect(missing, "serverCertificate", .error)
    }
    try await ServerFixture.with({ $0.certificate = TestCertificate.other }) { fixture in
      expect(
        await Self.findings(of: fixture.directory) {
          $0.url = "wss://localhost:\(fixture.server.port)"
          $0.certificateFile = TestCertificate.other.chainFile
        }, "serverTLS", .error, "localhost")
    }
    let soon = DoctorFinding.certificate(
      ends: 5 * 86_400 + 60, of: try #require(DoctorAddress("wss://h:1")),
      now: Date(timeIntervalSince1970: 0), renewal: "Renew it.")
    #expect(soon.severity == .warning && soon.what.contains("5 more days"))
  }

  @Test func wrongAddressesAreReported() async throws {
    try await withDirectory { directory in
      expect(
        await Self.findings(of: directory) { $0.url = "https://h" }, "serverAddress", .error)
      // No server knows names under `invalid` (RFC 6761).
      expect(
        await Self.findings(of: directory) { $0.url = "wss://nowhere.invalid" }, "serverName",
        .error)
      expect(
        await Self.findings(of: directory) { $0.url = "ws://127.0.0.1:1" }, "serverPort", .error)
    }
  }

  @Test func unusablePushSettingsAreReported() async throws {
    try await withDirectory { directory in
      try PushSettings(trustedRootFile: directory + "/gone.pem").write(directory: directory)
      expect(await Self.findings(of: directory), "pushSettings", .error, "set-up")
      try Data("no JSON".utf8).write(to: URL(filePath: directory + "/push.json"))
      expect(await Self.findings(of: directory), "pushSettings", .error)
    }
  }

  @Test func aClockThatWentBackIsReported() async throws {
    try await withDirectory { directory in
      expect(
        await Self.findings(of: directory) { $0.now = Date(timeIntervalSinceNow: -7_200) }, "clock",
        .error, "behind")
    }
  }

  @Test func quotasThatAreNearlyUsedUpAreReported() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      try await client.send(try device.write("text"))
      _ = try await client.frame { if case .ack = $0 { true } else { false } }
      await client.close()
      _ = try fixture.administration.setQuota(
        .init(daily: 0), resets: false, ofWorkspaceNamed: "default")
      expect(await Self.findings(of: fixture.directory), "quota", .warning, "today's changes")
    }
    // The options of the server's start count, too.
    try await ServerFixture.with({ $0.files.quotaBytes = 6 }) { fixture in
      let device = try await fixture.pair(1)
      let bytes = Array("a file".utf8)
      _ = try BlobStore(dataDirectory: fixture.directory, quotaBytes: 1 << 20).keep(
        bytes, as: try #require(ContentHash(bytes: Array(SHA256.hash(data: bytes)))),
        in: device.workspaceID)
      expect(await Self.findings(of: fixture.directory), "quota", .warning, "its files")
    }
  }

  @Test func endingAccessIsReported() async throws {
    try await ServerFixture.with { fixture in
      let code = try fixture.administration.pair(
        workspaceName: "default", role: "viewer", accessMilliseconds: 3 * 86_400_000
      ).code
      _ = try await fixture.pair(1, code: code)
      let found = await Self.findings(of: fixture.directory)
      expect(found, "access", .warning, "d1")
      // The renewed access is neither more nor in another workspace.
      let fix = found.first { $0.code == "access" }?.fix
      #expect(
        fix?.contains("cospool-server pair --role viewer --workspace default --expires 30d") == true
      )
      expect(
        await Self.findings(of: fixture.directory) {
          $0.now = Date(timeIntervalSinceNow: 4 * 86_400)
        }, "access", .info, "has ended")
    }
  }

  @Test func missingOrOldBackupsAreReported() async throws {
    try await withDirectory { directory in
      expect(await Self.findings(of: directory), "backup", .warning, "there is no backup yet")
      let folder = directory + "-backup"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try BackupPlace(folder: folder).write(directory: directory)
      expect(await Self.findings(of: directory), "backup", .error, "contains no backups")
      #expect(mkdir(folder, 0o700) == 0)
      expect(await Self.findings(of: directory), "backup", .error, "Mount that disk")
      try Data().write(to: URL(filePath: folder + "/backup.lock"))
      expect(await Self.findings(of: directory), "backup", .error, "no backup in")
      let made = try ServerBackup(dataDirectory: directory, folder: nil).create().backup.name
      let findings = await Self.findings(of: directory)
      expect(findings, "backupAge", .ok)
      expect(findings, "backupPlace", .info)
      let file = "\(folder)/\(made)/cospool.sqlite"
      try FileManager.default.moveItem(atPath: file, toPath: file + ".away")
      expect(await Self.findings(of: directory), "backupNotWhole", .error, "cannot be restored")
      try FileManager.default.moveItem(atPath: file + ".away", toPath: file)
      expect(
        await Self.findings(of: directory) { $0.now = Date(timeIntervalSinceNow: 3 * 86_400) },
        "backupAge", .error, "72 hours")
      // Root may write anywhere except on a read-only disk.
      if geteuid() != 0 {
        #expect(chmod(folder, 0o500) == 0)
        expect(await Self.findings(of: directory), "backupFolder", .error, "cannot be written")
        #expect(chmod(folder, 0o700) == 0)
      }
      // A clock that was wrong for a moment does not hide a finding.
      let wrong = Int64(Date(timeIntervalSinceNow: 9 * 86_400).timeIntervalSince1970 * 1_000)
      let name = try ServerBackup(dataDirectory: directory, folder: nil).create(at: wrong).backup
        .name
      expect(await Self.findings(of: directory), "backupTime", .error, name)
      expect(await Self.findings(of: directory), "backupAge", .ok)
      expect(
        await Self.findings(of: directory) { $0.now = Date(timeIntervalSinceNow: 3 * 86_400) },
        "backupAge", .error, "72 hours")
      #expect(mkdir(folder + "/20990101T000000Z", 0o700) == 0)
      expect(await Self.findings(of: directory), "backupUnreadable", .warning, "20990101T000000Z")
      try Data("{}".utf8).write(to: URL(filePath: directory + "/backup.json"))
      expect(await Self.findings(of: directory), "backup", .error, "backup.json")
    }
  }

  private func leftovers(_ directory: String) async -> [DoctorFinding] {
    await Self.findings(of: directory).filter { $0.code == "leftovers" }
  }

  @Test func leftoversAreNamedWithTheirSize() async throws {
    try await withDirectory { directory in
      let none = await leftovers(directory)
      #expect(none.isEmpty)
      let old = directory + "/before-restore-20261125T030000Z"
      try FileManager.default.createDirectory(
        atPath: old + "/blobs", withIntermediateDirectories: true)
      try Data(count: 3 << 20).write(to: URL(filePath: old + "/blobs/file"))
      for name in ["cospool.sqlite.corrupt-1", "cospool.sqlite.before-upgrade-1", "restoring.new"] {
        try Data().write(to: URL(filePath: "\(directory)/\(name)"))
      }
      let left = await leftovers(directory)
      #expect(left.count == 4 && left.allSatisfy { $0.severity == .info }, "\(left)")
      let finding = left.first { $0.what.contains(old + " takes 3 MiB") }
      #expect(finding?.fix?.hasSuffix("rm -r \(old)") == true, "\(left)")
      // A restore may be running.
      let lock = open(directory + "/server.lock", O_RDWR | O_CREAT, 0o600)
      defer { close(lock) }
      #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
      let meanwhile = await leftovers(directory)
      #expect(meanwhile.isEmpty)
    }
  }

  @Test func anUnfinishedRestoreIsReported() async throws {
    try await withDirectory { directory in
      try FileManager.default.createDirectory(
        atPath: directory + "/restoring", withIntermediateDirectories: false)
      let findings = await Self.findings(of: directory)
      expect(findings, "restoring", .error, "did not finish")
      #expect(findings.first { $0.code == "server" }?.fix?.contains("see restoring") == true)
    }
  }
}
