import DispatchAuthority
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

/// The server: its store, its clock, and the process while there is one.
final class SimulatedServer {
  static let workspace = WorkspaceID(high: 0xC0, low: 0x5F)

  /// A running process.
  struct Process {
    var core: ServerCore
    /// By connection; ids rise, so sorting by them is the order of opening.
    var pipes: [ConnectionID: Pipe] = [:]
    /// Work for the store's thread, in order.
    var tasks: [PendingTask] = []
    var isStoreBusy = false
    /// Actions still to be done; an action can raise events whose actions must not overtake it.
    var actions: [ServerAction] = []
    var isActing = false
    var nextConnection: UInt64 = 0
    var isStopped = false
  }

  /// Work that the store has not done yet.
  struct PendingTask {
    var id: StoreTaskID
    var task: StoreTask
  }

  /// What a backup of the server holds.
  struct Backup {
    var state: MemoryStorage.State
  }

  let storage = MemoryStorage()
  let configuration: ServerConfiguration
  var process: Process?
  var life = 0
  var clockOffset: Int64 = 0
  var condition = StoreCondition.working
  var generator: SeededGenerator
  var backups: [String: Backup] = [:]
  /// What another server holds that began with the same backup; nil where there is none.
  var other: Backup?
  /// When the store last went back in time.
  var restoredAt: Int64?
  /// How often it went back in time.
  var restores = 0
  /// The store's state at the last fsync, where a planted bug reports commits before that.
  var synced: Backup?
  /// Counts the batches of which one receiver is left out, by a planted bug.
  var fanOuts = 0

  init(configuration: ServerConfiguration, generator: SeededGenerator) {
    self.configuration = configuration
    self.generator = generator
    var identities = SeededGenerator(seed: generator.seed ^ 0x1D)
    storage.addWorkspace(
      SimulatedServer.workspace, name: "simulated", firstChain: identities.next())
  }

  func setCondition(_ condition: StoreCondition) {
    self.condition = condition
    let fault: StorageFault? =
      switch condition {
      case .working: nil
      case .full: StorageFault(code: .full, message: "the disk is full")
      case .failing: StorageFault(code: .unavailable, message: "the disk does not write")
      }
    storage.withState {
      $0.writeFault = fault
      // A disk that fails does not read either.
      $0.readFault = condition == .failing ? fault : nil
    }
  }

  /// A copy of what is stored; the faults of the disk are not part of it.
  func backup() -> Backup {
    Backup(state: storage.withState { $0 })
  }

  func put(_ backup: Backup) {
    storage.withState { state in
      let faults = (state.writeFault, state.readFault)
      state = backup.state
      (state.writeFault, state.readFault) = faults
    }
  }

  /// Who may run a session's messages, as far as the store knows.
  func lease(of session: SessionID) -> Lease? {
    storage.withState { $0.workspaces[SimulatedServer.workspace]?.leases[session] }
  }

  /// The workspace as a start of the server would read it.
  func storedWorkspace() throws(StorageFault) -> Workspace {
    let faults = storage.withState { state in
      defer { (state.writeFault, state.readFault) = (nil, nil) }
      return (state.writeFault, state.readFault)
    }
    defer { storage.withState { ($0.writeFault, $0.readFault) = faults } }
    switch storage.perform(.load(SimulatedServer.workspace)) {
    case .workspace(let loaded?): return loaded.workspace
    case .failed(let fault): throw fault
    default: throw StorageFault(code: .corrupt, message: "the workspace is gone")
    }
  }
}
