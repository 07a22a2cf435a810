import ClientCore
package import QueueModel
import QueueOracle
import SequenceCRDT

/// A device: its files, its clocks, and the process while there is one.
package final class SimulatedDevice {
  /// What stands between the device and the server.
  struct Network {
    /// The device has an address at all.
    var isUp = true
    /// Bytes in these directions get lost, and are repeated until they get through.
    var blocksToServer = false
    var blocksFromServer = false
    /// Everything is late until then.
    var cloggedUntil: Int64 = 0
    /// The connection breaks before the next acknowledgement arrives.
    var losesNextAck = false

    func blocks(_ direction: Pipe.Direction) -> Bool {
      switch direction {
      case .toServer: blocksToServer
      case .fromServer: blocksFromServer
      }
    }
  }

  /// What people at a host said, and what its agents do.
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
    /// What an observer was told.
    var mirror: QueueMirror
    /// What the observer was not told of yet, and how many changes that is.
    var untold = TouchedQueues()
    var untoldCount = 0
    /// What editors saw that were opened.
    var editors: [MessageID: EditBase] = [:]
    /// True time at the start of the monotonic clock.
    var clockOrigin: Int64
    var scheduledWake: Int64?
    /// How far its clock was off when time passed and nothing came of it, with nothing since; see
    /// `ClientDriver.timerFired`.
    var restsAtClockOffset: Int64?
    var pipes: [TransportID: Pipe] = [:]
    /// Connections that a copied memory takes for its own, and that are another machine's.
    var foreignConnections: Set<TransportID> = []
    /// Agents at work, by session.
    var agents: [SessionID: Agent] = [:]
    var host = Host()
    /// What people here wait to be told of withdrawals and edits, by question.
    var races: [UInt64: AskedRace] = [:]
    /// Attempts that people here asked to stop, by question.
    var stops: [UInt64: AskedStop] = [:]
    /// What people here looked at.
    var seenRequests: Set<RequestID> = []
    /// Notifications that are to be seen.
    var screen: Set<OperationID> = []
  }

  /// What its driver remembers between events.
  struct Remembered {
    /// In which sessions something may begin or is said to run, and the state for which that holds.
    var work: (state: StoredState, sessions: [SessionID])?
    /// Notifications that came, by which a planted bug drops some.
    var notificationsReceived = 0
  }

  /// What names a state of a device: whatever changes a queue is stored with that.
  struct StoredState: Equatable {
    var life: Int
    var commits: Int
    var vector: VersionVector
  }

  /// A running machine that was kept.
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

  /// Tells the observer what changed.
  func tellObserver() {
    guard var process, process.untoldCount > 0 else { return }
    let touched = process.untold
    self.process = nil
    process.untold = TouchedQueues()
    process.untoldCount = 0
    process.mirror.follow(process.core.replica.workspace, touched: touched)
    self.process = process
  }

  /// An agent that has a prompt.
  struct Agent {
    var order: StartOrder
    var endsAt: Int64
    /// What it waits for, and whether for ever; several where its subagents ask.
    var requests: [RequestID: Bool] = [:]
    var hasAsked = false
    var isStopped = false

    /// What it waits for of people, who may take as long as they like.
    var open: [RequestID] { isStopped ? [] : requests.filter(\.value).keys.sorted() }

    /// It waits for people alone.
    var isOpen: Bool { !requests.isEmpty && open.count == requests.count }
  }

  let index: Int
  let name: String
  /// The files while no process has them open.
  var files: DeviceFiles
  var process: Process?
  /// Counts the processes, so that what was meant for an earlier one is not given to a later.
  var life = 0
  var network = Network()
  var clockOffset: Int64 = 0
  var sleepsUntil: Int64?
  var condition = StoreCondition.working
  /// What its file of settings says.
  var hostSettings = HostSettings()
  var generator: SeededGenerator
  var backups: [String: DeviceFiles] = [:]
  var memories: [String: Memory] = [:]
  /// What executing came to in the processes that ended.
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
  /// Whether it has a network and nothing is held back.
  var isOnline: Bool {
    network.isUp && !network.blocksToServer && !network.blocksFromServer
  }

  /// What executing came to in all processes.
  var execution: ExecutionReport {
    var sum = pastExecution
    if let process { sum.add(process.core.executionCounts) }
    return sum
  }

  /// The files as they are now, open or not.
  var currentFiles: DeviceFiles { process?.store.files ?? files }

  /// What the device holds, also while it is off.
  package func workspace() throws -> Workspace {
    if let process { return process.core.replica.workspace }
    return try files.workspace()
  }
}
