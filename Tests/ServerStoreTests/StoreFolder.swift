import Foundation
import QueueModel
import SequenceCRDT
import ServerCore
import ServerStore

/// A temporary data directory that goes with its owner.
final class StoreFolder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "cospool-server-store-" + UUID().uuidString
  }

  deinit {
    // What is left is the system's to clean.
    try? FileManager.default.removeItem(atPath: path)
  }

  var databasePath: String { path + "/" + ServerDatabase.fileName }

  func open(_ purpose: ServerDatabase.Purpose = .serving) throws -> ServerDatabase {
    try ServerDatabase.open(directory: path, for: purpose)
  }
}

enum Sample {
  static let device = DeviceID(high: 3, low: 0xFFFF_FFFF_FFFF_FFFF)
  /// The upper half of the range, which SQLite's integers hold as negative numbers.
  static let replica = ReplicaID(rawValue: 0xF000_0000_0000_0001)
  static let now: Int64 = 1_700_000_000_000

  static func proposal(_ name: String, _ number: UInt64 = 1) -> WorkspaceProposal {
    WorkspaceProposal(
      name: name, id: WorkspaceID(high: 0x8000_0000_0000_0000, low: number),
      logIdentity: 0xDEAD_BEEF_0000_0000 + number, createdAt: now)
  }

  static func redemption(
    code: [UInt8], device: DeviceID = device, token: [UInt8] = [7, 7], at wall: Int64 = now,
    devicesMax: Int = 100
  ) -> CodeRedemption {
    CodeRedemption(
      codeHash: code, device: device, deviceName: "laptop", tokenHash: token,
      wallMilliseconds: wall, failuresMax: 5, devicesMax: devicesMax)
  }

  static func append(
    _ workspace: WorkspaceID, _ position: UInt64, _ first: UInt32, _ last: UInt32,
    replica: ReplicaID = replica
  ) -> LogAppend {
    LogAppend(
      workspace: workspace, position: position, delta: [UInt8(position), 0, 255],
      rows: [
        LogRow(
          range: OperationRange(replica: replica, first: first, last: last),
          digest: UInt64.max - position, device: device)
      ])
  }
}
