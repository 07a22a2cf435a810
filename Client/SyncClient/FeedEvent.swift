public import QueueModel

/// A place in the event feed of one opening of a store; opaque to everybody but the client that
/// made it. What comes behind it can be asked for while the feed still holds it.
public struct FeedCursor: Hashable, Sendable, LosslessStringConvertible {
  /// The opening of the store that numbered the events.
  let opening: UInt64
  /// How many events come before this place.
  let position: UInt64

  init(opening: UInt64, position: UInt64) {
    self.opening = opening
    self.position = position
  }

  /// Reads what `description` wrote; nil if it is something else.
  public init?(_ description: String) {
    let parts = description.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ (1...16).contains($0.utf8.count) }),
      parts.allSatisfy({ $0.utf8.allSatisfy(FeedCursor.isDigit) }),
      let opening = UInt64(parts[0], radix: 16), let position = UInt64(parts[1], radix: 16)
    else { return nil }
    self.init(opening: opening, position: position)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  /// Hexadecimal digits and a hyphen.
  public var description: String {
    String(opening, radix: 16) + "-" + String(position, radix: 16)
  }
}

/// Whether a feed goes on where its reader had stopped.
public enum FeedResumption: Hashable, Sendable {
  /// Nothing is missing; what follows comes behind the cursor.
  case ok
  /// The reader drops what it mirrored: the whole state follows, ended by `present`.
  case gap(FeedGap)
}

/// Why a feed cannot go on where its reader had stopped.
public enum FeedGap: String, Hashable, Sendable, CaseIterable {
  /// The reader gave no cursor.
  case start
  /// The store was opened again since.
  case restarted
  /// More happened since than the feed holds.
  case overrun
  /// The cursor is not one of this feed.
  case unknown
}

/// What happened to the queues and around them.
///
/// Kinds are only ever added; a reader passes over those it does not know.
public enum FeedEvent: Hashable, Sendable {
  /// The first event: whether the feed goes on where its reader stopped.
  case resumed(FeedResumption)
  /// Something of the workspace changed.
  case changed(WorkspaceChange)
  /// Where sync stands now.
  case sync(SyncStatus)
  /// A queue grew to 80 % of this device's cap, or further (C-7).
  case warning(QueueWarning)
  /// A thread needs its person again (S2-95).
  case threadReady(ThreadView)
  /// Something happened that is of this device alone.
  case device(DeviceEvent)
  /// The state that followed a gap is whole; from here on changes follow.
  case present
}

/// A queue that is nearly or quite full.
public struct QueueWarning: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// How many messages wait.
  public var count: Int
  /// How many may wait for this device to take another one.
  public var max: Int
}

/// An event with the place behind it.
public struct FeedItem: Hashable, Sendable {
  /// Where to go on after this event; nil if a reader cannot: before `present` after a gap, and
  /// where nothing came behind the cursor that it gave.
  public var cursor: FeedCursor?
  /// What happened.
  public var event: FeedEvent
}
