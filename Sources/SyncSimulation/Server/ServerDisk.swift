import DispatchAuthority
package import QueueModel
import SequenceCRDT
package import ServerCore
import WireProtocol

/// The server's stored data, with the faults of its disk and its backups.
package final class ServerDisk {
  static let workspace = WorkspaceID(high: 0xC0, low: 0x5F)

  /// The contents of a backup of the server.
  struct Backup {
    var state: MemoryStorage.State
  }

  let storage = MemoryStorage()
  private(set) var condition = StoreCondition.working
  var backups: [String: Backup] = [:]
  /// The data of another server that began with the same backup; nil if there is none.
  private var other: Backup?
  /// A copy that lacks the latest commits; nil without one.
  private var standby: Backup?
  /// How many times the store has gone back in time.
  private(set) var restores = 0
  /// The store's state at the last fsync, if a planted bug reports commits before that.
  private(set) var synced: Backup?

  init(firstChain: UInt64) {
    storage.addWorkspace(ServerDisk.workspace, name: "simulated", firstChain: firstChain)
  }

  // MARK: - Stored data

  /// The workspace as a start of the server would read it.
  package func storedWorkspace() throws(StorageFault) -> Workspace {
    let faults = storage.withState { state in
      defer { (state.writeFault, state.readFault) = (nil, nil) }
      return (state.writeFault, state.readFault)
    }
    defer { storage.withState { ($0.writeFault, $0.readFault) = faults } }
    guard let loaded = try storage.readWorkspace(ServerDisk.workspace) else {
      throw StorageFault(code: .corrupt, message: "the workspace is gone")
    }
    return loaded.workspace
  }

  /// The host that may run a session's messages, according to the store.
  func lease(of session: SessionID) -> Lease? {
    storage.withState { $0.workspaces[ServerDisk.workspace]?.leases[session] }
  }

  /// The stored notifications.
  var inboxRecords: InboxRecords {
    storage.withState { $0.workspaces[ServerDisk.workspace]?.inboxes } ?? InboxRecords()
  }

  /// The node that serves the workspace.
  package var owner: Int? {
    storage.withState { $0.workspaces[ServerDisk.workspace]?.node }
  }

  var mark: WorkspaceMark? {
    get { storage.withState { $0.workspaces[ServerDisk.workspace]?.mark } }
    set {
      guard let newValue else { return }
      storage.withState { $0.workspaces[ServerDisk.workspace]?.mark = newValue }
    }
  }

  /// Whether the log has this prefix, or had it before it was truncated.
  func holds(_ prefix: LogPrefix) -> Bool {
    guard prefix.position <= durableHead.position else { return false }
    let chain = try? storage.chain(of: ServerDisk.workspace, at: prefix.position)
    return chain == nil || chain == prefix.chain
  }

  /// The server's log as a crash at this moment would leave it.
  var durableHead: LogPrefix {
    let state = synced?.state ?? storage.withState { $0 }
    return state.workspaces[ServerDisk.workspace]?.head ?? .empty
  }

  // MARK: - Devices

  func knows(_ device: DeviceID) -> Bool {
    storage.withState { $0.workspaces[ServerDisk.workspace]?.devices[device] != nil }
  }

  func pair(_ device: DeviceID, name: String, token: [UInt8]) {
    storage.addDevice(device, name: name, to: ServerDisk.workspace, token: token)
  }

  // MARK: - Faults

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
      // A failing disk does not read, either.
      $0.readFault = condition == .failing ? fault : nil
    }
  }

  /// A planted bug: commits from now on are not on the disk.
  func holdBack() { synced = backup() }

  /// The machine goes down, and loses commits that are not on the disk.
  func loseUnsyncedCommits() {
    if let synced { put(synced) }
  }

  // MARK: - Backups

  /// A copy of the stored data, without the disk's faults.
  func backup() -> Backup {
    Backup(state: storage.withState { $0 })
  }

  func restore(_ backup: Backup) {
    put(backup)
    restores += 1
    synced = nil
  }

  // MARK: - Nodes

  func nodeStarted(_ node: Int) {
    storage.withState { _ = $0.livingNodes.insert(node) }
  }

  /// The others learn that a node has ended.
  func nodeIsGone(_ node: Int) {
    storage.withState { _ = $0.livingNodes.remove(node) }
  }

  /// The standby receives everything up to now.
  func updateStandby() { standby = backup() }

  /// The standby becomes the store.
  ///
  /// - Returns: whether there is one.
  func failOver() -> Bool {
    guard let standby else { return false }
    let living = storage.withState { $0.livingNodes }
    restore(standby)
    storage.withState { $0.livingNodes = living }
    return true
  }

  /// Exchanges the data with that of the other server.
  func swap() {
    let next = other ?? backup()
    other = backup()
    restore(next)
  }

  private func put(_ backup: Backup) {
    storage.withState { state in
      let faults = (state.writeFault, state.readFault)
      state = backup.state
      (state.writeFault, state.readFault) = faults
    }
  }
}
