import ClientCore
import ClientStore
import Foundation
import Testing

/// What a device's store has not waited for yet.
@Suite struct SynchronizationTests {
  @Test func synchronizingWaitsForTheDiskOnce() throws {
    let root = NSTemporaryDirectory() + "cospool-sync-\(UUID().uuidString)"
    let device = try CrashDevice(number: 0, root: root)
    defer {
      try? device.process?.store.close()
      CrashFileSystem.unmount(device.disk)
      try? FileManager.default.removeItem(atPath: root)
    }
    #expect(try device.start(Occasion(now: 0, wall: 1_000_000, random: 7)))
    let process = try #require(device.process)
    for round: UInt64 in 1...3 {
      var record = process.core.replica.record
      record.logPosition = round
      var transaction = StoreTransaction(record: record)
      transaction.waitsForDisk = false
      let before = device.disk.statistics.syncs
      try process.store.commit(transaction)
      #expect(device.disk.statistics.syncs == before)
      try process.store.synchronize()
      #expect(device.disk.statistics.syncs > before, "round \(round)")
      let after = device.disk.statistics.syncs
      try process.store.synchronize()
      #expect(device.disk.statistics.syncs == after)
    }
  }
}
