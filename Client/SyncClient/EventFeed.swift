public import QueueModel

/// Events as they happen, from a cursor on or from the present; for one reader.
///
/// The first event is `resumed`. After a gap, events that rebuild the whole state follow, and then
/// `present`. A reader takes events at its own pace and delays nothing. The client keeps the latest
/// 4,096 events, and at most about 8 MiB of texts in them. The feed of a reader that falls behind
/// all of these ends, and a new feed from its cursor reports a gap. The feed also ends with the
/// client.
public final class EventFeed: AsyncSequence, Sendable {
  /// An event and the place after it.
  public typealias Element = FeedItem

  private let log: FeedLog
  private let reader: UInt64
  private let beginning: [FeedItem]
  private let bell: AsyncStream<Void>
  private let ending: AsyncStream<Never>

  init(log: FeedLog, after cursor: FeedCursor, beginning: [FeedItem]) {
    let (bell, ring) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let (ending, end) = AsyncStream<Never>.makeStream()
    self.log = log
    self.beginning = beginning
    self.bell = bell
    self.ending = ending
    reader = log.register(after: cursor, bell: ring, end: end)
  }

  deinit { log.remove(reader) }

  /// Returns once the feed has no more events, for example because its reader was cut off; also
  /// while the reader is busy with an earlier event. Cancellation ends the wait.
  public func waitUntilEnded() async {
    for await _ in ending {}
  }

  /// Begins to read. One iteration at a time.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(feed: self, waiting: beginning[...], bell: bell.makeAsyncIterator())
  }

  /// Takes one event after the other.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let feed: EventFeed
    fileprivate var waiting: ArraySlice<FeedItem>
    fileprivate var bell: AsyncStream<Void>.AsyncIterator

    /// The next event if it has already arrived; nil at once if not.
    public mutating func nextAtHand() -> FeedItem? { waiting.popFirst() }

    /// The next event; nil if the feed ended or the task was cancelled.
    public mutating func next() async -> FeedItem? {
      while true {
        if let item = waiting.popFirst() { return item }
        guard case .items(let items) = feed.log.take(feed.reader) else { return nil }
        waiting = items[...]
        // A signal that arrived meanwhile is kept, and read at once.
        if items.isEmpty, await bell.next(isolation: #isolation) == nil { return nil }
      }
    }
  }
}

/// Minimal changes to a workspace: first those that rebuild the current state.
public struct WorkspaceChanges: AsyncSequence, Sendable {
  /// One step of the workspace.
  public typealias Element = WorkspaceChange

  let engine: Engine

  /// Begins to read, at the state of the first `next`.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(engine: engine) }

  /// Takes one change after the other.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let engine: Engine
    private var items: EventFeed.AsyncIterator?

    fileprivate init(engine: Engine) {
      self.engine = engine
    }

    /// The next change; nil if the client closed, the reader fell far behind or the task was
    /// cancelled.
    public mutating func next() async -> WorkspaceChange? {
      var items: EventFeed.AsyncIterator
      if let known = self.items {
        items = known
      } else {
        // A closed client has no changes.
        guard let feed = try? await engine.openFeed(after: nil) else { return nil }
        items = feed.makeAsyncIterator()
      }
      defer { self.items = items }
      while let item = await items.next() {
        if case .changed(let change) = item.event { return change }
      }
      return nil
    }
  }
}
