import ClientCore
import ClientStore
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

/// Operations that the server holds are stored without waiting for the disk; everything else waits.
@Suite struct SynchronizationTests {
  private func deliver(
    _ operations: [QueueModel.Operation], at position: UInt64, _ directory: StoreDirectory,
    _ open: inout StoreDirectory.Open
  ) throws {
    _ = try open.replica.merge(
      Replica.Delivery(
        operations: operations, prefix: LogPrefix(position: position, chain: position)),
      at: directory.context(), store: open.store)
  }

  @Test func operationsOnTheServerDoNotWaitForTheDisk() throws {
    let (other, directory) = (try StoreDirectory(seed: 1 << 20), try StoreDirectory())
    var author = try other.open()
    var open = try directory.open()
    try other.send(1, &author)
    let first = try author.store.entries(after: 0, countMax: 9).flatMap(\.operations)
    try deliver(first, at: 1, directory, &open)
    #expect(!open.store.isSynchronized)
    try open.store.synchronize()
    #expect(open.store.isSynchronized)
    try deliver(try other.send(2, &author).operations, at: 2, directory, &open)
    #expect(!open.store.isSynchronized)
    // A command takes everything before it to the disk, too.
    let own = try directory.send(3, &open).operations
    #expect(open.store.isSynchronized)
    let last = try other.send(4, &author).operations
    try deliver(last, at: 3, directory, &open)
    #expect(!open.store.isSynchronized)
    try open.store.close()
    open = try directory.open()
    // An earlier process may have left data that is not on the disk.
    #expect(!open.store.isSynchronized)
    #expect(try directory.contents(open.replica).sorted() == (1...4).map { "text \($0)" })
    #expect(open.replica.workspace.vector.contains(own[0].id))
    #expect(open.replica.record.prefix.position == 3)
  }
}
