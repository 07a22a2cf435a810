import Crypto
import Foundation
import ProcessResources
import QueueModel
import ServerStore
import Testing

@testable import SyncServer

/// Backups of a running server, without its process.
@Suite struct BackupTests {
  /// A server with a device, an attachment and push settings; and a folder for backups.
  private struct Place {
    var directory: String
    var folder: String
    var workspace: WorkspaceID
    var attachment: [UInt8]

    func backup() throws -> ServerBackup {
      try ServerBackup(dataDirectory: directory, folder: folder)
    }

    func blobPath(_ bytes: [UInt8]) -> String { blobPath(bytes, below: directory) }

    func blobPath(_ bytes: [UInt8], in backup: ServerBackup.Line) -> String {
      blobPath(bytes, below: "\(folder)/\(backup.name)")
    }

    private func blobPath(_ bytes: [UInt8], below root: String) -> String {
      "\(root)/blobs/\(workspace)/\(BackupTests.hash(bytes))"
    }
  }

  private static func hash(_ bytes: [UInt8]) -> ContentHash {
    ContentHash(bytes: Array(SHA256.hash(data: bytes))) ?? .none
  }

  private static func with(_ body: (inout ServerFixture, Place) async throws -> Void) async throws {
    try await ServerFixture.with { fixture in
      let folder = NSTemporaryDirectory() + "cospool-backup-" + UUID().uuidString
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let device = try await fixture.pair(1)
      let attachment = Array("what a file holds".utf8)
      _ = try BlobStore(dataDirectory: fixture.directory, quotaBytes: 1 << 20).keep(
        attachment, as: hash(attachment), in: device.workspaceID)
      try fixture.administration.configureAnswers(server: "https://cospool.example")
      let place = Place(
        directory: fixture.directory, folder: folder, workspace: device.workspaceID,
        attachment: attachment)
      try await body(&fixture, place)
    }
  }

  @Test func aBackupOfARunningServerHoldsEverythingAndIsWhole() async throws {
    try await Self.with { fixture, place in
      let created = try place.backup().create()
      #expect(created.backup.attachments == 1)
      #expect(created.backup.workspaces == 1)
      let verified = try place.backup().verify(name: nil)
      #expect(verified.files == 3)
      #expect(verified.workspaces.map(\.name) == ["default"])
      // Others cannot read anything, and the check leaves no files behind.
      let walker = FileManager.default.enumerator(atPath: place.folder)
      for entry in walker?.compactMap({ $0 as? String }) ?? [] {
        let path = place.folder + "/" + entry
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
        #expect(mode & 0o077 == 0, "\(entry)")
      }
    }
  }

  /// An attacker who may write to the folder may write any manifest: it is read as one, or ignored,
  /// and its numbers do not crash a program.
  @Test func anImpossibleFolderIsReportedWithTheSystemsReason() async throws {
    try await Self.with { _, place in
      let file = place.folder + "-file"
      #expect(FileManager.default.createFile(atPath: file, contents: nil))
      func said(_ body: () throws -> Void) -> String {
        do { try body() } catch { return (error as? SyncServerError)?.message ?? "" }
        return ""
      }
      let inFile = said {
        _ = try ServerBackup(dataDirectory: place.directory, folder: file + "/backups").create()
      }
      #expect(inFile.contains(file) && inFile.contains("Not a directory."), "\(inFile)")
      let absent = said {
        _ = try ServerBackup(dataDirectory: place.directory, folder: place.folder).list()
      }
      #expect(absent.contains("\(place.folder) cannot be read: No such file"), "\(absent)")
      let noFolder = said {
        _ = try ServerBackup(dataDirectory: place.directory, folder: file).list()
      }
      #expect(noFolder.contains("\(file) cannot be read: Not a directory."), "\(noFolder)")
      let quota = CocoaError(
        .fileWriteUnknown, userInfo: [NSUnderlyingErrorKey: POSIXError(.EDQUOT)])
      #expect(BlobStore.Fault(quota) == .storage("Disk quota exceeded", isFull: true))
    }
  }

  @Test func manifestsThatOthersWroteAreReadOrAreNone() throws {
    let hash = Self.hash([1])
    let whole = BackupManifest(
      name: "n", createdAt: 1, version: "0.1.0",
      files: [
        BackupManifest.File(path: "cospool.sqlite", bytes: 1, sha256: hash),
        BackupManifest.File(
          path: "blobs/\(WorkspaceID(high: 1, low: 2))/\(hash)", bytes: 2, sha256: hash),
      ], workspaces: [BackupManifest.Workspace(id: "i", name: "w", logPosition: 3)], damaged: [])
    let bytes = Array(try JSONEncoder().encode(whole))
    #expect(BackupManifest(Data(bytes), of: "n") == whole)
    #expect(BackupManifest(Data(bytes), of: "m") == nil)
    var huge = whole
    huge.files[0].bytes = .max
    #expect(BackupManifest(Data(try JSONEncoder().encode(huge)), of: "n")?.bytes == .max)
    for path in ["/etc/passwd", "../cospool.sqlite", "blobs/../x/y", "blobs//", "keys/other", ""] {
      var wrong = whole
      wrong.files[1].path = path
      #expect(BackupManifest(Data(try JSONEncoder().encode(wrong)), of: "n") == nil, "\(path)")
    }
    var state: UInt64 = 24
    func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
    for _ in 0..<3_000 {
      var spoilt = bytes
      for _ in 0...below(4) {
        let place = below(spoilt.count)
        switch below(3) {
        case 0: spoilt[place] = UInt8(below(256))
        case 1: spoilt.remove(at: place)
        default: spoilt.insert(UInt8(ascii: "9"), at: place)
        }
      }
      guard let taken = BackupManifest(Data(spoilt), of: "n") else { continue }
      #expect(taken.bytes >= 0)
      for file in taken.files {
        #expect(!file.path.hasPrefix("/") && !file.path.split(separator: "/").contains(".."))
      }
    }
  }

  @Test func existingFilesAreNotCopiedAgain() async throws {
    try await Self.with { fixture, place in
      let first = try place.backup().create(at: 0)
      #expect(first.isNewFolder, "its disk may not be mounted")
      #expect(first.newBytes > place.attachment.count)
      _ = try await fixture.pair(2)
      let more = Array("another file".utf8)
      _ = try BlobStore(dataDirectory: fixture.directory, quotaBytes: 1 << 20).keep(
        more, as: Self.hash(more), in: place.workspace)
      let second = try place.backup().create(at: 86_400_000)
      #expect(!second.isNewFolder)
      #expect(second.backup.attachments == 2)
      #expect(second.backup.name != first.backup.name)
      // Both backups have the same file, and the second one has the new file, too.
      let inodes = try [first.backup, second.backup].map { backup in
        try FileManager.default.attributesOfItem(
          atPath: place.blobPath(place.attachment, in: backup))[.systemFileNumber] as? NSNumber
      }
      #expect(inodes[0] != nil && inodes[0] == inodes[1])
      #expect(FileManager.default.fileExists(atPath: place.blobPath(more, in: second.backup)))
    }
  }

  @Test func olderBackupsGoAndOthersKeepTheirFiles() async throws {
    try await Self.with { fixture, place in
      let day: Int64 = 86_400_000
      // A foreign file is not a backup, and does not protect anything.
      try FileManager.default.createDirectory(
        atPath: place.folder, withIntermediateDirectories: true)
      try Data("{}".utf8).write(to: URL(filePath: place.folder + "/package.json"))
      for number in 0..<4 {
        let created = try place.backup().create(keeping: 2, at: Int64(number) * day)
        #expect(created.removed.count == (number < 2 ? 0 : 1))
      }
      let list = try place.backup().list()
      #expect(list.backups.map(\.name) == ["19700103T000000Z", "19700104T000000Z"])
      #expect(list.unreadable.isEmpty)
      for backup in list.backups { _ = try place.backup().verify(name: backup.name) }
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: place.folder).sorted()
          == ["19700103T000000Z", "19700104T000000Z", "backup.lock", "package.json"])
    }
  }

  /// After a wrong clock, a user must say which backup is the latest, and the new one is not
  /// removed in its place.
  @Test func aBackupThatIsDatedAheadIsNotTakenForTheLatest() async throws {
    try await Self.with { fixture, place in
      let day: Int64 = 86_400_000
      let now = ProcessClock.wallMilliseconds
      let ahead = try place.backup().create(keeping: 2, at: now + day).backup.name
      let right = try place.backup().create(keeping: 2, at: now).backup.name
      #expect(try place.backup().list().backups.map(\.name) == [right, ahead])
      func refuses(_ body: () throws -> Void) {
        #expect {
          try body()
        } throws: {
          "\($0)".contains(ahead) && "\($0)".contains("backup list")
        }
      }
      refuses { _ = try place.backup().verify(name: nil) }
      _ = try place.backup().verify(name: right)
      await fixture.server.stop()
      refuses { _ = try place.backup().restore(name: nil) }
      _ = try place.backup().restore(name: right)
      try await fixture.restart()
    }
  }

  @Test func damagedBackupsAreFoundAndReplaced() async throws {
    try await Self.with { fixture, place in
      let kept = place.blobPath(
        place.attachment, in: try place.backup().create(at: 0).backup)
      try Data("what a file hold!".utf8).write(to: URL(filePath: kept))
      #expect {
        try place.backup().verify(name: nil)
      } throws: { error in
        let error = error as? SyncServerError
        return error?.code == .corrupt && error?.message.contains("blobs/") == true
      }
      // From then on, the list shows that.
      let list = try place.backup().list()
      #expect(list.backups.map(\.missing) == [1])
      #expect(list.backups.allSatisfy { $0.text.contains("incomplete") })
      // The next backup copies it again.
      let second = try place.backup().create().backup
      _ = try place.backup().verify(name: nil)
      #expect(try place.backup().list().backups.map(\.missing) == [1, 0])
      // A missing one is reported, too.
      try FileManager.default.removeItem(atPath: place.blobPath(place.attachment, in: second))
      #expect(throws: SyncServerError.self) { try place.backup().verify(name: nil) }
      // Damaged files on the server are named, and left out.
      try Data("damaged".utf8).write(to: URL(filePath: place.blobPath(place.attachment)))
      let third = try place.backup().create()
      #expect(third.backup.damaged.count == 1)
      #expect(third.backup.attachments == 0)
      _ = try place.backup().verify(name: nil)
    }
  }

  @Test func anInvalidManifestIsNotABackupAndLeadsNowhere() async throws {
    try await Self.with { fixture, place in
      let name = try place.backup().create().backup.name
      let path = "\(place.folder)/\(name)/manifest.json"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      try text.replacingOccurrences(of: "\"push.json\"", with: "\"../../escape\"")
        .write(toFile: path, atomically: true, encoding: .utf8)
      #expect(try place.backup().list().unreadable == [name])
      #expect {
        try place.backup().verify(name: name)
      } throws: { ($0 as? SyncServerError)?.code == .corrupt }
    }
  }

  @Test func aRestoreRefusesAServerThatRunsAndKeepsWhatWasThere() async throws {
    try await Self.with { fixture, place in
      _ = try place.backup().create()
      #expect {
        try place.backup().restore(name: nil)
      } throws: { ($0 as? SyncServerError)?.message.contains("serves") == true }
      _ = try await fixture.pair(2)
      let later = Array("a later file".utf8)
      _ = try BlobStore(dataDirectory: fixture.directory, quotaBytes: 1 << 20).keep(
        later, as: Self.hash(later), in: place.workspace)
      await fixture.server.stop()
      let restored = try place.backup().restore(name: nil)
      #expect(try fixture.administration.devices(workspaceName: nil).devices.map(\.name) == ["d1"])
      #expect(FileManager.default.fileExists(atPath: place.blobPath(place.attachment)))
      #expect(!FileManager.default.fileExists(atPath: place.blobPath(later)))
      let aside = try #require(restored.setAside)
      let before = try ServerAdministration(dataDirectory: aside).devices(workspaceName: nil)
      #expect(before.devices.map(\.name).sorted() == ["d1", "d2"])
      #expect(
        FileManager.default.fileExists(
          atPath: "\(aside)/blobs/\(place.workspace)/\(Self.hash(later))"))
      try await fixture.restart()
    }
  }

  /// On a new machine, only later backups know which devices were revoked.
  @Test func aRestoreOntoANewMachineBringsNoRevokedDeviceBack() async throws {
    try await Self.with { fixture, place in
      _ = try await fixture.pair(2)
      let first = try place.backup().create(at: 0).backup.name
      _ = try fixture.administration.revoke(device: "d2", workspaceName: nil)
      _ = try place.backup().create(at: 86_400_000)
      await fixture.server.stop()
      try FileManager.default.removeItem(atPath: fixture.directory)
      let restored = try place.backup().restore(name: first)
      #expect(restored.setAside == nil)
      #expect(restored.revocations == 1)
      try await fixture.restart()
      let devices = try fixture.administration.devices(workspaceName: nil).devices
      #expect(devices.filter(\.revoked).map(\.name) == ["d2"])
    }
  }

  @Test func keysThatAreGoneAreTakenFromTheBackup() async throws {
    try await Self.with { fixture, place in
      let root = fixture.directory + "-root.pem"
      try FileManager.default.copyItem(atPath: TestCertificate.localhost.chainFile, toPath: root)
      defer { try? FileManager.default.removeItem(atPath: root) }
      try fixture.administration.configure(trustedRootFile: root)
      _ = try place.backup().create()
      await fixture.server.stop()
      try FileManager.default.removeItem(atPath: root)
      let restored = try place.backup().restore(name: nil)
      #expect(restored.notes.count == 1)
      let settings = try PushSettings.read(directory: fixture.directory)
      #expect(settings.trustedRootFile == fixture.directory + "/keys/root.pem")
      #expect(settings.answers != nil)
      #expect(try fixture.administration.pushState().problems["set-up"] == nil)
      try await fixture.restart()
    }
  }

  @Test func aRestoreThatEndedInTheMiddleKeepsServersFromStarting() async throws {
    try await Self.with { fixture, place in
      _ = try place.backup().create()
      await fixture.server.stop()
      // As after a power failure between the two moves.
      try FileManager.default.createDirectory(
        atPath: fixture.directory + "/restoring", withIntermediateDirectories: true)
      try FileManager.default.moveItem(
        atPath: fixture.directory + "/cospool.sqlite",
        toPath: fixture.directory + "/restoring/cospool.sqlite")
      // Half of it would look like a complete backup.
      #expect {
        try place.backup().create()
      } throws: { "\($0)".contains("backup restore") }
      // A code for an empty database would be worthless once the backup is in place.
      #expect {
        try fixture.administration.pair(workspaceName: "default")
      } throws: { "\($0)".contains("backup restore") }
      #expect(!FileManager.default.fileExists(atPath: fixture.directory + "/cospool.sqlite"))
      do {
        try await fixture.restart()
        Issue.record("a server started with no data")
      } catch {
        #expect("\(error)".contains("backup restore"))
      }
      _ = try place.backup().restore(name: nil)
      try await fixture.restart()
      #expect(try fixture.administration.devices(workspaceName: nil).devices.map(\.name) == ["d1"])
    }
  }

  @Test func oneAtATimeWritesToAFolder() async throws {
    try await Self.with { fixture, place in
      let lock = try BackupFolder(place.folder).prepare()
      #expect {
        try place.backup().create()
      } throws: { ($0 as? SyncServerError)?.code == .tryLater }
      lock.release()
      _ = try place.backup().create()
    }
  }

  /// Later commands use the folder of the latest backup, and detect if its disk is missing.
  @Test func theLatestBackupSaysWhere() throws {
    let directory = NSTemporaryDirectory() + "cospool-server-" + UUID().uuidString
    let folder = directory + "-b"
    defer {
      try? FileManager.default.removeItem(atPath: directory)
      try? FileManager.default.removeItem(atPath: folder)
    }
    for folder in [nil, ""] {
      #expect {
        try ServerBackup(dataDirectory: directory, folder: folder)
      } throws: { ($0 as? SyncServerError)?.code == .usage }
    }
    _ = try ServerAdministration(dataDirectory: directory).pair(workspaceName: "w")
    _ = try ServerBackup(dataDirectory: directory, folder: folder + "/").create(at: 0)
    #expect(try BackupPlace.read(directory: directory) == BackupPlace(folder: folder))
    _ = try ServerBackup(dataDirectory: directory, folder: nil).create(at: 86_400_000)
    #expect(try ServerBackup(dataDirectory: directory, folder: nil).list().backups.count == 2)
    // Its disk is not mounted: the folder is missing, or an empty one is there.
    try FileManager.default.removeItem(atPath: folder)
    for step in 0..<2 {
      if step == 1 { #expect(mkdir(folder, 0o700) == 0) }
      for named in [nil, folder] {
        #expect {
          try ServerBackup(dataDirectory: directory, folder: named).create()
        } throws: { error in
          (error as? SyncServerError)?.code == .disk && "\(error)".contains("Mount that disk")
        }
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    // A garbled file is ignored, and a named folder counts.
    let file = URL(filePath: directory + "/" + BackupPlace.fileName)
    for text in ["", "{}", #"{"folder":"b"}"#] {
      try Data(text.utf8).write(to: file)
      #expect {
        try ServerBackup(dataDirectory: directory, folder: nil)
      } throws: { "\($0)".contains("--folder FOLDER") }
    }
    _ = try ServerBackup(dataDirectory: directory, folder: folder).create()
    #expect(try BackupPlace.read(directory: directory) == BackupPlace(folder: folder))
  }

  @Test func aFailingHookCountsAndIsNamed() throws {
    let file = NSTemporaryDirectory() + "cospool-hook-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: file) }
    try BackupHook.run(
      #"echo "$COSPOOL_BACKUP_FOLDER $COSPOOL_BACKUP_NAME" >'\#(file)'"#, folder: "/b", backup: "n")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "/b n\n")
    #expect {
      try BackupHook.run("exit 3", folder: "/b", backup: "n")
    } throws: { "\($0)".contains("ended with 3") }
  }
}
