import Foundation
import Operations
import QueueModel
import SequenceCRDT
import ServerCore
import ServerStore
import Testing
import WireProtocol

@testable import SyncServer

/// Faults of the database and of pushes, planted where they would occur.
extension ServerDoctorTests {
  @Test func aDatabaseOfANewerVersionIsReported() async throws {
    try await withDirectory { directory in
      // The name of the latest step, in the table and in its index.
      let path = directory + "/" + ServerDatabase.fileName
      var bytes = Array(try Data(contentsOf: URL(filePath: path)))
      let (known, future) = (Array("2026-11 quotas".utf8), Array("9999-11 quotas".utf8))
      var count = 0
      for start in bytes.indices.dropLast(known.count)
      where bytes[start] == known[0] && Array(bytes[start..<start + known.count]) == known {
        bytes.replaceSubrange(start..<start + known.count, with: future)
        count += 1
      }
      #expect(count > 0)
      try Data(bytes).write(to: URL(filePath: path))
      expect(await Self.findings(of: directory), "storeVersion", .error, "newer version")
    }
  }

  @Test func aLogThatOnlyGrowsIsReported() async throws {
    try await ServerFixture.with { fixture in
      _ = try await fixture.pair(1)
      let quiet = await Self.findings(of: fixture.directory)
      #expect(!quiet.contains { $0.code == "storeLog" })
      // The server has it open, so it is neither read from its beginning nor removed. Sparse.
      let log = try FileHandle(
        forWritingTo: URL(filePath: fixture.directory + "/" + ServerDatabase.fileName + "-wal"))
      try log.truncate(atOffset: UInt64(DoctorFinding.logBytesHigh) + 1)
      try log.close()
      expect(await Self.findings(of: fixture.directory), "storeLog", .warning, "512 MiB")
    }
  }

  @Test func pushesThatDoNotArriveAreReported() async throws {
    try await ServerFixture.with { fixture in
      let device = try await fixture.pair(1)
      let directory = fixture.directory
      expect(await Self.findings(of: directory), "pushSettings", .ok)
      await fixture.server.stop()
      let database = try ServerDatabase.open(directory: directory, for: .administration)
      defer { try? database.close() }
      func change(_ body: (inout InboxChanges) throws -> Void) throws {
        var changes = InboxChanges()
        try body(&changes)
        var batch = CommitBatch()
        batch.inboxes = [(device.workspaceID, changes)]
        try database.commitKnowingMarks(batch)
      }
      func target(_ low: UInt64, isValid: Bool, reason: String) -> PushTargetRecord {
        PushTargetRecord(
          device: DeviceID(high: 9, low: 1), id: PushTargetID(high: 1, low: low), kind: "ntfy",
          address: "ntfy+https://n.example/t\(low)", shownAddress: "ntfy …\(low)",
          isValid: isValid, reason: reason, registeredAt: 5)
      }
      try change {
        $0.targets = [
          .set(target(1, isValid: true, reason: "")),
          .set(target(2, isValid: false, reason: "410 Unregistered")),
        ]
      }
      let notification = StoredNotification(
        position: 1, name: OperationID(replica: ReplicaID(rawValue: 4), seq: 1),
        event: .approval(tool: "Bash", summary: "make", details: nil),
        session: try SessionID("main"), request: RequestID(high: 1, low: 1), milliseconds: 1)
      try change {
        $0.posted = [notification]
        $0.entries = [
          InboxEntry(device: DeviceID(high: 9, low: 1), position: 1, isPushed: true)
        ]
        $0.orders = [
          PushOrder(
            kind: .alert, device: DeviceID(high: 9, low: 1), notification: notification,
            showsDetails: false)
        ]
      }
      try database.takePushOrders(at: 10)
      let due = try #require(try database.dueDeliveries(at: 10, limit: 1).due.first)
      try database.settle(
        [SettledDelivery(key: due.key, result: .dead(reason: "503, ten times"))], at: 10)
      expect(await Self.findings(of: directory), "pushGivenUp", .info, "503, ten times")

      try database.note(problem: "InvalidProviderToken", of: "ntfy", at: 1)
      let held = await Self.findings(of: directory)
      expect(held, "pushHeldUp", .error, "InvalidProviderToken")
      expect(
        held, "pushTarget", .warning, "ntfy …2 of device d1 receives no pushes: 410 Unregistered")
    }
  }
}
