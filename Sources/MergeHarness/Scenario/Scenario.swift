import Basics
import QueueModel

/// A conflict as somebody wrote it down: devices, and what happens to them in order.
///
/// Labels name devices, messages, sessions and backups. `LabelTable` turns them into ids.
struct Scenario: Hashable, Sendable {
  /// A label and where it stands.
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
  /// The world that a random run had; nil for the plain one of scenarios.
  var world: ScenarioWorld?
  var devices: [Label]
  var steps: [Step]
}

/// How devices differ from those of the plain world.
struct Machines: Hashable, Sendable {
  /// They have no server.
  var areAlone = false
  /// How late they wake at most, in milliseconds.
  var timersLateMax: Int64 = 0
}

/// What a world that is not the plain one follows from; fields left out are the simulation's own.
struct ScenarioWorld: Hashable, Sendable {
  /// Where latencies, splits and jitter are drawn from.
  var seed: UInt64
  var latencyMilliseconds: ClosedRange<Int64>?
  var splitPercent: Int?
  var storeMilliseconds: ClosedRange<Int64>?
  var catchUpEntriesMax: Int?
  var snapshotEntries: Int?
  var partBytesMax: Int?
  /// Messages a session may hold for a local enqueue to be taken.
  var queueSizeMax: Int?
  /// Virtual milliseconds after healing within which outboxes must be empty.
  var drainMillisecondsMax: Int64?
  /// Hosts run what waits in their sessions.
  var runsAgents = false
  /// Agents are done within a second, mostly.
  var hasQuickAgents = false
  /// Agents ask for leave and for answers, and people answer.
  var raisesRequests = false
  /// Who withdraws or edits a message asks whether that was in time.
  var asksOutcomes = false
  var machines = Machines()
  /// Names of bugs that are there on purpose.
  var planted: [Scenario.Label] = []
}

/// A text in a scenario; long ones are written as a short one many times.
struct ScenarioText: Hashable, Sendable {
  var unit: String
  var times: Int

  init(_ unit: String, times: Int = 1) {
    self.unit = unit
    self.times = times
  }

  var full: String { times == 1 ? unit : String(repeating: unit, count: times) }
}

/// What a person or program does on one device: the model's commands with labels.
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
    /// Before which time it is not in line, in milliseconds since 1970.
    var later: Int64?
  }

  enum Place: Hashable, Sendable {
    /// Counted from 1.
    case to(Int)
    case before(Label)
    case after(Label)
  }

  case send(Send)
  /// Against what the device shows, or against what it showed at the last `open`.
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
  /// The number of the device that runs the session's messages, from 1; nil for none.
  case host(Label, number: Int?)
  case onMerge(Label, MergePolicy)
  case retry(Label)
  case skip(Label)
  /// Until a time in milliseconds since 1970; nil for no longer.
  case hold(Label, until: Int64?)
  case notBefore(Label, Int64?)
  case later(Label, Int64?)
  case undo
  /// Goes on without the latest change, which stays.
  case undoSkip
  case redo
}

/// What happens to devices, the server and time.
enum WorldVerb: Hashable, Sendable {
  typealias Label = Scenario.Label

  /// A device, or the server.
  enum Machine: Hashable, Sendable {
    case device(Label)
    case server
  }

  /// Which bytes a partition holds back.
  enum Direction: String, Hashable, Sendable, CaseIterable {
    case toServer = "to-server"
    case fromServer = "from-server"
    case both
  }

  /// How a copy comes to be used.
  enum Method: String, Hashable, Sendable, CaseIterable {
    /// The database is put back; the files beside it stay.
    case database
    /// All files.
    case directory
    /// The running machine, memory and files.
    case memory
  }

  /// What the next commits of a store come to.
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
  /// Nil means every device that runs and is online.
  case sync([Label]?)
  /// Ends all that is wrong, restarts what is down, and waits for everybody.
  case settle
  case offline([Label])
  case online([Label])
  /// A person asks for a connection now.
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
  /// Another server answers that began with the same backup.
  case swapServers

  // People and agents at a device.
  case settings(Label, agent: Agent, needsConsent: Bool)
  case chooseHost(Label, session: Label, isHere: Bool)
  case chooseAgent(Label, session: Label, Agent?)
  case busy(Label, session: Label, Bool)
  case gate(Label, session: Label, isOpen: Bool)
  case stopAgent(Label, session: Label)
  case drain(Label)

  // Time.
  /// How far a wall clock is from the true time.
  case clock(Machine, offsetMilliseconds: Int64)
  case advance(milliseconds: Int64)
}

/// What must hold at a point of the scenario.
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
    /// Whether all devices and the server hold the same state.
    case equal(Bool)
  }

  var observer: Observer
  var checks: [Check]
}
