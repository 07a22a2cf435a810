import QueueModel
import SequenceCRDT
import WireProtocol

/// What a workspace may take: what its owner said, else the server's setting; and what it took today.
struct WorkspaceAllowance: Sendable {
  /// What the owner said.
  var quota = WorkspaceQuota()
  private var written = DailyWrites()

  /// Takes over what was read from the store.
  mutating func refresh(from header: WorkspaceHeader) {
    quota = header.quota
    written = header.written
  }

  /// Bytes that the workspace's state alone may have.
  func stateBytesMax(_ usual: ServerConfiguration.Quota) -> Int {
    min(quota.bytesMax ?? usual.bytesMax, usual.stateBytesMax)
  }

  /// Bytes that the log behind the latest snapshot may have before the next one, however few entries these
  /// are: a workspace that may take little must not be refused for what a snapshot would leave out.
  func tailBytesMax(_ configuration: ServerConfiguration) -> Int {
    min(configuration.log.snapshotBytes, (quota.bytesMax ?? configuration.quota.bytesMax) / 8)
  }

  /// Units that the workspace may have.
  func unitsMax(_ usual: ServerConfiguration.Quota) -> UInt64 {
    min(quota.unitsMax ?? usual.unitsMax, WorkspaceQuota.unitsMaxMax)
  }

  /// What speaks against more on this day, if anything. The last of a day is taken as a whole and spends
  /// the rest of it: a state that is larger than a day's share would never come in otherwise.
  func dayObjection(
    _ usual: ServerConfiguration.Quota, at now: ServerTime
  ) -> ResidentWorkspace.Rejection? {
    let dailyMax = quota.dailyBytesMax ?? usual.dailyBytesMax
    guard written.bytes(at: now.wallMilliseconds) >= dailyMax else { return nil }
    let day = DailyWrites.dayMilliseconds
    return .tooMuch(
      "the workspace has brought in all that it may on one day, \(dailyMax >> 20) MiB; "
        + "it goes on at midnight (UTC); its owner may raise that: cospool-server workspace quota",
      retryAfterMilliseconds: UInt32(clamping: day - now.wallMilliseconds % day))
  }

  /// A batch was taken.
  mutating func took(_ bytes: Int, at now: ServerTime) {
    written.add(bytes, at: now.wallMilliseconds)
  }

  /// What speaks against so many bytes more, if anything.
  func objection(
    to bytes: Int, on log: WorkspaceLog, units: UInt64, _ usual: ServerConfiguration.Quota,
    at now: ServerTime
  ) -> ResidentWorkspace.Rejection? {
    let bytesMax = quota.bytesMax ?? usual.bytesMax
    guard log.storedBytes + bytes <= bytesMax else {
      return .tooMuch(
        "the workspace takes all the bytes that the server gives it, "
          + "\(bytesMax >> 20) MiB; its owner may raise that: "
          + "cospool-server workspace quota")
    }
    guard log.snapshotBytes <= usual.stateBytesMax else {
      return .tooMuch(
        "the workspace's state has more than \(usual.stateBytesMax >> 20) MiB, which devices take in: "
          + "begin a new workspace")
    }
    guard units <= unitsMax(usual) else {
      return .tooMuch(
        "the workspace holds all the units of text and changes that the server gives it, "
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
  /// Letters, places and changes that were ever made.
  ///
  /// - Complexity: O(replicas).
  var units: UInt64 { vector.sorted.reduce(0) { $0 + UInt64($1.seq) } }
}
