import ClientCore
import ClientStore
import DeltaCodec
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

  /// Puts the rows back into the form they had before the step `undoForm`.
  private func rewriteAsJSON(
    _ shelf: Shelf, changing: (Int64, Data) -> Data = { _, json in json }
  ) throws {
    let queue = try DatabaseQueue(path: shelf.database)
    try queue.write { database in
      for row in try Row.fetchAll(database, sql: "SELECT number, steps FROM undo") {
        let group = try UndoCodec.decode(Array(row[1] as Data))
        try database.execute(
          sql: "UPDATE undo SET steps = ? WHERE number = ?",
          arguments: [changing(row[0], try JSONEncoder().encode(group)), row[0] as Int64])
      }
      try database.execute(
        sql: """
          DELETE FROM grdb_migrations WHERE identifier = 'undoForm';
          PRAGMA user_version = 6;
          """)
    }
    try queue.close()
  }

  private func workedShelf() throws -> Shelf {
    let shelf = try Shelf()
    var open = try shelf.open()
    for number in 1...5 as ClosedRange<UInt64> { try shelf.send(number, &open) }
    let id = MessageID(high: 7, low: 1)
    try perform(.edit(id, content: "text one 👍", base: nil), shelf, &open)
    try perform(.move([id], to: .position(5)), shelf, &open)
    try perform(.cancel([MessageID(high: 7, low: 3)]), shelf, &open)
    try perform(.renameSession(SessionID("a"), name: "other"), shelf, &open)
    try perform(.undo, shelf, &open)
    try open.store.close()
    return shelf
  }

  @Test func rowsOfJSONAreRewrittenAndGoOn() throws {
    let shelf = try workedShelf()
    let before = try shelf.open()
    let entries = before.replica.undo.entries
    #expect(entries.count == 9)
    try before.store.close()
    try rewriteAsJSON(shelf)
    var open = try shelf.open()
    #expect(open.replica.undo.entries == entries)
    try perform(.undo, shelf, &open)
    try perform(.undo, shelf, &open)
    try perform(.undo, shelf, &open)
    #expect(
      try shelf.contents(open.replica) == ["text 1", "text 2", "text 3", "text 4", "text 5"])
    try open.store.close()
  }

  @Test(arguments: ["{}", "[]", "", "\u{1}"])
  func rowsThatWereUnreadableBeforeAreLeftOut(_ row: String) throws {
    let shelf = try workedShelf()
    try rewriteAsJSON(shelf) { number, json in number == 3 ? Data(row.utf8) : json }
    let open = try shelf.open()
    #expect(open.replica.undo.entries.isEmpty)
    #expect(try shelf.contents(open.replica).count == 4)
    try open.store.close()
  }

  /// JSON was taken for what it said: a range that ends before it begins, and operation 0.
  @Test(arguments: [
    ("\"first\":", "\"first\":4000000000, \"was\":"), ("\"seq\":", "\"seq\":0, \"was\":"),
  ])
  func jsonThatSaysWhatCannotBeIsLeftOut(_ part: (old: String, new: String)) throws {
    let shelf = try workedShelf()
    var changed = 0
    try rewriteAsJSON(shelf) { _, json in
      let text = String(decoding: json, as: UTF8.self)
      let other = text.replacing(part.old, with: part.new)
      if other != text { changed += 1 }
      return Data(other.utf8)
    }
    #expect(changed > 0)
    let open = try shelf.open()
    #expect(open.replica.undo.entries.isEmpty)
    try open.store.close()
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
