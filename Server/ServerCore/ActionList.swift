import QueueModel
import WireProtocol

/// The actions to perform after an event, in order, and the store's open tasks. Each task gets one
/// answer.
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

  /// Returns the actions, and clears the list.
  mutating func take() -> [ServerAction] {
    defer { actions = [] }
    return actions
  }

  /// The store finished a task. Returns its purpose.
  mutating func finished(_ id: StoreTaskID) -> StorePurpose {
    guard let purpose = purposes.removeValue(forKey: id) else {
      preconditionFailure("the store finished a task it was not given")
    }
    return purpose
  }
}

/// The purpose of a task of the store.
enum StorePurpose: Sendable {
  case redeem(ConnectionID, PairRequest, source: String)
  case authenticate(ConnectionID)
  /// A code that a device requested.
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
