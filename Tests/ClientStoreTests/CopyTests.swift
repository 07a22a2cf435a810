import ClientCore
import ClientStore
import Foundation
import QueueModel
import SequenceCRDT
import Testing

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

  @Test func reopenedStoreKeepsItsReplica() throws {
    let shelf = try Shelf()
    let first = try shelf.open()
    try first.store.close()
    let second = try shelf.open()
    #expect(second.replica.record.replica == first.replica.record.replica)
    #expect(second.replica.record.incarnation == 1)
    try second.store.close()
  }

  @Test func restoredDatabaseTakesAFreshReplicaAndKeepsUnsentIDs() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    let unsent = try shelf.send(1, &open)
    try open.store.close()
    let backup = shelf.path + "/backup"
    try copyDatabase(from: shelf.database, to: backup)
    var later = try shelf.open()
    #expect(!later.needsFreshReplica)
    let lost = try shelf.send(2, &later)
    try later.store.close()
    try copyDatabase(from: backup, to: shelf.database)
    var restored = try shelf.open()
    #expect(restored.needsFreshReplica)
    #expect(restored.replica.record.replica != open.replica.record.replica)
    #expect(restored.replica.record.incarnation == 2)
    #expect(try shelf.contents(restored.replica) == ["text 1"])
    let logged = try restored.store.entries(after: 0, countMax: 100).flatMap(\.operations)
    #expect(Set(logged).isSuperset(of: unsent.operations))
    let fresh = try shelf.send(3, &restored)
    let reused = Set(lost.operations.map(\.id)).intersection(fresh.operations.map(\.id))
    #expect(reused.isEmpty)
    // The fresh replica announced itself first.
    let own = logged.filter { $0.id.replica == restored.replica.record.replica }
    guard case .announceDevice = own.first?.body else {
      Issue.record("the first operation is \(String(describing: own.first))")
      return
    }
    try restored.store.close()
    let settled = try shelf.open()
    #expect(!settled.needsFreshReplica)
    try settled.store.close()
  }

  @Test func clonedDirectoryTakesAFreshReplica() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    try shelf.send(1, &open)
    try open.store.close()
    let clone = try Shelf(copying: shelf)
    let cloned = try clone.open()
    #expect(cloned.needsFreshReplica)
    #expect(cloned.replica.record.replica != open.replica.record.replica)
    #expect(try clone.contents(cloned.replica) == ["text 1"])
    try cloned.store.close()
    let original = try shelf.open()
    #expect(!original.needsFreshReplica)
    try original.store.close()
  }

  @Test func lostIncarnationFileTakesAFreshReplica() throws {
    let shelf = try Shelf()
    let open = try shelf.open()
    try open.store.close()
    try FileManager.default.removeItem(atPath: shelf.path + "/incarnation")
    let again = try shelf.open()
    #expect(again.needsFreshReplica)
    #expect(again.replica.record.incarnation == 2)
    try again.store.close()
  }

  @Test func fileThatFellBehindIsNoCopy() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    let path = shelf.path + "/incarnation"
    let early = try Data(contentsOf: URL(fileURLWithPath: path))
    try shelf.send(1, &open)
    try open.store.close()
    // A crash may lose the latest update of the file; it is written in place here as well.
    let handle = try #require(FileHandle(forUpdatingAtPath: path))
    try handle.write(contentsOf: early)
    try handle.close()
    let again = try shelf.open()
    #expect(!again.needsFreshReplica)
    try again.store.close()
  }

  @Test func databaseInAnotherDevicesDirectoryAnnouncesThatDevice() throws {
    let shelf = try Shelf()
    let open = try shelf.open()
    try open.store.close()
    try "00000000-0000-0000-0000-0000000000ff\n".write(
      toFile: shelf.path + "/device", atomically: true, encoding: .utf8)
    let again = try shelf.open()
    #expect(again.replica.record.device.low == 0xFF)
    let announced = again.replica.workspace.device(of: again.replica.record.replica)
    #expect(announced?.id.low == 0xFF)
    #expect(again.replica.record.replica != open.replica.record.replica)
    try again.store.close()
  }

  @Test func deviceIDIsMadeOnceAndKept() throws {
    let shelf = try Shelf()
    let first = try DeviceIdentity.load(directory: shelf.path, fresh: DeviceID(high: 1, low: 2))
    let second = try DeviceIdentity.load(directory: shelf.path, fresh: DeviceID(high: 3, low: 4))
    #expect(first == second)
    let attributes = try FileManager.default.attributesOfItem(atPath: shelf.path + "/device")
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  /// A store that was open when the machine went down may have sent what its disk never had.
  @Test func storeLeftOpenInAnotherRunOfTheMachineTakesAFreshReplica() throws {
    let shelf = try Shelf()
    var open = try shelf.open(boot: "one")
    try shelf.send(1, &open)
    let before = try shelf.snapshot()
    // Sent, and only then to be waited for: the power fails in between.
    let sent = try shelf.send(2, &open, waitsForDisk: false)
    #expect(!open.store.isSynchronized)
    try open.store.close()
    for (name, bytes) in before { try shelf.overwrite(name, with: bytes) }
    var after = try shelf.open(boot: "two")
    #expect(after.needsFreshReplica)
    #expect(after.replica.record.incarnation == open.replica.record.incarnation + 1)
    #expect(try shelf.contents(after.replica) == ["text 1"])
    let fresh = try shelf.send(3, &after)
    #expect(Set(sent.operations.map(\.id)).isDisjoint(with: fresh.operations.map(\.id)))
    // What the server has of the earlier id comes back under it.
    _ = try after.replica.merge(
      Replica.Delivery(operations: sent.operations, logPosition: 9), at: shelf.occasion(),
      store: after.store)
    #expect(try Set(shelf.contents(after.replica)) == ["text 1", "text 2", "text 3"])
    try after.store.close()
  }

  @Test func storeClosedInOrderKeepsItsReplicaInAnotherRun() throws {
    let shelf = try Shelf()
    let first = try shelf.open(boot: "one")
    try first.store.close()
    let second = try shelf.open(boot: "two")
    #expect(!second.needsFreshReplica)
    #expect(second.replica.record.replica == first.replica.record.replica)
    try second.store.close()
  }

  /// Where the process alone dies, the system keeps what it wrote.
  @Test func storeLeftOpenInTheSameRunKeepsItsReplica() throws {
    let shelf = try Shelf()
    var open = try shelf.open(boot: "one")
    try shelf.send(1, &open, waitsForDisk: false)
    let left = try shelf.snapshot()
    try open.store.close()
    for (name, bytes) in left { try shelf.overwrite(name, with: bytes) }
    let again = try shelf.open(boot: "one")
    #expect(!again.needsFreshReplica)
    #expect(try shelf.contents(again.replica) == ["text 1"])
    try again.store.close()
  }

  /// A crash between the opening and the first commit leaves the need for a fresh replica.
  @Test func freshReplicaIsNotForgottenBeforeItIsStored() throws {
    let shelf = try Shelf()
    let open = try shelf.open(boot: "one")
    let left = try shelf.snapshot()
    try open.store.close()
    for (name, bytes) in left { try shelf.overwrite(name, with: bytes) }
    for _ in 0..<2 {
      let opened = try ClientStore.open(directory: shelf.path, boot: "two")
      #expect(opened.needsFreshReplica)
      try opened.store.close()
    }
    let settled = try shelf.open(boot: "two")
    #expect(settled.needsFreshReplica)
    try settled.store.close()
    let next = try shelf.open(boot: "three")
    #expect(!next.needsFreshReplica)
    try next.store.close()
  }

  @Test func everythingWaitsForTheDiskWhereRunsCannotBeTold() throws {
    let shelf = try Shelf()
    var open = try shelf.open(boot: nil)
    try shelf.send(1, &open, waitsForDisk: false)
    #expect(open.store.isSynchronized)
    try open.store.close()
  }

  @Test func thisMachineTellsItsRun() {
    #expect(BootIdentity.current?.isEmpty == false)
  }
}
