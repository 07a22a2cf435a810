import ClientCore
import ClientStore
import Foundation
import QueueModel
import Testing
import WireProtocol

/// The commits of a device's store that have not waited for the disk yet.
@Suite struct SynchronizationTests {
  private func withDevice(_ body: (CrashDevice, CrashDevice.Process) throws -> Void) throws {
    let root = NSTemporaryDirectory() + "cospool-sync-\(UUID().uuidString)"
    let device = try CrashDevice(number: 0, root: root)
    defer {
      try? device.process?.store.close()
      CrashFileSystem.unmount(device.disk)
      try? FileManager.default.removeItem(atPath: root)
    }
    #expect(try device.start(EventContext(now: 0, wall: 1_000_000, random: 7)))
    try body(device, try #require(device.process))
  }

  /// A transaction that does not wait for the disk.
  private func commit(_ round: UInt64, _ device: CrashDevice, _ process: CrashDevice.Process) throws
  {
    var record = process.core.replica.record
    record.prefix.position = round
    var transaction = StoreTransaction(record: record)
    transaction.waitsForDisk = false
    let before = device.disk.statistics.syncs
    try process.store.commit(transaction)
    #expect(device.disk.statistics.syncs == before, "round \(round)")
  }

  @Test func synchronizingWaitsForTheDiskOnce() throws {
    try withDevice { device, process in
      for round: UInt64 in 1...3 {
        let before = device.disk.statistics.syncs
        try commit(round, device, process)
        try process.store.synchronize()
        #expect(device.disk.statistics.syncs > before, "round \(round)")
        let after = device.disk.statistics.syncs
        try process.store.synchronize()
        #expect(device.disk.statistics.syncs == after)
      }
    }
  }

  @Test func writesBesideTheQueuesAreWaitedFor() throws {
    try withDevice { device, process in
      let session = try SessionID("s")
      let stores: [(String, (ClientStore) throws -> Void)] = [
        (
          "a draft",
          { store in
            let hasRoom = try store.keep(Draft(session: session, text: "half", updatedAt: 1))
            #expect(hasRoom)
          }
        ),
        ("a draft that ends", { try $0.forgetDraft(of: session) }),
        ("a conversation", { try $0.keep(conversation: "c", of: session, with: "claude") }),
        (
          "a transaction",
          { store in
            var record = process.core.replica.record
            record.prefix.position = 99
            try store.commit(StoreTransaction(record: record))
          }
        ),
      ]
      for (index, (name, store)) in stores.enumerated() {
        // The commit before did not wait, which must not affect this one.
        try commit(UInt64(index + 1), device, process)
        let before = device.disk.statistics.syncs
        try store(process.store)
        #expect(device.disk.statistics.syncs > before, "\(name)")
      }
    }
  }
}
