package import QueueModel

/// What is shown in place of a running task, on devices that have a target for it: begun, changed,
/// ended. Pure; times are readings of the server's uptime, in milliseconds.
///
/// Kept in memory alone: after a restart of the server the next change of a task begins its status
/// anew, and nothing is lost but the state of a display.
struct LiveStatusBook: Sendable {
  private struct Shown: Hashable, Sendable {
    var startedAt: Int64
    var toldAt: Int64
    var told: TaskState
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

  var isEmpty: Bool { shown.isEmpty }

  /// A task is this now.
  mutating func changed(_ task: TaskState, uptime: Int64) -> LiveStatusOrder.Event? {
    let session = task.sessionId
    guard task.status.isRunning else {
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
    guard uptime - known.toldAt >= LiveStatusBook.pauseMilliseconds else {
      shown[session]?.waiting = task
      return nil
    }
    shown[session]?.tell(task, uptime: uptime)
    return .updated
  }

  /// What is due: changes that waited, and statuses that are too old to go on.
  mutating func timePassed(
    uptime: Int64
  ) -> [(event: LiveStatusOrder.Event, task: TaskState)] {
    var due: [(event: LiveStatusOrder.Event, task: TaskState)] = []
    for (session, known) in shown.sorted(by: { $0.key < $1.key }) {
      let task = known.waiting ?? known.told
      if uptime - known.startedAt >= LiveStatusBook.renewalMilliseconds {
        shown[session] = Shown(startedAt: uptime, toldAt: uptime, told: task)
        due.append((.renewed, task))
      } else if known.waiting != nil, uptime - known.toldAt >= LiveStatusBook.pauseMilliseconds {
        shown[session]?.tell(task, uptime: uptime)
        due.append((.updated, task))
      }
    }
    return due
  }
}

extension TaskStatus {
  /// There is something to watch.
  fileprivate var isRunning: Bool {
    switch self {
    case .processing, .awaitingApproval, .awaitingAnswer: true
    case .idle, .completed, .error: false
    }
  }
}

/// What the push service shows in place of a running task. Not stored: a status that is lost is
/// corrected by the next one.
package struct LiveStatusOrder: Hashable, Sendable {
  package enum Event: Hashable, Sendable {
    case started
    case updated
    case ended
    /// Ended and begun anew, before a provider ends it by itself.
    case renewed
  }

  package var workspace: WorkspaceID
  package var event: Event
  package var task: TaskState
  /// The devices that want it and have valid targets, and whether they want details.
  package var receivers: [DeviceID: Bool]

  package init(
    workspace: WorkspaceID, event: Event, task: TaskState, receivers: [DeviceID: Bool]
  ) {
    self.workspace = workspace
    self.event = event
    self.task = task
    self.receivers = receivers
  }
}
