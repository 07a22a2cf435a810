import Foundation
import QueueModel
import ServerCore
import ServerStore
import Testing
import WireProtocol

/// A temporary data directory that is removed with its owner.
final class StoreFolder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "cospool-server-store-" + UUID().uuidString
  }

  deinit {
    // The system cleans up the rest.
    try? FileManager.default.removeItem(atPath: path)
  }

  var databasePath: String { path + "/" + ServerDatabase.fileName }

  func open(_ purpose: ServerDatabase.Purpose = .serving) throws -> ServerDatabase {
    try ServerDatabase.open(directory: path, for: purpose)
  }
}

enum Sample {
  static let device = DeviceID(high: 3, low: 0xFFFF_FFFF_FFFF_FFFF)
  /// In the upper half of the range, which SQLite's integers hold as negative numbers.
  static let firstChain: UInt64 = 0xDEAD_BEEF_0000_0000
  static let now: Int64 = 1_700_000_000_000

  static func proposal(_ name: String, _ number: UInt64 = 1) -> WorkspaceProposal {
    WorkspaceProposal(
      name: name, id: WorkspaceID(high: 0x8000_0000_0000_0000, low: number),
      firstChain: firstChain + number, createdAt: now)
  }

  static func redemption(
    code: [UInt8], device: DeviceID = device, token: [UInt8] = [7, 7], at wall: Int64 = now,
    devicesMax: Int = 100
  ) -> CodeRedemption {
    CodeRedemption(
      codeHash: code, device: device, deviceName: "laptop", tokenHash: token,
      wallMilliseconds: wall, failuresMax: 5, devicesMax: devicesMax)
  }

  /// A log of this number of entries after a prefix, each of three bytes.
  static func log(_ count: Int, behind start: LogPrefix) -> [LogEntry] {
    var prefix = start
    return (0..<count).map { _ in
      let delta: [UInt8] = [UInt8(truncatingIfNeeded: prefix.position + 1), 0, 255]
      prefix = prefix.appending(delta)
      return LogEntry(prefix: prefix, content: .delta(delta))
    }
  }
}

extension ServerDatabase {
  /// Commits as the process that serves the workspaces: with the marks of the store.
  func commitKnowingMarks(_ batch: CommitBatch) throws(StorageFault) {
    var batch = batch
    for workspace in batch.changedWorkspaces.union(batch.touches.map(\.workspace)) {
      batch.marks[workspace] = try header(of: workspace)?.mark
    }
    let result = try commit(batch)
    #expect(result.lost.isEmpty)
  }

  /// Appends one entry.
  func append(
    _ entry: LogEntry, to workspace: WorkspaceID, at wallMilliseconds: Int64
  ) throws(StorageFault) {
    var batch = CommitBatch()
    batch.wallMilliseconds = wallMilliseconds
    batch.appends = [(workspace, entry)]
    try commitKnowingMarks(batch)
  }

  /// Appends this number of entries in one transaction.
  func write(_ count: Int, to workspace: WorkspaceID) throws -> [LogEntry] {
    let entries = Sample.log(count, behind: try #require(try header(of: workspace)).head)
    var batch = CommitBatch()
    batch.appends = entries.map { (workspace, $0) }
    try commitKnowingMarks(batch)
    return entries
  }
}
