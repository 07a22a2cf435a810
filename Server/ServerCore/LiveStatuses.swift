package import QueueModel

/// What is shown in place of a running task, on devices that have a target for it: begun, changed,
/// ended. Pure; times are readings of the server's uptime, in milliseconds, unless it says otherwise.
///
/// Which statuses are shown, and since when, is stored with what began or ended them: so a server
/// that starts anew goes on with them. Like the inboxes they may be ahead of the store.
struct LiveStatuses: Sendable {
  private struct Shown: Hashable, Sendable {
    var startedAt: Int64
    var toldAt: Int64
    /// nil: it was told before the server started.
    var told: TaskState?
    /// What is to be told when it is time.
    var waiting: TaskState?

    mutating func tell(_ task: TaskState, uptime: Int64) {
      toldAt = uptime
      told = task
      waiting = nil
    }
  }

  /// Between two changes of one status (N-8).
  static let pauseMilliseconds: Int64 = 15_000
  /// Providers end a status after eight hours; it begins anew before that.
  static let renewalMilliseconds: Int64 = 27_000_000

  private var shown: [SessionID: Shown] = [:]
  /// What was kept from devices that somebody looks at. It is not stored: a server that starts anew
  /// tells everybody what each status is.
  private var withheld: [SessionID: [DeviceID: LiveStatusOrder.Event]] = [:]
  /// Sessions of whose tasks batches said something, and which were not looked at yet.
  private var concerned: Set<SessionID> = []
  /// What is to be told once it is stored.
  private var staged: [LiveStatusChange] = []

  init() {}

  /// - Parameter starts: since when each is shown, in milliseconds since 1970.
  init(_ starts: [SessionID: Int64], now: ServerTime) {
    for (session, start) in starts {
      let (age, isAbsurd) = now.wallMilliseconds.subtractingReportingOverflow(start)
      let known = isAbsurd ? LiveStatuses.renewalMilliseconds : max(0, age)
      shown[session] = Shown(
        startedAt: now.uptimeMilliseconds - min(known, LiveStatuses.renewalMilliseconds),
        toldAt: now.uptimeMilliseconds)
    }
  }

  /// Nothing is shown, or is to be looked at.
  var isEmpty: Bool { shown.isEmpty && concerned.isEmpty }
  var showsNothing: Bool { shown.isEmpty }
  /// Something waits to be stored.
  var hasStaged: Bool { !staged.isEmpty }

  // MARK: - With what is stored

  /// A batch that is staged says something of the tasks of these sessions.
  mutating func concerns(_ sessions: Set<SessionID>) {
    concerned.formUnion(sessions)
  }

  /// The sessions of whose tasks batches said something, by id; of very many the first, and the others next time.
  mutating func takeConcerned(atMost max: Int = .max) -> [SessionID] {
    let sessions = concerned.sorted().prefix(max)
    concerned.subtract(sessions)
    return Array(sessions)
  }

  /// Has a change stored; those who watch are told of it then.
  mutating func stage(_ change: LiveStatusChange) {
    staged.append(change)
  }

  /// Hands over what is to be stored.
  mutating func takeStaged() -> [LiveStatusChange] {
    defer { staged = [] }
    return staged
  }

  /// The store has not what was staged.
  mutating func stagedWasLost() {
    concerned = []
    staged = []
  }

  // MARK: - What is shown

  /// After a start of the server: what the statuses that are shown should say.
  ///
  /// - Parameter task: what a session's task is now.
  /// - Returns: the sessions whose status is shown and has ended meanwhile.
  mutating func resumed(_ task: (SessionID) -> TaskState?) -> [SessionID] {
    var ended: [SessionID] = []
    for session in shown.keys.sorted() where shown[session]?.told == nil {
      guard let task = task(session), task.status.kind.isUnderWay else {
        shown[session] = nil
        ended.append(session)
        continue
      }
      shown[session]?.waiting = task
    }
    return ended
  }

  /// A task is this now.
  mutating func changed(_ task: TaskState, uptime: Int64) -> LiveStatusOrder.Event? {
    let session = task.sessionId
    guard task.status.kind.isUnderWay else {
      withheld[session] = nil
      return shown.removeValue(forKey: session) == nil ? nil : .ended
    }
    guard let known = shown[session] else {
      shown[session] = Shown(startedAt: uptime, toldAt: uptime, told: task)
      return .started
    }
    guard known.told != task else {
      shown[session]?.waiting = nil
      return nil
    }
    guard uptime - known.toldAt >= LiveStatuses.pauseMilliseconds else {
      shown[session]?.waiting = task
      return nil
    }
    shown[session]?.tell(task, uptime: uptime)
    return .updated
  }

  /// Keeps from devices that a status begins or changed.
  mutating func withhold(
    _ event: LiveStatusOrder.Event, of session: SessionID, from devices: Set<DeviceID>
  ) {
    guard shown[session] != nil else { return }
    for device in devices {
      let known = withheld[session]?[device]
      // What was not begun yet begins with what it is by then.
      if known == nil || known == .updated {
        withheld[session, default: [:]][device] = event
      }
    }
  }

  /// What was kept from devices, but for those that are looked at, with what each task is by now; it
  /// is kept no more.
  mutating func takeWithheld(
    except looking: Set<DeviceID>
  ) -> [(task: TaskState, device: DeviceID, event: LiveStatusOrder.Event)] {
    var taken: [(task: TaskState, device: DeviceID, event: LiveStatusOrder.Event)] = []
    for (session, devices) in withheld.sorted(by: { $0.key < $1.key }) {
      for (device, event) in devices.sorted(by: { $0.key < $1.key })
      where !looking.contains(device) {
        if let task = shown[session]?.waiting ?? shown[session]?.told {
          taken.append((task, device, event))
        }
        withheld[session]?[device] = nil
      }
      if withheld[session]?.isEmpty == true { withheld[session] = nil }
    }
    return taken
  }

  /// What is due: changes that waited, and statuses that are too old to go on.
  mutating func timePassed(
    uptime: Int64
  ) -> [(event: LiveStatusOrder.Event, task: TaskState)] {
    var due: [(event: LiveStatusOrder.Event, task: TaskState)] = []
    for (session, known) in shown.sorted(by: { $0.key < $1.key }) {
      guard let task = known.waiting ?? known.told else { continue }
      if uptime - known.startedAt >= LiveStatuses.renewalMilliseconds {
        shown[session] = Shown(startedAt: uptime, toldAt: uptime, told: task)
        due.append((.renewed, task))
      } else if known.waiting != nil, uptime - known.toldAt >= LiveStatuses.pauseMilliseconds {
        shown[session]?.tell(task, uptime: uptime)
        due.append((.updated, task))
      }
    }
    return due
  }
}

/// What the push service shows in place of a running task. The push itself is not stored: an update
/// that is lost is corrected by the next, a start is tried again while the server runs, and a server
/// that starts says of each what it is. An end is stored until everybody was told.
package struct LiveStatusOrder: Hashable, Sendable {
  package enum Event: Hashable, Sendable {
    case started
    case updated
    case ended
    /// Ended and begun anew, before a provider ends it by itself.
    case renewed

    /// Whether the store is to know of it before it is told.
    var changesWhatIsShown: Bool { self != .updated }
  }

  package var workspace: WorkspaceID
  package var event: Event
  package var task: TaskState
  /// When it came about, milliseconds since 1970.
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
