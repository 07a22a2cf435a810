import ClientCore
import ClientStore
import QueueModel
import Testing

/// Boxes of outgoing messages in the database file.
@Suite struct OutgoingStoreTests {
  private func message(_ number: UInt64) throws -> QueuedMessage {
    QueuedMessage(
      message: OutgoingMessage(
        id: MessageID(high: 5, low: number), session: try SessionID("a"), content: "c\(number)"),
      sequence: number, queuedAt: 1)
  }

  @Test func aSendIsNotedInTheTransactionOfItsOperations() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    try directory.send(2, &open)
    // Sending the same message again adds nothing.
    try directory.send(2, &open)
    let box = try open.store.outgoing(in: ClientStore.syncBox)
    #expect(box.messages.map(\.sequence) == [1, 2])
    #expect(box.messages.map(\.id.low) == [1, 2])
    #expect(box.lastSequence == 2)
    try open.store.close()
    #expect(try directory.open().store.outgoing(in: ClientStore.syncBox).messages == box.messages)
  }

  @Test func recentlySentMessagesAreBounded() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    let last = UInt64(ClientStore.syncBoxMax) + 99
    try open.store.keep(
      OutgoingQueue.Changes(written: [try message(1), try message(100), try message(last)]),
      lastSequence: last, in: ClientStore.syncBox)
    try directory.send(1, &open)
    let box = try open.store.outgoing(in: ClientStore.syncBox)
    #expect(box.lastSequence == last + 1)
    #expect(box.messages.map(\.sequence) == [last, last + 1])
  }

  @Test func boxesAreApart() throws {
    let directory = try StoreDirectory()
    let open = try directory.open()
    try open.store.keep(
      OutgoingQueue.Changes(written: [try message(1), try message(2)]), lastSequence: 2, in: "chat")
    #expect(try open.store.outgoing(in: "mail").messages.isEmpty)
    try open.store.keep(
      OutgoingQueue.Changes(removed: [try message(1).id, try message(2).id]), lastSequence: 2,
      in: "chat")
    let box = try open.store.outgoing(in: "chat")
    #expect(box.messages.isEmpty)
    // Numbering continues even if no message is left.
    #expect(box.lastSequence == 2)
  }
}
