import ClientCore
import ClientStore
import Foundation
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

/// Files that were restored from a backup, copied or left behind: new operations in them get ids of
/// their own, and waiting ones keep their ids.
@Suite struct CopyTests {
  private func copyDatabase(from: String, to: String) throws {
    let manager = FileManager.default
    for suffix in ["", "-wal", "-shm"] {
      try? manager.removeItem(atPath: to + suffix)
      if manager.fileExists(atPath: from + suffix) {
        try manager.copyItem(atPath: from + suffix, toPath: to + suffix)
      }
    }
  }

  private func ids(_ outcomes: CommandOutcome...) -> Set<OperationID> {
    Set(outcomes.flatMap(\.operations).map(\.id))
  }

  @Test func reopenedStoreIsTheSameWithAnotherAuthor() throws {
    let directory = try StoreDirectory()
    var first = try directory.open()
    let before = try directory.send(1, &first)
    try first.store.close()
    var second = try directory.open()
    #expect(second.replica.record == first.replica.record)
    let after = try directory.send(2, &second)
    #expect(before.operations[0].id.replica != after.operations[0].id.replica)
    #expect(second.replica.record.outbox.ranges.count == 2)
    #expect(
      second.replica.workspace.device(of: after.operations[0].id.replica)?.id
        == second.replica.record.device)
    try second.store.close()
  }

  @Test func restoredDatabaseKeepsUnsentIDsAndUsesNoneTwice() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    let unsent = try directory.send(1, &open)
    try open.store.close()
    let backup = directory.path + "/backup"
    try copyDatabase(from: directory.database, to: backup)
    var later = try directory.open()
    let lost = try directory.send(2, &later)
    try later.store.close()
    try copyDatabase(from: backup, to: directory.database)
    var restored = try directory.open()
    #expect(restored.replica.record == open.replica.record)
    #expect(try directory.contents(restored.replica) == ["text 1"])
    let logged = try restored.store.entries(after: 0, countMax: 100).flatMap(\.operations)
    #expect(Set(logged).isSuperset(of: unsent.operations))
    #expect(ids(unsent).allSatisfy(restored.replica.record.outbox.contains))
    let fresh = try directory.send(3, &restored)
    #expect(ids(fresh).isDisjoint(with: ids(lost, unsent)))
    try restored.store.close()
  }

  @Test func clonedDirectoryIsTheSameStoreWithAnotherAuthor() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    let unsent = try directory.send(1, &open)
    try open.store.close()
    let clone = try StoreDirectory(copying: directory)
    var cloned = try clone.open()
    // Leases belong to the store: their tokens distinguish the two.
    #expect(cloned.replica.record == open.replica.record)
    #expect(try clone.contents(cloned.replica) == ["text 1"])
    let there = try clone.send(2, &cloned)
    var original = try directory.open()
    let here = try directory.send(3, &original)
    #expect(ids(here).isDisjoint(with: ids(there, unsent)))
    try cloned.store.close()
    try original.store.close()
  }

  @Test func databaseInAnotherDevicesDirectoryIsAnotherStoreOfThatDevice() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    let unsent = try directory.send(1, &open)
    try open.store.close()
    try "00000000-0000-0000-0000-0000000000ff\n".write(
      toFile: directory.path + "/device", atomically: true, encoding: .utf8)
    var again = try directory.open()
    #expect(again.replica.record.device.low == 0xFF)
    #expect(again.replica.record.store != open.replica.record.store)
    #expect(again.replica.record.outbox == open.replica.record.outbox)
    let fresh = try directory.send(2, &again)
    let workspace = again.replica.workspace
    #expect(workspace.device(of: fresh.operations[0].id.replica)?.id.low == 0xFF)
    #expect(workspace.device(of: unsent.operations[0].id.replica)?.id.low == 1)
    try again.store.close()
    // The change is stored.
    let settled = try directory.open()
    #expect(settled.replica.record == again.replica.record)
    try settled.store.close()
  }

  @Test func deviceIDIsMadeOnceAndKept() throws {
    let directory = try StoreDirectory()
    let first = try DeviceIdentity.load(directory: directory.path, fresh: DeviceID(high: 1, low: 2))
    let second = try DeviceIdentity.load(
      directory: directory.path, fresh: DeviceID(high: 3, low: 4))
    #expect(first == second)
    let attributes = try FileManager.default.attributesOfItem(atPath: directory.path + "/device")
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  /// A store that was open when the machine lost power may have sent what never reached its disk.
  @Test func operationsLostWithThePowerAreNotWrittenAgainUnderTheirIDs() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    let before = try directory.snapshot()
    // Sent without waiting for the disk: the power fails before the data is on it.
    let sent = try directory.send(2, &open, waitsForDisk: false)
    #expect(!open.store.isSynchronized)
    try open.store.close()
    for (name, bytes) in before { try directory.overwrite(name, with: bytes) }
    var after = try directory.open()
    #expect(try directory.contents(after.replica) == ["text 1"])
    let fresh = try directory.send(3, &after)
    #expect(ids(sent).isDisjoint(with: ids(fresh)))
    // The server's operations of the earlier id come back under that id.
    _ = try after.replica.merge(
      Replica.Delivery(
        operations: sent.operations, prefix: LogPrefix(position: 9, chain: 1)),
      at: directory.context(), store: after.store)
    #expect(try Set(directory.contents(after.replica)) == ["text 1", "text 2", "text 3"])
    try after.store.close()
  }

  /// If only the process dies, the system keeps what it wrote.
  @Test func writesThatDidNotWaitForTheDiskSurviveTheProcess() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open, waitsForDisk: false)
    let left = try directory.snapshot()
    try open.store.close()
    for (name, bytes) in left { try directory.overwrite(name, with: bytes) }
    let again = try directory.open()
    #expect(try directory.contents(again.replica) == ["text 1"])
    try again.store.close()
  }
}
