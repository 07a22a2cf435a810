public import QueueModel

/// A place in the event feed of one opening of a store; opaque to everything except the client that
/// made it. Later events are available while the feed still holds them.
public struct FeedCursor: Hashable, Sendable, LosslessStringConvertible {
  /// The opening of the store that numbered the events.
  let opening: UInt64
  /// The number of events before this place.
  let position: UInt64

  init(opening: UInt64, position: UInt64) {
    self.opening = opening
    self.position = position
  }

  /// Parses a `description`; nil for other texts.
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

/// Whether a feed continues where its reader stopped.
public enum FeedResumption: Hashable, Sendable {
  /// Nothing is missing; the events after the cursor follow.
  case ok
  /// The reader must drop its copy: the whole state follows, ended by `present`.
  case gap(FeedGap)
}

/// Why a feed cannot continue where its reader stopped.
public enum FeedGap: String, Hashable, Sendable, CaseIterable {
  /// The reader gave no cursor.
  case start
  /// The store was opened again since.
  case restarted
  /// There were more events since than the feed holds.
  case overrun
  /// The cursor does not belong to this feed.
  case unknown
}

/// An event of the queues or related to them.
///
/// Kinds are only ever added; readers ignore unknown ones.
public enum FeedEvent: Hashable, Sendable {
  /// The first event, which reports whether the feed continues where its reader stopped.
  case resumed(FeedResumption)
  /// The workspace changed.
  case changed(WorkspaceChange)
  /// The current state of sync.
  case sync(SyncStatus)
  /// A queue grew to 80 % of this device's cap, or beyond (C-7).
  case warning(QueueWarning)
  /// A thread needs its user again (S2-95).
  case threadReady(ThreadView)
  /// An event that only this device has.
  case device(DeviceEvent)
  /// The state after a gap is complete; from here on changes follow.
  case present
}

/// A queue that is almost or completely full.
public struct QueueWarning: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// The number of waiting messages.
  public var count: Int
  /// The maximum number of waiting messages at which this device still accepts one.
  public var max: Int
}

/// An event with the place after it.
public struct FeedItem: Hashable, Sendable {
  /// The place at which to continue after this event. nil if that is impossible: before `present`
  /// after a gap, and if no event came after the reader's cursor.
  public var cursor: FeedCursor?
  /// The event.
  public var event: FeedEvent
}
