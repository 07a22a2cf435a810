import DispatchAuthority
package import QueueModel
import SequenceCRDT
package import ServerCore
import WireProtocol

/// What the server has stored, with the faults of its disk and the backups that were made of it.
package final class ServerDisk {
  static let workspace = WorkspaceID(high: 0xC0, low: 0x5F)

  /// What a backup of the server holds.
  struct Backup {
    var state: MemoryStorage.State
  }

  let storage = MemoryStorage()
  private(set) var condition = StoreCondition.working
  var backups: [String: Backup] = [:]
  /// What another server holds that began with the same backup; nil where there is none.
  private var other: Backup?
  /// How often the store went back in time.
  private(set) var restores = 0
  /// The store's state at the last fsync, where a planted bug reports commits before that.
  private(set) var synced: Backup?

  init(firstChain: UInt64) {
    storage.addWorkspace(ServerDisk.workspace, name: "simulated", firstChain: firstChain)
  }

  // MARK: - What is stored

  /// The workspace as a start of the server would read it.
  package func storedWorkspace() throws(StorageFault) -> Workspace {
    let faults = storage.withState { state in
      defer { (state.writeFault, state.readFault) = (nil, nil) }
      return (state.writeFault, state.readFault)
    }
    defer { storage.withState { ($0.writeFault, $0.readFault) = faults } }
    switch storage.perform(.load(ServerDisk.workspace)) {
    case .workspace(let loaded?): return loaded.workspace
    case .failed(let fault): throw fault
    default: throw StorageFault(code: .corrupt, message: "the workspace is gone")
    }
  }

  /// Who may run a session's messages, as far as the store knows.
  func lease(of session: SessionID) -> Lease? {
    storage.withState { $0.workspaces[ServerDisk.workspace]?.leases[session] }
  }

  /// What is stored of notifications.
  var inboxRecords: InboxRecords {
    storage.withState { $0.workspaces[ServerDisk.workspace]?.inboxes } ?? InboxRecords()
  }

  /// What a crash at this moment would leave of the server's log.
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
      // A disk that fails does not read either.
      $0.readFault = condition == .failing ? fault : nil
    }
  }

  /// A planted bug: what is committed from now on is not on the disk.
  func holdBack() { synced = backup() }

  /// The machine goes down, and with it what is not on the disk.
  func loseWhatIsHeldBack() {
    if let synced { put(synced) }
  }

  // MARK: - Backups

  /// A copy of what is stored; the faults of the disk are not part of it.
  func backup() -> Backup {
    Backup(state: storage.withState { $0 })
  }

  func restore(_ backup: Backup) {
    put(backup)
    restores += 1
    synced = nil
  }

  /// Takes what the other server holds, which keeps what is here for the next time.
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
