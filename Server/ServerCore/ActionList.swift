import QueueModel
import WireProtocol

/// What is to be done after an event, in order, and what the store was asked for: each question is answered
/// once.
struct ActionList: Sendable {
  private var actions: [ServerAction] = []
  private var purposes: [StoreTaskID: StorePurpose] = [:]
  private var lastTask: UInt64 = 0

  mutating func add(_ action: ServerAction) {
    actions.append(action)
  }

  mutating func ask(_ task: StoreTask, for purpose: StorePurpose) {
    lastTask += 1
    let id = StoreTaskID(rawValue: lastTask)
    purposes[id] = purpose
    add(.store(id, task))
  }

  /// Hands over what is to be done.
  mutating func take() -> [ServerAction] {
    defer { actions = [] }
    return actions
  }

  /// The store has done a task: why it was given to it.
  mutating func finished(_ id: StoreTaskID) -> StorePurpose {
    guard let purpose = purposes.removeValue(forKey: id) else {
      preconditionFailure("the store finished a task it was not given")
    }
    return purpose
  }
}

/// Why a task was given to the store.
enum StorePurpose: Sendable {
  case redeem(ConnectionID, PairRequest, source: String)
  case authenticate(ConnectionID)
  /// A code that a device asked for.
  case addCode(ConnectionID, request: UInt64, PairingCode, CodeProposal)
  case findLapsed
  case load(WorkspaceID)
  case catchUp(ConnectionID, Session)
  case packSnapshot(PackedState)
  case commit
  case saveSnapshot(WorkspaceID)
  case join(WorkspaceID, ConnectionID, DeviceID)
  case findUnpushed
  case probe
}

/// A state that is being packed for devices.
struct PackedState: Hashable, Sendable {
  var workspace: WorkspaceID
  var prefix: LogPrefix
}
