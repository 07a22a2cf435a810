import ClientCore
public import QueueModel
import Synchronization

/// Events of this device, except changes to the queues.
public enum DeviceEvent: Hashable, Sendable {
  /// The activity of a session's agent changed (S0-4, S0-5, S0-21).
  case activity(SessionActivity)
  /// A session's draft was written, removed or sent (S2-44).
  case draft(SessionID, exists: Bool)
  /// The result of an answer that was given here and had to wait. If the answer was not accepted,
  /// its author gets the text back.
  case answer(TaskAnswer, AnswerEvent)
  /// The settings changed to these.
  case settings(DeviceSettings)
  /// A notification for this device's user, reported once.
  case notification(NotificationView)
  /// A notification that must no longer be shown, reported once.
  case notificationRetracted(String, NotificationRetraction)
  /// An agent runs, or data waits to be sent or answered, but there has been no connection for 30
  /// seconds: since this time, in milliseconds since 1970 (N-9).
  case waitingForConnection(since: Int64)
}

/// The state of the device outside its queues: settings, and listeners.
final class DeviceState: Sendable {
  private struct Content {
    var settings: DeviceSettings
    /// Activities of sessions that are busy, or whose agent failed.
    var activities: [SessionID: SessionActivity] = [:]
    /// Busy states by session and source.
    var busy: [SessionID: [SignalSource: BusyState]] = [:]
    /// The sessions that have a draft.
    var drafts: Set<SessionID> = []
    var listeners: [UInt64: AsyncStream<DeviceEvent>.Continuation] = [:]
    var lastListener: UInt64 = 0
    /// The continuation of the waiting task that syncs the files.
    var attachmentSync: AsyncStream<Void>.Continuation?
    /// Those who wait for the next sync of the files.
    var attachmentSyncs: [UInt64: AsyncStream<Void>.Continuation] = [:]
    /// Whether to ask the server again for files that it once had.
    var asksAgain = false
  }

  /// The maximum number of events that wait for one reader; beyond it, the reader's stream ends.
  static let eventsMax = 1_024

  private let content: Mutex<Content>
  private let feed: FeedLog

  init(settings: DeviceSettings, drafts: Set<SessionID>, feed: FeedLog) {
    self.feed = feed
    content = Mutex(Content(settings: settings, drafts: drafts))
  }

  /// A draft was written or removed; `isNews` if its text changed.
  func noteDraft(of session: SessionID, exists: Bool, isNews: Bool = false) {
    let changed = content.withLock { content in
      exists
        ? content.drafts.insert(session).inserted : content.drafts.remove(session) != nil
    }
    if changed || (isNews && exists) { post(.draft(session, exists: exists)) }
  }

  func hasDraft(_ session: SessionID) -> Bool { content.withLock { $0.drafts.contains(session) } }

  var settings: DeviceSettings { content.withLock { $0.settings } }

  func apply(_ settings: DeviceSettings) {
    let isNew = content.withLock { content in
      defer { content.settings = settings }
      return content.settings != settings
    }
    if isNew { post(.settings(settings)) }
  }

  func activity(of session: SessionID) -> SessionActivity {
    content.withLock { $0.activities[session] } ?? SessionActivity(session: session)
  }

  func activities() -> [SessionActivity] {
    content.withLock { $0.activities.values.sorted { $0.session < $1.session } }
  }

  /// Whether a user's agent works in a session, as its hooks report.
  func isLiveBusy(_ session: SessionID) -> Bool {
    content.withLock { $0.busy[session]?[.hooks]?.isBusy ?? false }
  }

  /// Records a signal and notifies the listeners of changes.
  ///
  /// - Returns: the activity, and whether a user's agent started or stopped working.
  @discardableResult
  func receive(
    _ signal: AgentSignal, in session: SessionID, from source: SignalSource
  ) -> (activity: SessionActivity, changesLive: Bool) {
    let (activity, isNew, changesLive) = content.withLock { content in
      let before = content.activities[session] ?? SessionActivity(session: session)
      var activity = before
      activity.receive(signal)
      var busy = content.busy[session] ?? [:]
      let wasLive = busy[.hooks]?.isBusy ?? false
      busy[source, default: BusyState()].receive(signal)
      busy = busy.filter { $0.value != BusyState() }
      content.busy[session] = busy.isEmpty ? nil : busy
      // The end of one turn does not end the other.
      activity.busy = busy.values.reduce(BusyState()) { $0.union($1) }
      let isIdle = activity == SessionActivity(session: session)
      // There are at most as many entries as sessions in a workspace; idle sessions are not stored.
      content.activities[session] = isIdle ? nil : activity
      return (activity, activity != before, wasLive != busy[.hooks]?.isBusy ?? false)
    }
    if isNew { post(.activity(activity)) }
    return (activity, changesLive)
  }

  func post(_ event: DeviceEvent) {
    feed.append([.device(event)])
    let overrun = content.withLock { content in
      content.listeners.filter { _, listener in
        if case .dropped = listener.yield(event) { true } else { false }
      }
    }
    // Outside the lock, because the end of a stream takes it.
    for listener in overrun.values { listener.finish() }
  }

  /// Wakes the task that syncs the files.
  func wakeAttachmentSync(asksAgain: Bool = false) {
    let attachmentSync = content.withLock { content in
      if asksAgain { content.asksAgain = true }
      return content.attachmentSync
    }
    attachmentSync?.yield()
  }

  /// Whether to ask the server again; true once for each request.
  func takeAsksAgain() -> Bool {
    content.withLock { content in
      defer { content.asksAgain = false }
      return content.asksAgain
    }
  }

  /// Yields when to sync the files; several reasons are joined.
  func attachmentSyncWakes() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    content.withLock { $0.attachmentSync = continuation }
    return stream
  }

  /// Yields at the end of each sync of the files that begins from now on.
  func attachmentSyncs() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = content.withLock { content in
        content.lastListener += 1
        content.attachmentSyncs[content.lastListener] = continuation
        return content.lastListener
      }
      continuation.onTermination = { [weak self] _ in
        self?.content.withLock { $0.attachmentSyncs[id] = nil }
      }
    }
  }

  /// Those who wait for a sync of the files that begins now.
  func waitersForAttachmentSync() -> [AsyncStream<Void>.Continuation] {
    content.withLock { Array($0.attachmentSyncs.values) }
  }

  /// All events from now on.
  func events() -> AsyncStream<DeviceEvent> {
    AsyncStream(bufferingPolicy: .bufferingOldest(DeviceState.eventsMax)) { continuation in
      let id = content.withLock { content in
        content.lastListener += 1
        content.listeners[content.lastListener] = continuation
        return content.lastListener
      }
      continuation.onTermination = { [weak self] _ in
        self?.content.withLock { $0.listeners[id] = nil }
      }
    }
  }

  /// Ends all streams.
  func finish() {
    let (listeners, attachmentSync, waiters) = content.withLock { content in
      defer { (content.listeners, content.attachmentSync) = ([:], nil) }
      defer { content.attachmentSyncs = [:] }
      return (content.listeners, content.attachmentSync, content.attachmentSyncs)
    }
    attachmentSync?.finish()
    for waiter in waiters.values { waiter.finish() }
    for listener in listeners.values { listener.finish() }
  }
}

extension QueueClient {
  /// The settings of this device.
  public var settings: DeviceSettings { device.settings }

  /// Changes the settings of this device, for commands from now on. To make them permanent, store
  /// them; see `SettingsFile`.
  public func apply(_ settings: DeviceSettings) {
    device.apply(settings)
    engine.soon { [device] in $0.settingsChanged(device) }
  }

  /// Events of this device, from now on. The stream ends if its reader falls a thousand events
  /// behind.
  public func deviceEvents() -> AsyncStream<DeviceEvent> {
    device.events()
  }
}

/// The source of a report about a session's agent.
enum SignalSource: Hashable, Sendable {
  /// The executor, about the turn that it runs.
  case turn
  /// Hooks and others, about an agent that a user works with.
  case hooks
}
