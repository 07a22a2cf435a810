import ClientCore
import ClientStore
import Foundation
import GRDB
import QueueModel
import SequenceCRDT
import Testing

/// Undo steps survive a restart: each is stored in the transaction of the change that it undoes.
@Suite struct UndoStoreTests {
  private func perform(
    _ command: Command, _ directory: StoreDirectory, _ open: inout StoreDirectory.Open
  ) throws {
    let context = directory.context()
    _ = try open.replica.perform(
      command, queueSizeMax: 1_000, wall: context.wall, at: context, store: open.store)
  }

  @Test func undoAndRedoGoOnAfterReopening() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open, text: "first")
    let id = MessageID(high: 7, low: 1)
    try perform(.insertText(id, at: 5, text: " émoji 👍"), directory, &open)
    try perform(.setPriority(id, .urgent), directory, &open)
    for expected in [Priority.normal, .normal] {
      try open.store.close()
      open = try directory.open()
      try perform(.undo(change: nil, skip: false), directory, &open)
      #expect(try open.replica.workspace.message(id).priority == expected)
    }
    #expect(try directory.contents(open.replica) == ["first"])
    try open.store.close()
    open = try directory.open()
    #expect(open.replica.undo.redoable.count == 2)
    try perform(.redo(change: nil), directory, &open)
    #expect(try directory.contents(open.replica) == ["first émoji 👍"])
    try perform(.pause(SessionID("a"), reason: nil), directory, &open)
    try open.store.close()
    open = try directory.open()
    #expect(open.replica.undo.redoable.isEmpty)
    #expect(open.replica.undo.undoable.count == 3)
    try open.store.close()
  }

  @Test func aKillLeavesTheListThatFitsTheState() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...4 as ClosedRange<UInt64> { try directory.send(number, &open) }
    try perform(.undo(change: nil, skip: false), directory, &open)
    let files = try directory.snapshot()
    try open.store.close()
    let place = try StoreDirectory()
    for (name, data) in files where !name.hasSuffix("-shm") {
      try data.write(to: URL(fileURLWithPath: place.path + "/" + name))
    }
    var again = try place.open()
    #expect(again.replica.undo.undoable.count == 3)
    #expect(again.replica.undo.redoable.count == 1)
    try perform(.redo(change: nil), place, &again)
    #expect(try place.contents(again.replica).count == 4)
    try again.store.close()
  }

  @Test func rowsAreBoundedAndRemoved() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    for number in 0..<30 {
      try perform(.renameSession(SessionID("a"), name: "name \(number)"), directory, &open)
    }
    for _ in 0..<10 { try perform(.undo(change: nil, skip: false), directory, &open) }
    try perform(.renameSession(SessionID("a"), name: "other"), directory, &open)
    try open.store.close()
    let queue = try DatabaseQueue(path: directory.database)
    let count = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM undo") }
    #expect(count == 22)
    try queue.close()
  }

  @Test func aListThatCannotBeReadIsLeftOutAndNothingElse() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    try directory.send(2, &open)
    try open.store.close()
    let queue = try DatabaseQueue(path: directory.database)
    try queue.write { try $0.execute(sql: "UPDATE undo SET steps = x'7b7d' WHERE number = 1") }
    try queue.close()
    var again = try directory.open()
    #expect(again.replica.undo.entries.isEmpty)
    #expect(try directory.contents(again.replica) == ["text 1", "text 2"])
    try perform(.setPriority(MessageID(high: 7, low: 1), .urgent), directory, &again)
    try again.store.close()
    again = try directory.open()
    try perform(.undo(change: nil, skip: false), directory, &again)
    #expect(try again.replica.workspace.message(MessageID(high: 7, low: 1)).priority == .normal)
    try again.store.close()
  }

  @Test func entriesComeLatestFirst() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...5 as ClosedRange<UInt64> { try directory.send(number, &open) }
    let all = try open.store.entries(after: 0, countMax: 100)
    let back = try open.store.entries(before: .max, countMax: 100)
    #expect(back == all.reversed())
    let page = try open.store.entries(before: all[3].id, countMax: 2)
    #expect(page.map(\.id) == [all[2].id, all[1].id])
    try open.store.close()
  }
}
