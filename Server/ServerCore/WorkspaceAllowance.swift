import QueueModel
import SequenceCRDT
import WireProtocol

/// The limits of a workspace, its own or the server's, and its use of today.
struct WorkspaceAllowance: Sendable {
  /// The workspace's own limits.
  var quota = WorkspaceQuota()
  private var written = DailyWrites()

  /// Adopts the values read from the store.
  mutating func refresh(from header: WorkspaceHeader) {
    quota = header.quota
    written = header.written
  }

  /// The byte limit of the workspace's state alone.
  func stateBytesMax(_ usual: ServerConfiguration.Quota) -> Int {
    min(quota.bytesMax ?? usual.bytesMax, usual.stateBytesMax)
  }

  /// The byte limit of the log between two snapshots, even for few entries. A workspace with low
  /// limits must not be refused because of data that a snapshot would drop.
  func tailBytesMax(_ configuration: ServerConfiguration) -> Int {
    min(configuration.log.snapshotBytes, (quota.bytesMax ?? configuration.quota.bytesMax) / 8)
  }

  /// The unit limit of the workspace.
  func unitsMax(_ usual: ServerConfiguration.Quota) -> UInt64 {
    min(quota.unitsMax ?? usual.unitsMax, WorkspaceQuota.unitsMaxMax)
  }

  /// The objection to more on this day, if any. The last batch of a day is accepted as a whole and
  /// spends the rest; otherwise a state larger than a day's share could never arrive.
  func dayObjection(
    _ usual: ServerConfiguration.Quota, at now: ServerTime
  ) -> ResidentWorkspace.Rejection? {
    let dailyMax = quota.dailyBytesMax ?? usual.dailyBytesMax
    guard written.bytes(at: now.wallMilliseconds) >= dailyMax else { return nil }
    let day = DailyWrites.dayMilliseconds
    return .tooMuch(
      "the workspace has used its daily quota of \(dailyMax >> 20) MiB; "
        + "it continues at midnight (UTC); its owner can raise it: cospool-server workspace quota",
      retryAfterMilliseconds: UInt32(clamping: day - now.wallMilliseconds % day))
  }

  /// A batch was accepted.
  mutating func took(_ bytes: Int, at now: ServerTime) {
    written.add(bytes, at: now.wallMilliseconds)
  }

  /// The objection to this many more bytes, if any.
  func objection(
    to bytes: Int, on log: WorkspaceLog, units: UInt64, _ usual: ServerConfiguration.Quota,
    at now: ServerTime
  ) -> ResidentWorkspace.Rejection? {
    let bytesMax = quota.bytesMax ?? usual.bytesMax
    guard log.storedBytes + bytes <= bytesMax else {
      return .tooMuch(
        "the workspace has used its quota of "
          + "\(bytesMax >> 20) MiB; its owner can raise it: "
          + "cospool-server workspace quota")
    }
    guard log.snapshotBytes <= usual.stateBytesMax else {
      return .tooMuch(
        "the workspace's state has more than \(usual.stateBytesMax >> 20) MiB, the limit for devices: "
          + "begin a new workspace")
    }
    guard units <= unitsMax(usual) else {
      return .tooMuch(
        "the workspace has reached its limit of units of text and changes, "
          + "\(unitsMax(usual))")
    }
    return dayObjection(usual, at: now)
  }
}

extension ResidentWorkspace.Rejection {
  static func tooMuch(
    _ message: String, retryAfterMilliseconds: UInt32? = nil
  ) -> ResidentWorkspace.Rejection {
    ResidentWorkspace.Rejection(
      code: .limitReached, message: message, retryAfterMilliseconds: retryAfterMilliseconds)
  }
}

extension Workspace {
  /// The number of letters, places and changes ever made.
  ///
  /// - Complexity: O(replicas).
  var units: UInt64 { vector.sorted.reduce(0) { $0 + UInt64($1.seq) } }
}
