import ClientCore
import ClientStore
import Foundation
import GRDB
import QueueModel
import SequenceCRDT
import Testing

/// What can be undone survives the process, in the transaction of what it takes back.
@Suite struct UndoStoreTests {
  private func perform(_ command: Command, _ shelf: Shelf, _ open: inout Shelf.Open) throws {
    let occasion = shelf.occasion()
    _ = try open.replica.perform(
      command, queueSizeMax: 1_000, wall: occasion.wall, at: occasion, store: open.store)
  }

  @Test func undoAndRedoGoOnAfterReopening() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    try shelf.send(1, &open, text: "first")
    let id = MessageID(high: 7, low: 1)
    try perform(.insertText(id, at: 5, text: " émoji 👍"), shelf, &open)
    try perform(.setPriority(id, .urgent), shelf, &open)
    for expected in [Priority.normal, .normal] {
      try open.store.close()
      open = try shelf.open()
      try perform(.undo, shelf, &open)
      #expect(try open.replica.workspace.message(id).priority == expected)
    }
    #expect(try shelf.contents(open.replica) == ["first"])
    try open.store.close()
    open = try shelf.open()
    #expect(open.replica.undo.redoable.count == 2)
    try perform(.redo, shelf, &open)
    #expect(try shelf.contents(open.replica) == ["first émoji 👍"])
    try perform(.pause(SessionID("a"), reason: nil), shelf, &open)
    try open.store.close()
    open = try shelf.open()
    #expect(open.replica.undo.redoable.isEmpty)
    #expect(open.replica.undo.undoable.count == 3)
    try open.store.close()
  }

  @Test func aKillLeavesTheListThatFitsTheState() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    for number in 1...4 as ClosedRange<UInt64> { try shelf.send(number, &open) }
    try perform(.undo, shelf, &open)
    let files = try shelf.snapshot()
    try open.store.close()
    let place = try Shelf()
    for (name, data) in files where !name.hasSuffix("-shm") {
      try data.write(to: URL(fileURLWithPath: place.path + "/" + name))
    }
    var again = try place.open()
    #expect(again.replica.undo.undoable.count == 3)
    #expect(again.replica.undo.redoable.count == 1)
    try perform(.redo, place, &again)
    #expect(try place.contents(again.replica).count == 4)
    try again.store.close()
  }

  @Test func rowsAreBoundedAndRemoved() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    try shelf.send(1, &open)
    for number in 0..<30 {
      try perform(.renameSession(SessionID("a"), name: "name \(number)"), shelf, &open)
    }
    for _ in 0..<10 { try perform(.undo, shelf, &open) }
    try perform(.renameSession(SessionID("a"), name: "other"), shelf, &open)
    try open.store.close()
    let queue = try DatabaseQueue(path: shelf.database)
    let count = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM undo") }
    #expect(count == 22)
    try queue.close()
  }

  @Test func aListThatCannotBeReadIsLeftOutAndNothingElse() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    try shelf.send(1, &open)
    try shelf.send(2, &open)
    try open.store.close()
    let queue = try DatabaseQueue(path: shelf.database)
    try queue.write { try $0.execute(sql: "UPDATE undo SET steps = x'7b7d' WHERE number = 1") }
    try queue.close()
    var again = try shelf.open()
    #expect(again.replica.undo.entries.isEmpty)
    #expect(try shelf.contents(again.replica) == ["text 1", "text 2"])
    try perform(.setPriority(MessageID(high: 7, low: 1), .urgent), shelf, &again)
    try again.store.close()
    again = try shelf.open()
    try perform(.undo, shelf, &again)
    #expect(try again.replica.workspace.message(MessageID(high: 7, low: 1)).priority == .normal)
    try again.store.close()
  }

  @Test func entriesComeLatestFirst() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    for number in 1...5 as ClosedRange<UInt64> { try shelf.send(number, &open) }
    let all = try open.store.entries(after: 0, countMax: 100)
    let back = try open.store.entries(before: .max, countMax: 100)
    #expect(back == all.reversed())
    let page = try open.store.entries(before: all[3].id, countMax: 2)
    #expect(page.map(\.id) == [all[2].id, all[1].id])
    try open.store.close()
  }
}
