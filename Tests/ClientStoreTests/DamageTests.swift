import ClientCore
import Foundation
import GRDB
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ClientStore

@Suite struct DamageTests {
  private func filledShelf() throws -> Shelf {
    let inbox = try Shelf()
    var open = try inbox.open()
    for number in 1...30 as ClosedRange<UInt64> { try inbox.send(number, &open) }
    try open.store.close()
    return inbox
  }

  private func expectSetAside(_ inbox: Shelf, number: Int = 1) throws {
    let damaged = try Data(contentsOf: URL(fileURLWithPath: inbox.database))
    let kept = "\(inbox.database).corrupt-\(number)"
    #expect(throws: ClientStore.OpenError.corrupt(path: inbox.database, keptAt: kept)) {
      _ = try ClientStore.open(directory: inbox.path)
    }
    let aside = try Data(contentsOf: URL(fileURLWithPath: kept))
    #expect(aside == damaged)
    #expect(!FileManager.default.fileExists(atPath: inbox.database))
    #expect(!FileManager.default.fileExists(atPath: inbox.database + "-wal"))
    let fresh = try inbox.open()
    #expect(fresh.replica.workspace.sessions().isEmpty)
    #expect(fresh.replica.record.outbox.isEmpty && fresh.replica.record.prefix == .empty)
    try fresh.store.close()
  }

  @Test func fileThatIsNoDatabaseIsSetAside() throws {
    let inbox = try filledShelf()
    try Data(repeating: 0x41, count: 8_192).write(to: URL(fileURLWithPath: inbox.database))
    try expectSetAside(inbox)
  }

  @Test func truncatedFileIsSetAside() throws {
    let inbox = try filledShelf()
    let data = try Data(contentsOf: URL(fileURLWithPath: inbox.database))
    try data.prefix(data.count / 2).write(to: URL(fileURLWithPath: inbox.database))
    try expectSetAside(inbox)
  }

  // S0-71.
  @Test func damagedPagesAreSetAside() throws {
    let inbox = try filledShelf()
    var data = try Data(contentsOf: URL(fileURLWithPath: inbox.database))
    for offset in stride(from: 4_096, to: data.count, by: 512) { data[offset] ^= 0xFF }
    try data.write(to: URL(fileURLWithPath: inbox.database))
    try expectSetAside(inbox)
  }

  @Test func undecodableDeltaIsSetAsideAndSoIsTheNextDamage() throws {
    let inbox = try filledShelf()
    for number in 1...2 {
      if number == 2 {
        var open = try inbox.open()
        try inbox.send(1, &open)
        try open.store.close()
      }
      let queue = try DatabaseQueue(path: inbox.database)
      try queue.write {
        try $0.execute(sql: "UPDATE entries SET delta = zeroblob(40) WHERE id = 1")
      }
      try queue.close()
      try expectSetAside(inbox, number: number)
    }
  }

  /// The image of the state only saves replaying the log.
  @Test func unreadableImageOfTheStateIsNoLoss() throws {
    let inbox = try filledShelf()
    let before = try inbox.open()
    let contents = try inbox.contents(before.replica)
    try before.store.keep(before.replica.workspace, upTo: before.replica.lastEntry)
    let box = try before.store.outgoing(in: ClientStore.syncBox)
    try before.store.close()
    let queue = try DatabaseQueue(path: inbox.database)
    try queue.write {
      try $0.execute(sql: "UPDATE images SET snapshot = zeroblob(40) WHERE kind = 'cache'")
      #expect($0.changesCount == 1)
    }
    try queue.close()
    var again = try inbox.open()
    #expect(try inbox.contents(again.replica) == contents)
    #expect(again.replica.workspace.vector == before.replica.workspace.vector)
    #expect(again.replica.lastEntry == before.replica.lastEntry)
    #expect(try again.store.outgoing(in: ClientStore.syncBox).messages == box.messages)
    #expect(!FileManager.default.fileExists(atPath: inbox.database + ".corrupt-1"))
    try inbox.send(99, &again)
    try again.store.close()
  }

  @Test func damagedFileThatCannotBeMovedKeepsItsLog() throws {
    let inbox = try Shelf()
    let suffixes = ["", "-wal", "-shm"]
    for suffix in suffixes {
      try Data("file\(suffix)".utf8).write(to: URL(fileURLWithPath: inbox.database + suffix))
    }
    let fault = StoreError(code: .failed, message: "refused")
    for refused in suffixes {
      #expect(throws: ClientStore.OpenError.storage(fault)) {
        _ = try ClientStore.setAside(inbox.database) { from, to throws(StoreError) in
          guard from != inbox.database + refused else { throw fault }
          try FileAccess.rename(from, to: to)
        }
      }
      for suffix in suffixes {
        #expect(
          FileManager.default.contents(atPath: inbox.database + suffix)
            == Data("file\(suffix)".utf8))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: inbox.path).count == 3)
    }
  }

  /// A process that ends between the moves leaves no database beside a log that is not its own, nor
  /// does what it moved get lost with the next damage.
  @Test func theLogIsSetAsideFirstAndUnderANameOfItsOwn() throws {
    let inbox = try Shelf()
    for suffix in ["", "-wal", "-shm"] {
      try Data("file\(suffix)".utf8).write(to: URL(fileURLWithPath: inbox.database + suffix))
    }
    let left = inbox.database + ".corrupt-1-wal"
    try Data("left".utf8).write(to: URL(fileURLWithPath: left))
    var moved: [String] = []
    let kept = try ClientStore.setAside(inbox.database) { from, to throws(StoreError) in
      moved.append(String(from.dropFirst(inbox.database.count)))
      try FileAccess.rename(from, to: to)
    }
    #expect(moved == ["-wal", "-shm", ""])
    #expect(kept == inbox.database + ".corrupt-2")
    #expect(FileManager.default.contents(atPath: left) == Data("left".utf8))
    #expect(FileManager.default.contents(atPath: kept + "-wal") == Data("file-wal".utf8))
  }

  @Test func newerFileIsRefusedAndNotRewritten() throws {
    let inbox = try filledShelf()
    let queue = try DatabaseQueue(path: inbox.database)
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
    try queue.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: inbox.database))
    #expect(
      throws: ClientStore.OpenError.newer(
        path: inbox.database, found: 99, supported: Schema.version)
    ) {
      _ = try ClientStore.open(directory: inbox.path)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: inbox.database)) == before)
    #expect(!FileManager.default.fileExists(atPath: inbox.database + ".corrupt-1"))
  }

  /// A record that says what cannot be is damage, too.
  @Test(arguments: [
    "UPDATE settings SET value = 'x' WHERE name = 'store'",
    "UPDATE settings SET value = '-1' WHERE name = 'logPosition'",
    "DELETE FROM settings WHERE name = 'logChain'",
    "UPDATE settings SET value = '' WHERE name = 'device'",
    "UPDATE outbox SET first_seq = last_seq + 1", "UPDATE outbox SET first_seq = 0",
    "UPDATE outbox SET last_seq = 1 << 40",
  ])
  func unreadableRecordIsSetAside(_ change: String) throws {
    let inbox = try filledShelf()
    let queue = try DatabaseQueue(path: inbox.database)
    try queue.write {
      try $0.execute(sql: change)
      #expect($0.changesCount == 1)
    }
    try queue.close()
    try expectSetAside(inbox)
  }

  @Test func fullDiskIsTypedAndChangesNothing() throws {
    let inbox = try Shelf()
    var open = try inbox.open()
    try inbox.send(1, &open)
    try open.store.limitPages(to: try open.store.pageCount())
    let long = String(
      (0..<60_000).map { _ in Character(Unicode.Scalar(UInt8.random(in: 97...122))) })
    var isFull = false
    for number in 2...200 as ClosedRange<UInt64> {
      let before = try open.store.entries(after: 0, countMax: 10_000).count
      do {
        try inbox.send(number, &open, text: long)
      } catch Replica.Fault.store(let error) {
        #expect(error.code == .full)
        let after = try open.store.entries(after: 0, countMax: 10_000).count
        #expect(after == before)
        isFull = true
        break
      }
    }
    #expect(isFull)
    let shown = try inbox.contents(open.replica)
    try open.store.limitPages(to: 1_000_000)
    try inbox.send(500, &open)
    try open.store.close()
    let again = try inbox.open()
    #expect(try inbox.contents(again.replica) == shown + ["text 500"])
    try again.store.close()
  }
}
