/// The limits of one workspace, if it has its own.
package struct WorkspaceQuota: Hashable, Sendable {
  /// The greatest `unitsMax`: every snapshot can claim it, so that every state can be read.
  package static let unitsMaxMax: UInt64 = 1 << 25

  /// Bytes of its latest snapshot and of the log after it.
  package var bytesMax: Int?
  /// Letters, places and changes ever made: they determine memory and start times. A message takes
  /// three or more.
  package var unitsMax: UInt64?
  /// Bytes of changes, and of joined states, in one day (UTC); the last one of a day is accepted
  /// whole.
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

/// The bytes that a workspace added on a day (UTC, days since 1970).
package struct DailyWrites: Hashable, Sendable {
  package static let dayMilliseconds: Int64 = 86_400_000

  package var day: Int64
  package var bytes: Int

  package init(day: Int64 = 0, bytes: Int = 0) {
    self.day = day
    self.bytes = bytes
  }

  /// The bytes on the day of a time.
  func bytes(at wallMilliseconds: Int64) -> Int {
    day == wallMilliseconds / DailyWrites.dayMilliseconds ? bytes : 0
  }

  mutating func add(_ count: Int, at wallMilliseconds: Int64) {
    let today = bytes(at: wallMilliseconds)
    self = DailyWrites(
      day: wallMilliseconds / DailyWrites.dayMilliseconds, bytes: today + count)
  }
}
