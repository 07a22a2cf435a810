import ClientCore
package import QueueModel
import QueueOracle
import SequenceCRDT

/// A device: its files, its clocks, and its process if one runs.
package final class SimulatedDevice {
  /// The network between the device and the server.
  struct Network {
    /// Whether the device has an address at all.
    var isUp = true
    /// Whether bytes in this direction are lost, and repeated until they arrive.
    var blocksToServer = false
    var blocksFromServer = false
    /// The time until which everything is delayed.
    var cloggedUntil: Int64 = 0
    /// Whether the connection breaks before the next acknowledgement arrives.
    var losesNextAck = false

    func blocks(_ direction: Pipe.Direction) -> Bool {
      switch direction {
      case .toServer: blocksToServer
      case .fromServer: blocksFromServer
      }
    }
  }

  /// The choices of users at a host, and the activity of its agents.
  struct Host {
    var settings = ExecutionSettings()
    var choices = SessionChoices()
    var busy: Set<SessionID> = []
    var open: Set<SessionID> = []
    var isDraining = false
  }

  /// A running process.
  struct Process {
    var core: ClientCore
    var store: DeviceStore
    /// The state as an observer knows it.
    var mirror: QueueMirror
    /// The changes that the observer has not received yet, and their number.
    var unobserved = TouchedQueues()
    var unobservedCount = 0
    /// The contents that open editors show.
    var editors: [MessageID: EditBase] = [:]
    /// True time at the start of the monotonic clock.
    var clockOrigin: Int64
    var scheduledWake: Int64?
    /// The clock's offset when time last passed without an effect, if nothing has happened since;
    /// see `ClientDriver.timerFired`.
    var restsAtClockOffset: Int64?
    var pipes: [TransportID: Pipe] = [:]
    /// Connections that a copied memory considers its own, although they belong to another machine.
    var foreignConnections: Set<TransportID> = []
    /// Agents at work, by session.
    var agents: [SessionID: Agent] = [:]
    var host = Host()
    /// Withdrawals and edits whose outcome users here wait for, by request.
    var races: [UInt64: AskedRace] = [:]
    /// Attempts that users here asked to stop, by request.
    var stops: [UInt64: AskedStop] = [:]
    /// The requests that users here have seen.
    var seenRequests: Set<RequestID> = []
    /// The notifications on the screen.
    var screen: Set<OperationID> = []
  }

  /// Values that the driver caches between events.
  struct Remembered {
    /// The sessions in which a message may start or counts as running, and the state to which that
    /// applies.
    var work: (state: StoredState, sessions: [SessionID])?
    /// The number of received notifications, with which a planted bug drops some.
    var notificationsReceived = 0
  }

  /// Identifies a state of a device; every change to a queue is stored.
  struct StoredState: Equatable {
    var life: Int
    var commits: Int
    var vector: VersionVector
  }

  /// A saved copy of a running machine.
  struct Memory {
    var process: Process
    var files: DeviceFiles
    var savedAt: Int64

    init(process: Process, savedAt: Int64) {
      self.process = process
      files = process.store.files
      self.savedAt = savedAt
    }
  }

  /// Passes the changes to the observer.
  func notifyObserver() {
    guard var process, process.unobservedCount > 0 else { return }
    let touched = process.unobserved
    self.process = nil
    process.unobserved = TouchedQueues()
    process.unobservedCount = 0
    process.mirror.follow(process.core.replica.workspace, touched: touched)
    self.process = process
  }

  /// An agent that has a prompt.
  struct Agent {
    var order: StartOrder
    var endsAt: Int64
    /// The requests that it waits for, and whether it waits forever; several if its subagents ask.
    var requests: [RequestID: Bool] = [:]
    var hasAsked = false
    var isStopped = false

    /// The requests that users may answer at any time.
    var open: [RequestID] { isStopped ? [] : requests.filter(\.value).keys.sorted() }

    /// Whether it only waits for users.
    var isOpen: Bool { !requests.isEmpty && open.count == requests.count }
  }

  let index: Int
  let name: String
  /// The files while no process has them open.
  var files: DeviceFiles
  var process: Process?
  /// Counts the processes, so that events for an earlier one do not reach a later one.
  var life = 0
  var network = Network()
  var clockOffset: Int64 = 0
  var sleepsUntil: Int64?
  var condition = StoreCondition.working
  /// The contents of its settings file.
  var hostSettings = HostSettings()
  var generator: SeededGenerator
  var backups: [String: DeviceFiles] = [:]
  var memories: [String: Memory] = [:]
  /// The counts of the processes that have ended.
  var pastExecution = ExecutionReport()
  var remembered = Remembered()

  init(index: Int, name: String, files: DeviceFiles, generator: SeededGenerator) {
    self.index = index
    self.name = name
    self.files = files
    self.generator = generator
  }

  package var isRunning: Bool { process != nil }
  var isAsleep: Bool { sleepsUntil != nil }
  /// Whether it has a network without a block.
  var isOnline: Bool {
    network.isUp && !network.blocksToServer && !network.blocksFromServer
  }

  /// The counts of all processes.
  var execution: ExecutionReport {
    var sum = pastExecution
    if let process { sum.add(process.core.executionCounts) }
    return sum
  }

  /// The present files, open or not.
  var currentFiles: DeviceFiles { process?.store.files ?? files }

  /// The device's workspace, even while it is off.
  package func workspace() throws -> Workspace {
    if let process { return process.core.replica.workspace }
    return try files.workspace()
  }
}
