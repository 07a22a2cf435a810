package import QueueModel

/// The displayed statuses of running tasks, on devices with a target for them: begun, changed,
/// ended. Pure. Times are the server's uptime in milliseconds, unless noted otherwise.
///
/// The store keeps which statuses are displayed, since when, and the change that began or ended
/// each. So a restarted server continues them. Like the inboxes, they may be ahead of the store.
struct LiveStatuses: Sendable {
  private struct Shown: Hashable, Sendable {
    var startedAt: Int64
    var sentAt: Int64
    /// nil if it was sent before the server started.
    var sent: TaskState?
    /// The state to send when it is time.
    var waiting: TaskState?

    mutating func noteSent(_ task: TaskState, uptime: Int64) {
      sentAt = uptime
      sent = task
      waiting = nil
    }
  }

  /// The pause between two changes of one status (N-8).
  static let pauseMilliseconds: Int64 = 15_000
  /// Providers end a status after eight hours; it is renewed before that.
  static let renewalMilliseconds: Int64 = 27_000_000

  private var shown: [SessionID: Shown] = [:]
  /// Events withheld from devices that a user is looking at. They are not stored: a restarted
  /// server sends each status to all devices.
  private var withheld: [SessionID: [DeviceID: LiveStatusOrder.Event]] = [:]
  /// Sessions whose tasks were changed by batches and have not been examined yet.
  private var concerned: Set<SessionID> = []
  /// Changes to send once they are stored.
  private var staged: [LiveStatusChange] = []

  init() {}

  /// - Parameter starts: since when each is displayed, in milliseconds since 1970.
  init(_ starts: [SessionID: Int64], now: ServerTime) {
    for (session, start) in starts {
      let (age, isAbsurd) = now.wallMilliseconds.subtractingReportingOverflow(start)
      let known = isAbsurd ? LiveStatuses.renewalMilliseconds : max(0, age)
      shown[session] = Shown(
        startedAt: now.uptimeMilliseconds - min(known, LiveStatuses.renewalMilliseconds),
        sentAt: now.uptimeMilliseconds)
    }
  }

  /// Whether nothing is displayed or waits for examination.
  var isEmpty: Bool { shown.isEmpty && concerned.isEmpty }
  var showsNothing: Bool { shown.isEmpty }
  /// Whether changes wait to be stored.
  var hasStaged: Bool { !staged.isEmpty }

  // MARK: - Storing

  /// A staged batch changes the tasks of these sessions.
  mutating func concerns(_ sessions: Set<SessionID>) {
    concerned.formUnion(sessions)
  }

  /// The sessions whose tasks were changed by batches, by id; if there are too many, the first
  /// ones, and the others next time.
  mutating func takeConcerned(atMost max: Int = .max) -> [SessionID] {
    let sessions = concerned.sorted().prefix(max)
    concerned.subtract(sessions)
    return Array(sessions)
  }

  /// Stages a change for the store; its devices are notified after that.
  mutating func stage(_ change: LiveStatusChange) {
    staged.append(change)
  }

  /// Removes and returns the changes to store.
  mutating func takeStaged() -> [LiveStatusChange] {
    defer { staged = [] }
    return staged
  }

  /// The store lost the staged changes.
  mutating func stagedWasLost() {
    concerned = []
    staged = []
  }

  // MARK: - Displayed statuses

  /// The states to display after a restart of the server.
  ///
  /// - Parameter task: a session's task now.
  /// - Returns: the sessions whose displayed status has ended meanwhile.
  mutating func resumed(_ task: (SessionID) -> TaskState?) -> [SessionID] {
    var ended: [SessionID] = []
    for session in shown.keys.sorted() where shown[session]?.sent == nil {
      guard let task = task(session), task.status.kind.isUnderWay else {
        shown[session] = nil
        ended.append(session)
        continue
      }
      shown[session]?.waiting = task
    }
    return ended
  }

  /// Records the present state of a task.
  mutating func changed(_ task: TaskState, uptime: Int64) -> LiveStatusOrder.Event? {
    let session = task.sessionId
    guard task.status.kind.isUnderWay else {
      withheld[session] = nil
      return shown.removeValue(forKey: session) == nil ? nil : .ended
    }
    guard let known = shown[session] else {
      shown[session] = Shown(startedAt: uptime, sentAt: uptime, sent: task)
      return .started
    }
    guard known.sent != task else {
      shown[session]?.waiting = nil
      return nil
    }
    guard uptime - known.sentAt >= LiveStatuses.pauseMilliseconds else {
      shown[session]?.waiting = task
      return nil
    }
    shown[session]?.noteSent(task, uptime: uptime)
    return .updated
  }

  /// Withholds from devices that a status begins or changed.
  mutating func withhold(
    _ event: LiveStatusOrder.Event, of session: SessionID, from devices: Set<DeviceID>
  ) {
    guard shown[session] != nil else { return }
    for device in devices {
      let known = withheld[session]?[device]
      // A status that has not begun yet will begin with its state at that time.
      if known == nil || known == .updated {
        withheld[session, default: [:]][device] = event
      }
    }
  }

  /// Removes and returns the events withheld from devices that no user is looking at now, with each
  /// task's present state.
  mutating func takeWithheld(
    except looking: Set<DeviceID>
  ) -> [(task: TaskState, device: DeviceID, event: LiveStatusOrder.Event)] {
    var taken: [(task: TaskState, device: DeviceID, event: LiveStatusOrder.Event)] = []
    for (session, devices) in withheld.sorted(by: { $0.key < $1.key }) {
      for (device, event) in devices.sorted(by: { $0.key < $1.key })
      where !looking.contains(device) {
        if let task = shown[session]?.waiting ?? shown[session]?.sent {
          taken.append((task, device, event))
        }
        withheld[session]?[device] = nil
      }
      if withheld[session]?.isEmpty == true { withheld[session] = nil }
    }
    return taken
  }

  /// The due events: delayed changes, and statuses that must be renewed.
  mutating func timePassed(
    uptime: Int64
  ) -> [(event: LiveStatusOrder.Event, task: TaskState)] {
    var due: [(event: LiveStatusOrder.Event, task: TaskState)] = []
    for (session, known) in shown.sorted(by: { $0.key < $1.key }) {
      guard let task = known.waiting ?? known.sent else { continue }
      if uptime - known.startedAt >= LiveStatuses.renewalMilliseconds {
        shown[session] = Shown(startedAt: uptime, sentAt: uptime, sent: task)
        due.append((.renewed, task))
      } else if known.waiting != nil, uptime - known.sentAt >= LiveStatuses.pauseMilliseconds {
        shown[session]?.noteSent(task, uptime: uptime)
        due.append((.updated, task))
      }
    }
    return due
  }
}

/// The status that the push service displays for a running task. The push itself is not stored: the
/// next update corrects a lost one, the running server retries a start, and a restarted server
/// sends every state. An end is stored until all devices were notified.
package struct LiveStatusOrder: Hashable, Sendable {
  package enum Event: Hashable, Sendable {
    case started
    case updated
    case ended
    /// Ended and begun again, before a provider ends it.
    case renewed

    /// Whether the store must record it before it is sent.
    var changesWhatIsShown: Bool { self != .updated }
  }

  package var workspace: WorkspaceID
  package var event: Event
  package var task: TaskState
  /// When it happened, milliseconds since 1970.
  package var at: Int64
  /// The devices that want it and have valid targets, and whether they want details.
  package var receivers: [DeviceID: Bool]

  package init(
    workspace: WorkspaceID, event: Event, task: TaskState, at: Int64,
    receivers: [DeviceID: Bool]
  ) {
    self.workspace = workspace
    self.event = event
    self.task = task
    self.at = at
    self.receivers = receivers
  }
}
