import ClientCore
import Foundation
import GRDB
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ClientStore

@Suite struct DamageTests {
  private func filledDirectory() throws -> StoreDirectory {
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...30 as ClosedRange<UInt64> { try directory.send(number, &open) }
    try open.store.close()
    return directory
  }

  private func expectSetAside(_ directory: StoreDirectory, number: Int = 1) throws {
    let damaged = try Data(contentsOf: URL(fileURLWithPath: directory.database))
    let kept = "\(directory.database).corrupt-\(number)"
    #expect(throws: ClientStore.OpenError.corrupt(path: directory.database, keptAt: kept)) {
      _ = try ClientStore.open(directory: directory.path)
    }
    let aside = try Data(contentsOf: URL(fileURLWithPath: kept))
    #expect(aside == damaged)
    #expect(!FileManager.default.fileExists(atPath: directory.database))
    #expect(!FileManager.default.fileExists(atPath: directory.database + "-wal"))
    let fresh = try directory.open()
    #expect(fresh.replica.workspace.sessions().isEmpty)
    #expect(fresh.replica.record.outbox.isEmpty && fresh.replica.record.prefix == .empty)
    try fresh.store.close()
  }

  @Test func fileThatIsNotADatabaseIsSetAside() throws {
    let directory = try filledDirectory()
    try Data(repeating: 0x41, count: 8_192).write(to: URL(fileURLWithPath: directory.database))
    try expectSetAside(directory)
  }

  @Test func truncatedFileIsSetAside() throws {
    let directory = try filledDirectory()
    let data = try Data(contentsOf: URL(fileURLWithPath: directory.database))
    try data.prefix(data.count / 2).write(to: URL(fileURLWithPath: directory.database))
    try expectSetAside(directory)
  }

  // S0-71.
  @Test func damagedPagesAreSetAside() throws {
    let directory = try filledDirectory()
    var data = try Data(contentsOf: URL(fileURLWithPath: directory.database))
    for offset in stride(from: 4_096, to: data.count, by: 512) { data[offset] ^= 0xFF }
    try data.write(to: URL(fileURLWithPath: directory.database))
    try expectSetAside(directory)
  }

  @Test func undecodableDeltaIsSetAsideAndSoIsTheNextDamage() throws {
    let directory = try filledDirectory()
    for number in 1...2 {
      if number == 2 {
        var open = try directory.open()
        try directory.send(1, &open)
        try open.store.close()
      }
      let queue = try DatabaseQueue(path: directory.database)
      try queue.write {
        try $0.execute(sql: "UPDATE entries SET delta = zeroblob(40) WHERE id = 1")
      }
      try queue.close()
      try expectSetAside(directory, number: number)
    }
  }

  /// The image of the state only saves reading the whole log.
  @Test func unreadableImageOfTheStateLosesNothing() throws {
    let directory = try filledDirectory()
    let before = try directory.open()
    let contents = try directory.contents(before.replica)
    try before.store.keep(before.replica.workspace, upTo: before.replica.lastEntry)
    let box = try before.store.outgoing(in: ClientStore.syncBox)
    try before.store.close()
    let queue = try DatabaseQueue(path: directory.database)
    try queue.write {
      try $0.execute(sql: "UPDATE images SET snapshot = zeroblob(40) WHERE kind = 'cache'")
      #expect($0.changesCount == 1)
    }
    try queue.close()
    var again = try directory.open()
    #expect(try directory.contents(again.replica) == contents)
    #expect(again.replica.workspace.vector == before.replica.workspace.vector)
    #expect(again.replica.lastEntry == before.replica.lastEntry)
    #expect(try again.store.outgoing(in: ClientStore.syncBox).messages == box.messages)
    #expect(!FileManager.default.fileExists(atPath: directory.database + ".corrupt-1"))
    try directory.send(99, &again)
    try again.store.close()
  }

  @Test func damagedFileThatCannotBeMovedKeepsItsLog() throws {
    let directory = try StoreDirectory()
    let suffixes = ["", "-wal", "-shm"]
    for suffix in suffixes {
      try Data("file\(suffix)".utf8).write(to: URL(fileURLWithPath: directory.database + suffix))
    }
    let fault = StoreError(code: .failed, message: "refused")
    for refused in suffixes {
      #expect(throws: ClientStore.OpenError.storage(fault)) {
        _ = try ClientStore.setAside(directory.database) { from, to throws(StoreError) in
          guard from != directory.database + refused else { throw fault }
          try FileAccess.rename(from, to: to)
        }
      }
      for suffix in suffixes {
        #expect(
          FileManager.default.contents(atPath: directory.database + suffix)
            == Data("file\(suffix)".utf8))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 3)
    }
  }

  /// A process that ends between the moves leaves no database beside another one's log, and later
  /// damage does not overwrite what it moved.
  @Test func theLogIsSetAsideFirstAndUnderANameOfItsOwn() throws {
    let directory = try StoreDirectory()
    for suffix in ["", "-wal", "-shm"] {
      try Data("file\(suffix)".utf8).write(to: URL(fileURLWithPath: directory.database + suffix))
    }
    let left = directory.database + ".corrupt-1-wal"
    try Data("left".utf8).write(to: URL(fileURLWithPath: left))
    var moved: [String] = []
    let kept = try ClientStore.setAside(directory.database) { from, to throws(StoreError) in
      moved.append(String(from.dropFirst(directory.database.count)))
      try FileAccess.rename(from, to: to)
    }
    #expect(moved == ["-wal", "-shm", ""])
    #expect(kept == directory.database + ".corrupt-2")
    #expect(FileManager.default.contents(atPath: left) == Data("left".utf8))
    #expect(FileManager.default.contents(atPath: kept + "-wal") == Data("file-wal".utf8))
  }

  /// A check reports what opening the store would report, and changes nothing.
  @Test func aLookAtAStoreChangesNothing() throws {
    let directory = try filledDirectory()
    try ClientStore.check(directory: directory.path)
    let opened = try directory.open()
    try ClientStore.check(directory: directory.path)
    try opened.store.close()
    for suffix in ["-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: directory.database + suffix)
    }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: directory.database))
    for index in 4_096..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
    try bytes.write(to: URL(fileURLWithPath: directory.database))
    #expect(
      throws: ClientStore.OpenError.corrupt(path: directory.database, keptAt: directory.database)
    ) { try ClientStore.check(directory: directory.path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.database)) == bytes)
    #expect(!FileManager.default.fileExists(atPath: directory.database + ".corrupt-1"))
  }

  @Test func newerFileIsRefusedAndNotRewritten() throws {
    let directory = try filledDirectory()
    let queue = try DatabaseQueue(path: directory.database)
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
    try queue.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: directory.database))
    #expect(
      throws: ClientStore.OpenError.newer(
        path: directory.database, found: 99, supported: Schema.version)
    ) {
      _ = try ClientStore.open(directory: directory.path)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.database)) == before)
    #expect(!FileManager.default.fileExists(atPath: directory.database + ".corrupt-1"))
  }

  /// A record with impossible contents is damage, too.
  @Test(arguments: [
    "UPDATE settings SET value = 'x' WHERE name = 'store'",
    "UPDATE settings SET value = '-1' WHERE name = 'logPosition'",
    "DELETE FROM settings WHERE name = 'logChain'",
    "UPDATE settings SET value = '' WHERE name = 'device'",
    "UPDATE outbox SET first_seq = last_seq + 1", "UPDATE outbox SET first_seq = 0",
    "UPDATE outbox SET last_seq = 1 << 40",
  ])
  func unreadableRecordIsSetAside(_ change: String) throws {
    let directory = try filledDirectory()
    let queue = try DatabaseQueue(path: directory.database)
    try queue.write {
      try $0.execute(sql: change)
      #expect($0.changesCount == 1)
    }
    try queue.close()
    try expectSetAside(directory)
  }

  @Test func fullDiskIsTypedAndChangesNothing() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    try open.store.limitPages(to: try open.store.pageCount())
    let long = String(
      (0..<60_000).map { _ in Character(Unicode.Scalar(UInt8.random(in: 97...122))) })
    var isFull = false
    for number in 2...200 as ClosedRange<UInt64> {
      let before = try open.store.entries(after: 0, countMax: 10_000).count
      do {
        try directory.send(number, &open, text: long)
      } catch Replica.Fault.store(let error) {
        #expect(error.code == .full)
        let after = try open.store.entries(after: 0, countMax: 10_000).count
        #expect(after == before)
        isFull = true
        break
      }
    }
    #expect(isFull)
    let shown = try directory.contents(open.replica)
    try open.store.limitPages(to: 1_000_000)
    try directory.send(500, &open)
    try open.store.close()
    let again = try directory.open()
    #expect(try directory.contents(again.replica) == shown + ["text 500"])
    try again.store.close()
  }
}
