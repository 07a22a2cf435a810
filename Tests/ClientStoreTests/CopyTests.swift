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
    #expect(!later.isCopy)
    let lost = try shelf.send(2, &later)
    try later.store.close()
    try copyDatabase(from: backup, to: shelf.database)
    var restored = try shelf.open()
    #expect(restored.isCopy)
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
    #expect(!settled.isCopy)
    try settled.store.close()
  }

  @Test func clonedDirectoryTakesAFreshReplica() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    try shelf.send(1, &open)
    try open.store.close()
    let clone = try Shelf(copying: shelf)
    let cloned = try clone.open()
    #expect(cloned.isCopy)
    #expect(cloned.replica.record.replica != open.replica.record.replica)
    #expect(try clone.contents(cloned.replica) == ["text 1"])
    try cloned.store.close()
    let original = try shelf.open()
    #expect(!original.isCopy)
    try original.store.close()
  }

  @Test func lostIncarnationFileTakesAFreshReplica() throws {
    let shelf = try Shelf()
    let open = try shelf.open()
    try open.store.close()
    try FileManager.default.removeItem(atPath: shelf.path + "/incarnation")
    let again = try shelf.open()
    #expect(again.isCopy)
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
    #expect(!again.isCopy)
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
}
