import Basics
import QueueModel

/// A conflict as a user wrote it: devices, and the events that happen to them, in order.
///
/// Labels name devices, messages, sessions and backups. `LabelTable` maps those of messages to ids.
struct Scenario: Hashable, Sendable {
  /// A label and its place in the file.
  struct Label: Hashable, Sendable, CustomStringConvertible {
    var name: String
    var position: TextPosition

    var description: String { name }
  }

  struct Step: Hashable, Sendable {
    var position: TextPosition
    /// Virtual milliseconds that pass before it.
    var wait: Int64 = 0
    var action: Action
  }

  enum Action: Hashable, Sendable {
    case onDevice(Label, DeviceVerb)
    case inWorld(WorldVerb)
    case expect(Expectation)
  }

  var name: String
  var description: String?
  /// The world of a random run; nil for the plain one of scenarios.
  var world: ScenarioWorld?
  var devices: [Label]
  var steps: [Step]
}

/// The differences of devices from those of the plain world.
struct Machines: Hashable, Sendable {
  /// Whether they have no server.
  var areAlone = false
  /// Their maximum delay on waking, in milliseconds.
  var timersLateMax: Int64 = 0
}

/// Everything that determines a world other than the plain one; missing fields have the
/// simulation's defaults.
struct ScenarioWorld: Hashable, Sendable {
  /// The seed of latencies, splits and jitter.
  var seed: UInt64
  var latencyMilliseconds: ClosedRange<Int64>?
  var splitPercent: Int?
  var storeMilliseconds: ClosedRange<Int64>?
  var catchUpEntriesMax: Int?
  var snapshotEntries: Int?
  var partBytesMax: Int?
  /// The number of messages in a session up to which a local enqueue is accepted.
  var queueSizeMax: Int?
  /// Virtual milliseconds after a repair within which outboxes must be empty.
  var drainMillisecondsMax: Int64?
  /// Whether hosts run the messages of their sessions.
  var runsAgents = false
  /// Whether most agents are done within a second.
  var hasQuickAgents = false
  /// Whether agents ask for permission and for answers, and users answer.
  var raisesRequests = false
  /// Whether users who withdraw or edit a message ask if they were in time.
  var asksOutcomes = false
  var machines = Machines()
  /// The names of planted bugs.
  var planted: [Scenario.Label] = []
}

/// A text in a scenario; a long one is written as a short one and a number of repetitions.
struct ScenarioText: Hashable, Sendable {
  var unit: String
  var times: Int

  init(_ unit: String, times: Int = 1) {
    self.unit = unit
    self.times = times
  }

  var full: String { times == 1 ? unit : String(repeating: unit, count: times) }
}

/// A command of a user or program on one device: the model's commands with labels.
enum DeviceVerb: Hashable, Sendable {
  typealias Label = Scenario.Label

  struct Send: Hashable, Sendable {
    var session: Label
    var id: Label
    var text: ScenarioText
    var isUrgent = false
    var project: String?
    /// Whether the session's thread goes to the end of the thread queue.
    var requeuesThread = true
    /// The time before which it is not in line, in milliseconds since 1970.
    var later: Int64?
    /// Whether it goes before the others of its priority, and interrupts what runs.
    var goesFirst = false
    /// The messages that it waits for.
    var needs: [Label] = []
  }

  enum Place: Hashable, Sendable {
    /// Counted from 1.
    case to(Int)
    case before(Label)
    case after(Label)
  }

  case send(Send)
  /// Against the shown text, or against that of the last `open`.
  case edit(Label, ScenarioText, againstOpened: Bool)
  case open(Label)
  /// `at` counts Unicode scalars from 0.
  case insertText(Label, at: Int, ScenarioText)
  case deleteText(Label, at: Int, count: Int)
  case move([Label], Place)
  case cancel([Label])
  case restore(Label)
  case clear(Label)
  case priority(Label, Priority)
  case pause(Label, reason: String?)
  case resume(Label)
  case threadAdd([Label])
  case threadMove([Label], Place)
  case threadRemove([Label])
  case threadClear
  case threadUnlock(Label)
  case sessionAdd(Label, name: String?, project: String?)
  case sessionRename(Label, name: String)
  case sessionDelete(Label)
  case sessionArchive(Label)
  case sessionUnarchive(Label)
  /// The number of the device that runs the session's messages, from 1; nil for none.
  case host(Label, number: Int?)
  case onMerge(Label, MergePolicy)
  case retry(Label)
  case skip(Label)
  /// Until a time in milliseconds since 1970; nil to end it.
  case hold(Label, until: Int64?)
  case notBefore(Label, Int64?)
  case later(Label, Int64?)
  /// The messages that a message waits for; may be empty.
  case needs(Label, [Label])
  case undo
  /// Skips the latest change, which stays in effect.
  case undoSkip
  case redo
}

/// An event of devices, the server and time.
enum WorldVerb: Hashable, Sendable {
  typealias Label = Scenario.Label

  /// A device, or the server.
  enum Machine: Hashable, Sendable {
    case device(Label)
    case server
  }

  /// The bytes that a partition holds back.
  enum Direction: String, Hashable, Sendable, CaseIterable {
    case toServer = "to-server"
    case fromServer = "from-server"
    case both
  }

  /// How a copy is used.
  enum Method: String, Hashable, Sendable, CaseIterable {
    /// The database is restored; the files beside it stay.
    case database
    /// All files.
    case directory
    /// The running machine, memory and files.
    case memory
  }

  /// The result of the next commits of a store.
  enum Store: String, Hashable, Sendable, CaseIterable {
    case working
    case full
    case failing
  }

  /// When an agent gets messages.
  enum Agent: String, Hashable, Sendable, CaseIterable {
    case off
    case free
    case gated
  }

  // The network.
  /// nil for every device that runs and is online.
  case sync([Label]?)
  /// Ends every fault, restarts everything that is down, and waits for all devices.
  case settle
  case offline([Label])
  case online([Label])
  /// A user asks for a connection now.
  case connect([Label])
  /// The connection breaks before the next acknowledgement arrives.
  case dropAcknowledgement([Label])
  case cut([Label])
  case partition([Label], Direction)
  case heal([Label])
  case clog([Label], milliseconds: Int64)

  // Machines and their files.
  case crash([Label], losesPower: Bool)
  case crashAtCommit([Label])
  case restart([Label])
  case sleep([Label], milliseconds: Int64)
  case crashServer
  case restartServer
  case store(Machine, Store)
  case backup(Machine, label: Label)
  case restore(Machine, label: Label, Method)
  case clone(Label, as: Label, Method)
  /// Another server answers, which began with the same backup.
  case swapServers

  // Users and agents at a device.
  case settings(Label, agent: Agent, needsConsent: Bool)
  case chooseHost(Label, session: Label, isHere: Bool)
  case chooseAgent(Label, session: Label, Agent?)
  case busy(Label, session: Label, Bool)
  case gate(Label, session: Label, isOpen: Bool)
  case stopAgent(Label, session: Label)
  case drain(Label)

  // Time.
  /// The difference between a wall clock and the true time.
  case clock(Machine, offsetMilliseconds: Int64)
  case advance(milliseconds: Int64)
}

/// A property that must hold at a point of the scenario.
struct Expectation: Hashable, Sendable {
  typealias Label = Scenario.Label

  enum Observer: Hashable, Sendable {
    /// Every device that runs.
    case all
    case device(Label)
  }

  enum Check: Hashable, Sendable {
    /// The waiting messages of a session in effective order.
    case queue(session: Label, [Label])
    /// The sessions in the thread queue in order, locked ones too.
    case threads([Label])
    case text(message: Label, ScenarioText)
    case status(message: Label, String)
    case paused(session: Label, Bool)
    /// The code with which the device's last command was refused.
    case error(String)
    /// Whether all devices and the server have the same state.
    case equal(Bool)
  }

  var observer: Observer
  var checks: [Check]
}
