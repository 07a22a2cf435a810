import Foundation
import GRDB
import ProcessResources
import ServerCore
import Testing
import WireProtocol

@testable import ServerStore

@Suite struct OpeningTests {
  @Test func anUnusableFolderIsReportedWithTheReasonAndTheRemedy() throws {
    let folder = try StoreFolder()
    try Data().write(to: URL(filePath: folder.path))
    #expect {
      try ServerDatabase.prepare(directory: folder.path + "/data")
    } throws: { error in
      ["\(folder.path)/data", "Not a directory", "--data"].allSatisfy("\(error)".contains)
    }
  }

  @Test func newStoreIsForItsOwnerAloneAndDurable() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
    #expect(try mode(folder.path) == 0o700)
    #expect(try mode(folder.databasePath) == 0o600)
    #expect(try mode(folder.databasePath + "-wal") == 0o600)
    let settings = try database.read { db in
      [
        try String.fetchOne(db, sql: "PRAGMA journal_mode"),
        try String.fetchOne(db, sql: "PRAGMA synchronous"),
        try String.fetchOne(db, sql: "PRAGMA fullfsync"),
        try String.fetchOne(db, sql: "PRAGMA foreign_keys"),
        try String.fetchOne(db, sql: "PRAGMA busy_timeout"),
      ]
    }
    #expect(settings == ["wal", "2", "1", "1", "5000"])
  }

  /// It may be shared on purpose; the files in it are only for their owner.
  @Test func aDirectoryThatIsThereKeepsItsPermissions() throws {
    let folder = try StoreFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o750], ofItemAtPath: folder.path)
    try folder.open().close()
    func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
    #expect(try mode(folder.path) == 0o750)
    #expect(try mode(folder.databasePath) == 0o600)
  }

  @Test func newerFileIsRefusedAndNotChanged() throws {
    let folder = try StoreFolder()
    try folder.open().close()
    let queue = try DatabaseQueue(path: folder.databasePath)
    try queue.write {
      try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('9999 future')")
    }
    try queue.close()
    let before = FileManager.default.contents(atPath: folder.databasePath)
    for purpose in [ServerDatabase.Purpose.serving, .administration] {
      #expect(throws: StoreOpeningError.newer(path: folder.databasePath)) {
        try folder.open(purpose)
      }
    }
    #expect(FileManager.default.contents(atPath: folder.databasePath) == before)
  }

  /// The way back from an upgrade: the former file, beside the changed one.
  @Test func aDatabaseOfAnOlderVersionIsKeptBeforeItIsChanged() throws {
    let folder = try StoreFolder()
    try ServerDatabase.prepare(directory: folder.path)
    let first = try DatabaseQueue(path: folder.databasePath)
    let step = try #require(ServerSchema.steps.first).name
    try ServerSchema.migrator.migrate(first, upTo: step)
    try first.write {
      try $0.execute(
        sql: "INSERT INTO workspaces (id, name, first_chain, created_at) VALUES (?, 'old', 1, 1)",
        arguments: [Data(repeating: 7, count: 16)])
    }
    try first.close()
    let kept = folder.databasePath + ".before-upgrade-1"
    // An interrupted attempt blocks nothing. No process has the largest number.
    let cutShort = kept + ".new-\(Int32.max)"
    try Data("cut short".utf8).write(to: URL(filePath: cutShort))
    let opened = try folder.open()
    #expect(try opened.workspaces().map(\.name) == ["old"])
    try opened.close()
    let mode = try FileManager.default.attributesOfItem(atPath: kept)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(!FileManager.default.fileExists(atPath: cutShort))
    let copy = try DatabaseQueue(path: kept)
    #expect(try copy.read { try ServerSchema.migrator.appliedMigrations($0) } == [step])
    #expect(
      try copy.read { try String.fetchAll($0, sql: "SELECT name FROM workspaces") } == ["old"])
    try copy.close()
    // A current file, and a new one, leave nothing behind.
    try FileManager.default.removeItem(atPath: kept)
    try folder.open().close()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.contains("before-upgrade") }, "\(names)")
  }

  /// Two processes open an old file at once: the later one finds it changed, and does not change
  /// the copy.
  @Test func theSecondUpgradeReplacesNoCopy() throws {
    let folder = try StoreFolder()
    try ServerDatabase.prepare(directory: folder.path)
    let queue = try DatabaseQueue(path: folder.databasePath)
    let step = try #require(ServerSchema.steps.first).name
    try ServerSchema.migrator.migrate(queue, upTo: step)
    try DatabaseOpening.keepBeforeUpgrade(queue, path: folder.databasePath) {
      try folder.open().close()
    }
    try queue.close()
    let copy = try DatabaseQueue(path: folder.databasePath + ".before-upgrade-1")
    #expect(try copy.read { try ServerSchema.migrator.appliedMigrations($0) } == [step])
    try copy.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.contains(".new-") }, "\(names)")
  }

  /// A user moved a damaged file away without its log.
  @Test func aNameWhoseLogIsThereIsNotFree() throws {
    let folder = try StoreFolder()
    try ServerDatabase.prepare(directory: folder.path)
    for suffix in ["-wal", ".corrupt-1-wal"] {
      try Data().write(to: URL(fileURLWithPath: folder.databasePath + suffix))
    }
    let kept = folder.databasePath + ".corrupt-2"
    #expect(DatabaseOpening.setAside(path: folder.databasePath) == kept)
    #expect(FileManager.default.fileExists(atPath: kept + "-wal"))
  }

  @Test func damagedFileIsSetAsideByTheServerOnly() throws {
    let folder = try StoreFolder()
    try folder.open().close()
    let garbage = Data((0..<8_192).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try garbage.write(to: URL(fileURLWithPath: folder.databasePath))
    do {
      _ = try folder.open(.administration)
      Issue.record("the damaged file was opened")
    } catch let error as StoreOpeningError {
      guard case .corrupt(_, nil, _) = error else {
        Issue.record("\(error)")
        return
      }
    }
    #expect(FileManager.default.contents(atPath: folder.databasePath) == garbage)
    do {
      _ = try folder.open(.serving)
      Issue.record("the damaged file was opened")
    } catch let error as StoreOpeningError {
      guard case .corrupt(_, let kept?, _) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(FileManager.default.contents(atPath: kept) == garbage)
    }
    // An operator decides about an empty database in its place: a service that restarts does not.
    let kept = folder.databasePath + ".corrupt-1"
    #expect(DatabaseOpening.filesSetAside(in: folder.path) == [kept])
    for purpose in [ServerDatabase.Purpose.serving, .administration] {
      #expect(throws: StoreOpeningError.setAside(path: folder.databasePath, keptAt: kept)) {
        try folder.open(purpose)
      }
    }
    #expect(!FileManager.default.fileExists(atPath: folder.databasePath))
    try FileManager.default.moveItem(atPath: kept, toPath: folder.path + "/elsewhere")
    let fresh = try folder.open()
    #expect(try fresh.devices(inWorkspaceNamed: nil).isEmpty)
  }

  @Test func damagedFileThatCannotBeMovedKeepsItsLog() throws {
    let folder = try StoreFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path, withIntermediateDirectories: true)
    let suffixes = ["", "-wal", "-shm"]
    for suffix in suffixes {
      try Data(suffix.utf8).write(to: URL(fileURLWithPath: folder.databasePath + suffix))
    }
    struct Refused: Error {}
    let kept = DatabaseOpening.setAside(path: folder.databasePath) { from, to in
      guard from != folder.databasePath else { throw Refused() }
      try FileManager.default.moveItem(atPath: from, toPath: to)
    }
    #expect(kept == nil)
    for suffix in suffixes {
      #expect(
        FileManager.default.contents(atPath: folder.databasePath + suffix) == Data(suffix.utf8))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3)
  }

  @Test func damageInsideThePagesIsFoundAtOpening() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max)
    var prefix = try #require(try database.header(of: workspace)).head
    let delta = [UInt8](repeating: 5, count: 2_000)
    for _ in 0..<200 {
      prefix = prefix.appending(delta)
      try database.append(
        LogEntry(prefix: prefix, content: .delta(delta)), to: workspace, at: Sample.now)
    }
    try database.close()
    var bytes = try #require(FileManager.default.contents(atPath: folder.databasePath))
    for offset in stride(from: 4_096 * 3, to: bytes.count, by: 4_096) {
      bytes.replaceSubrange(offset..<offset + 64, with: [UInt8](repeating: 0xEE, count: 64))
    }
    try bytes.write(to: URL(fileURLWithPath: folder.databasePath))
    do {
      _ = try folder.open()
      Issue.record("the damaged file was opened")
    } catch let error as StoreOpeningError {
      guard case .corrupt(_, .some, _) = error else {
        Issue.record("\(error)")
        return
      }
    }
  }

  @Test func directoryHasOneServer() throws {
    let folder = try StoreFolder()
    try ServerDatabase.prepare(directory: folder.path)
    let lock = try DirectoryLock(directory: folder.path)
    #expect(throws: StoreOpeningError.locked(path: folder.path)) {
      try DirectoryLock(directory: folder.path)
    }
    lock.release()
    _ = try DirectoryLock(directory: folder.path)
  }

  /// `status` and `doctor` take the lock to see whether it is held.
  @Test func aServerWaitsOnlyForStatusChecks() async throws {
    let folder = try StoreFolder()
    try ServerDatabase.prepare(directory: folder.path)
    let looking = try DirectoryLock(directory: folder.path)
    let lock = try await DirectoryLock.serving(folder.path) { looking.release() }
    var pauses = 0
    await #expect(throws: StoreOpeningError.locked(path: folder.path)) {
      try await DirectoryLock.serving(folder.path) { pauses += 1 }
    }
    #expect(pauses == 9)
    lock.release()
  }
}
