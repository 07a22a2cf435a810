import ClientCore
import ClientStore
import Foundation
import GRDB
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import ServerStore
import WireProtocol

/// A device with its real store on a disk that can lose power.
final class CrashDevice {
  let id: DeviceID
  let name: String
  let disk: Disk
  let token: [UInt8]
  /// Nil while the machine is off.
  var process: Process?
  /// The contents that open editors show; the user has the draft.
  var editors: [MessageID: EditBase] = [:]
  /// Operations of completed commands, in order.
  var answered: [QueueModel.Operation] = []
  /// The state when an event last ended with the power on and everything durable.
  var durable = Durable()

  struct Process {
    var core: ClientCore
    let store: ClientStore
    var connection: (client: TransportID, server: ConnectionID)?
  }

  struct Durable {
    var vector = VersionVector()
    var image = Workspace().image()
    var prefix = LogPrefix.empty
  }

  init(number: Int, root: String) throws {
    id = DeviceID(high: 0xD, low: UInt64(number + 1))
    name = "device \(number)"
    token = [UInt8](repeating: UInt8(number + 1), count: 32)
    let directory = "\(root)/\(number)"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    disk = Disk(directory: directory)
    CrashFileSystem.mount(disk)
  }

  /// Opens the store and continues with its contents, as the library does.
  ///
  /// - Returns: whether the power stayed on.
  func start(_ context: EventContext) throws -> Bool {
    do {
      let opened = try ClientStore.open(directory: disk.directory)
      let replica = try Replica(
        Replica.Opening(
          loaded: opened.loaded, device: id, deviceName: name),
        at: context, store: opened.store)
      var core = ClientCore(
        replica: replica,
        credentials: Credentials(
          server: "ws://crash:1", workspace: CrashServer.workspace, workspaceName: "crash",
          token: token),
        queueSizeMax: 1_000)
      core.notificationsLoaded(opened.loaded.notifications)
      process = Process(core: core, store: opened.store, connection: nil)
      return true
    } catch {
      guard disk.isOff else { throw error }
      return false
    }
  }

  /// The machine goes down, and has lost what was not on its disk when it starts again.
  func losePower(using generator: inout SeededGenerator) throws {
    disk.failPowerNow()
    try? process?.store.close()
    process = nil
    try disk.crash(using: &generator)
  }

  /// Records what must survive from here on.
  func remember() {
    guard let core = process?.core, !disk.isOff else { return }
    guard process?.store.isSynchronized == true else { return }
    durable.vector = core.replica.workspace.vector
    durable.image = core.replica.workspace.image()
    durable.prefix = core.replica.record.prefix
  }
}

/// The server with its real store on a disk that can lose power.
final class CrashServer {
  static let workspace = WorkspaceID(high: 0xC0, low: 0x5F)

  let disk: Disk
  /// Nil while the machine is off.
  var process: Process?
  private var connections: UInt64 = 0

  struct Process {
    var core: ServerCore
    let database: ServerDatabase
  }

  init(root: String) throws {
    let directory = "\(root)/server"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    disk = Disk(directory: directory)
    CrashFileSystem.mount(disk)
  }

  func nextConnection() -> ConnectionID {
    connections += 1
    return ConnectionID(rawValue: connections)
  }

  func start() throws -> Bool {
    do {
      let database = try ServerDatabase.open(directory: disk.directory, for: .serving)
      var configuration = ServerConfiguration()
      configuration.log.snapshotEntries = 20
      configuration.log.snapshotEntriesMax = 40
      configuration.log.catchUpEntriesMax = 60
      configuration.traffic.frames.perSecond = 1_000_000
      configuration.traffic.frames.burst = 1_000_000
      process = Process(
        core: ServerCore(configuration: configuration, secretHash: { $0 }), database: database)
      return true
    } catch {
      guard disk.isOff else { throw error }
      return false
    }
  }

  /// Makes the workspace and adds the devices.
  func admit(_ devices: [CrashDevice], wall: Int64) throws {
    guard let database = process?.database else { return }
    for device in devices {
      let code = device.token + [0]
      _ = try database.addPairingCode(
        hash: code,
        for: WorkspaceProposal(
          name: "crash", id: Self.workspace, firstChain: 0x10, createdAt: wall),
        expiresAt: wall + 60_000)
      _ = try database.redeem(
        CodeRedemption(
          codeHash: code, device: device.id, deviceName: device.name, tokenHash: device.token,
          wallMilliseconds: wall, failuresMax: 5, devicesMax: 100))
    }
  }
}

/// Whether a database file is sound, by SQLite's own full check.
func integrity(of path: String) throws -> String {
  let queue = try DatabaseQueue(path: path)
  defer { try? queue.close() }
  return try queue.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } ?? "no answer"
}
