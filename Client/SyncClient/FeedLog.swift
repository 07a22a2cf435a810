import QueueModel
import Synchronization

/// The latest events, for any number of readers at their own pace.
///
/// Readers pull. An event is held once, for any number of readers, and only the log limits the
/// memory. A reader that falls behind the oldest held event is cut off.
final class FeedLog: Sendable {
  /// The limits of a log; the oldest events are removed first.
  struct Limits {
    var eventsMax = 4_096
    /// The approximate bytes of texts in the events.
    var bytesMax = 8 << 20
  }

  enum Taken {
    case items([FeedItem])
    /// The reader was cut off, or the log closed.
    case ended
  }

  private struct Entry {
    var event: FeedEvent
    var bytes: Int
  }

  private struct Reader {
    var position: UInt64
    /// Signals new events.
    var bell: AsyncStream<Void>.Continuation
    /// Finished if the reader was cut off or the log closed.
    var end: AsyncStream<Never>.Continuation
  }

  private struct State {
    /// The events after position `start`; those before `head` are already removed.
    var entries: [Entry] = []
    var head = 0
    /// The number of events that are no longer held.
    var start: UInt64 = 0
    var bytes = 0
    var readers: [UInt64: Reader] = [:]
    var nextReader: UInt64 = 0
    var isClosed = false

    var end: UInt64 { start + UInt64(entries.count - head) }
  }

  /// The maximum number of events of one read.
  private static let takenMax = 64

  let opening: UInt64
  private let limits: Limits
  private let state = Mutex(State())

  init(opening: UInt64, limits: Limits = Limits()) {
    self.opening = opening
    self.limits = limits
  }

  /// The place after the latest event.
  var cursor: FeedCursor {
    FeedCursor(opening: opening, position: state.withLock { $0.end })
  }

  /// The gap after the cursor; nil if all later events are held.
  func gap(after cursor: FeedCursor) -> FeedGap? {
    guard cursor.opening == opening else { return .restarted }
    return state.withLock { state in
      if cursor.position > state.end { return .unknown }
      return cursor.position < state.start ? .overrun : nil
    }
  }

  /// Adds a reader of the events after a cursor. If the log no longer holds them, since `gap` was
  /// called, the reader is cut off at once.
  func register(
    after cursor: FeedCursor, bell: AsyncStream<Void>.Continuation,
    end: AsyncStream<Never>.Continuation
  ) -> UInt64 {
    state.withLock { state in
      state.nextReader += 1
      guard !state.isClosed, cursor.position >= state.start, cursor.position <= state.end else {
        bell.finish()
        end.finish()
        return state.nextReader
      }
      state.readers[state.nextReader] = Reader(position: cursor.position, bell: bell, end: end)
      return state.nextReader
    }
  }

  func remove(_ reader: UInt64) {
    state.withLock { $0.readers.removeValue(forKey: reader) }?.bell.finish()
  }

  func append(_ events: [FeedEvent]) {
    guard !events.isEmpty else { return }
    state.withLock { state in
      guard !state.isClosed else { return }
      for event in events {
        let entry = Entry(event: event, bytes: event.byteEstimate)
        state.entries.append(entry)
        state.bytes += entry.bytes
      }
      shorten(&state)
      for (id, reader) in state.readers {
        if reader.position < state.start {
          FeedLog.end(reader)
          state.readers[id] = nil
        } else {
          reader.bell.yield()
        }
      }
    }
  }

  private func shorten(_ state: inout State) {
    while state.end - state.start > UInt64(limits.eventsMax) || state.bytes > limits.bytesMax,
      state.head < state.entries.count
    {
      state.bytes -= state.entries[state.head].bytes
      state.head += 1
      state.start += 1
    }
    // Moving the rest costs less than the events dropped since the last time did.
    if state.head * 2 > state.entries.count {
      state.entries.removeFirst(state.head)
      state.head = 0
    }
  }

  private static func end(_ reader: Reader) {
    reader.bell.finish()
    reader.end.finish()
  }

  /// The next events of a reader; none if it has all.
  func take(_ reader: UInt64) -> Taken {
    state.withLock { state in
      guard let position = state.readers[reader]?.position else { return .ended }
      let first = state.head + Int(position - state.start)
      let slice = state.entries[first...].prefix(FeedLog.takenMax)
      state.readers[reader]?.position += UInt64(slice.count)
      return .items(
        slice.enumerated().map { index, entry in
          FeedItem(
            cursor: FeedCursor(opening: opening, position: position + UInt64(index) + 1),
            event: entry.event)
        })
    }
  }

  func close() {
    state.withLock { state in
      state.isClosed = true
      for reader in state.readers.values { FeedLog.end(reader) }
      state.readers = [:]
      state.entries = []
      state.head = 0
    }
  }
}

extension FeedEvent {
  /// The approximate memory of an event: its texts, and a little for the rest.
  fileprivate var byteEstimate: Int {
    switch self {
    case .changed(.messages(_, let steps)):
      128 + steps.reduce(0) { $0 + FeedEvent.bytes(of: $1) }
    case .changed(.threads(let steps)): 128 + steps.count * 256
    case .changed(.session), .threadReady: 256
    // The maximum size of a task's texts from its agent.
    case .changed(.task(let task)): 1_280 + 6_144 * task.requests.count
    case .device(.activity(let activity)): 256 + activity.busy.runningTools.count * 64
    case .device: 128
    case .sync(let status): 512 + status.devices.count * 64
    case .resumed, .changed(.sessionDeleted), .warning, .present: 128
    }
  }

  private static func bytes(of step: QueueChange<MessageView>) -> Int {
    switch step {
    case .insert(let view, at: _), .update(let view, at: _): 128 + view.content.utf8.count
    case .remove, .move: 64
    }
  }
}
