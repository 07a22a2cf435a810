/// What one workspace may take, if its owner said something else than the server's setting.
package struct WorkspaceQuota: Hashable, Sendable {
  /// The greatest `unitsMax`: what a snapshot of any size may claim, so that every state can be read.
  package static let unitsMaxMax: UInt64 = 1 << 25

  /// Bytes of its latest snapshot and of the log behind it.
  package var bytesMax: Int?
  /// Letters, places and changes that were ever made: what memory and starts go by. A message takes
  /// three or more.
  package var unitsMax: UInt64?
  /// Bytes of changes, and of states that were joined, that it takes on one day (UTC); the last of a day is
  /// taken whole.
  package var dailyBytesMax: Int?
  /// Bytes of its files, each counted as 4 KiB or more.
  package var fileBytesMax: Int?

  package init(
    bytesMax: Int? = nil, unitsMax: UInt64? = nil, dailyBytesMax: Int? = nil,
    fileBytesMax: Int? = nil
  ) {
    self.bytesMax = bytesMax
    self.unitsMax = unitsMax
    self.dailyBytesMax = dailyBytesMax
    self.fileBytesMax = fileBytesMax
  }
}

/// What a workspace took on a day (UTC, days since 1970).
package struct DailyWrites: Hashable, Sendable {
  package static let dayMilliseconds: Int64 = 86_400_000

  package var day: Int64
  package var bytes: Int

  package init(day: Int64 = 0, bytes: Int = 0) {
    self.day = day
    self.bytes = bytes
  }

  /// What was taken on the day of a moment.
  func bytes(at wallMilliseconds: Int64) -> Int {
    day == wallMilliseconds / DailyWrites.dayMilliseconds ? bytes : 0
  }

  mutating func add(_ count: Int, at wallMilliseconds: Int64) {
    let today = bytes(at: wallMilliseconds)
    self = DailyWrites(
      day: wallMilliseconds / DailyWrites.dayMilliseconds, bytes: today + count)
  }
}
