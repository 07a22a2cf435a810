import ClientCore
import ClientStore
import QueueModel
import SequenceCRDT
import Testing

/// What the server holds is stored without waiting for the disk; everything else waits.
@Suite struct SynchronizationTests {
  private func deliver(
    _ operations: [QueueModel.Operation], at position: UInt64, _ shelf: Shelf,
    _ open: inout Shelf.Open
  ) throws {
    _ = try open.replica.merge(
      Replica.Delivery(operations: operations, logPosition: position), at: shelf.occasion(),
      store: open.store)
  }

  @Test func whatTheServerHoldsDoesNotWaitForTheDisk() throws {
    let (other, shelf) = (try Shelf(seed: 1 << 20), try Shelf())
    var author = try other.open()
    var open = try shelf.open()
    let announcement = try author.store.entries(after: 0, countMax: 9).flatMap(\.operations)
    let first = try other.send(1, &author).operations
    try deliver(announcement + first, at: 1, shelf, &open)
    #expect(!open.store.isSynchronized)
    try open.store.synchronize()
    #expect(open.store.isSynchronized)
    try deliver(try other.send(2, &author).operations, at: 2, shelf, &open)
    #expect(!open.store.isSynchronized)
    // A command takes along what came before.
    let own = try shelf.send(3, &open).operations
    #expect(open.store.isSynchronized)
    let last = try other.send(4, &author).operations
    try deliver(last, at: 3, shelf, &open)
    #expect(!open.store.isSynchronized)
    try open.store.close()
    open = try shelf.open()
    // An earlier process may have left what is not on disk.
    #expect(!open.store.isSynchronized)
    #expect(try shelf.contents(open.replica) == ["text 1", "text 2", "text 3", "text 4"])
    #expect(!open.needsFreshReplica)
    #expect(open.replica.workspace.vector.contains(own[0].id))
    #expect(open.replica.record.logPosition == 3)
  }

  /// A copy of this store wrote under its ids, which must not be used a second time.
  @Test func ownOperationsThatComeFromTheServerWaitForTheDisk() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    var ahead = open.replica.workspace
    var clock = HybridClock(latest: ahead.latestStamp)
    let written = try ahead.perform(
      .send(
        Command.Send(
          session: try SessionID("a"), id: MessageID(high: 7, low: 1), text: "from the copy")),
      in: CommandContext(
        replica: open.replica.record.replica,
        stamp: clock.tick(milliseconds: shelf.occasion().wall)))
    try deliver(written.operations, at: 1, shelf, &open)
    #expect(try shelf.contents(open.replica) == ["from the copy"])
    #expect(open.store.isSynchronized)
  }
}
