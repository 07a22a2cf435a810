import ClientCore
import ClientStore
import Foundation
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import ServerStore
import SyncTestSupport
import WireProtocol

/// Devices and a server with the production cores and the real SQLite stores, on machines that lose
/// power at any write or sync.
///
/// The network delivers in order, at once or, by chance, later. Frames that are on their way when a
/// machine dies may or may not arrive.
final class CrashWorld {
  enum Parcel {
    case toServer(device: Int, ConnectionID, [UInt8])
    case toDevice(device: Int, TransportID, [UInt8])
  }

  let seed: UInt64
  let root: String
  let devices: [CrashDevice]
  let server: CrashServer
  var generator: SeededGenerator
  var commands = CommandGenerator(sessionCount: 3)
  var now: Int64 = 1_000
  var parcels: [Parcel] = []
  var deviceActions: [(device: Int, action: ClientCore.Action)] = []
  var statistics = Statistics()
  /// The last number that each replica ever wrote, even if a crash lost it.
  private var written = VersionVector()
  /// The latest reports of devices and server.
  private(set) var reports: [String] = []

  struct Statistics {
    var crashes = 0
    var deviceCrashes = 0
    var serverCrashes = 0
    /// Crashes while a transaction was being written, as opposed to between transactions.
    var midTransaction = 0
    var commands = 0
    var operations = 0
    /// The number of replica ids that wrote.
    var writers = 0
    /// Crashes between the sending of a command and the disk.
    var sentAndLost = 0
  }

  init(seed: UInt64, devices count: Int = 2) throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    root = NSTemporaryDirectory() + "cospool-crash-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let root = root
    devices = try (0..<count).map { try CrashDevice(number: $0, root: root) }
    server = try CrashServer(root: root)
    _ = try server.start()
    try server.admit(devices, wall: wall)
    for index in devices.indices { try startDevice(index) }
  }

  deinit {
    for device in devices {
      CrashFileSystem.unmount(device.disk)
    }
    CrashFileSystem.unmount(server.disk)
    // A leftover directory in the temporary folder is not a problem.
    try? FileManager.default.removeItem(atPath: root)
  }

  var wall: Int64 { TestDevice.startOfTime + now }
  var moment: ServerTime { ServerTime(uptimeMilliseconds: now, wallMilliseconds: wall) }

  func context() -> EventContext {
    EventContext(now: now, wall: wall, random: generator.next())
  }

  private func report(_ line: String) {
    reports.append("\(now): \(line)")
    if reports.count > 40 { reports.removeFirst(20) }
  }

  // MARK: - Steps

  /// An event of a user, the network or time.
  func step() throws {
    now += Int64(1 + generator.below(400))
    switch generator.below(100) {
    case ..<55: try command(on: generator.below(devices.count))
    case ..<80: try deliver(1 + generator.below(12))
    case ..<90: try pass(Int64(generator.below(5_000)))
    case ..<96: try deliver(.max)
    default: try restart(generator.below(devices.count + 1))
    }
  }

  private func command(on index: Int) throws {
    let device = devices[index]
    guard let process = device.process else { return }
    let command = commands.command(
      for: process.core.replica.workspace, editors: &device.editors, using: &generator)
    var operations: [QueueModel.Operation]?
    try run(on: index) { core, context, store in
      do {
        let done = try core.commandGiven(
          command, waitsForDisk: false, at: context, store: store)
        operations = done.outcome.operations
        return done.actions
      } catch Replica.Fault.queue {
        return []
      }
    }
    if let operations { try note(operations, of: index) }
    // A command whose answer was lost with the power was never completed.
    guard let operations, device.process?.store === process.store else { return }
    do {
      try process.store.synchronize()
    } catch {
      guard device.disk.isOff else { throw error }
    }
    guard !device.disk.isOff else {
      statistics.sentAndLost += operations.isEmpty ? 0 : 1
      return try crashDevice(index, midTransaction: true)
    }
    device.remember()
    device.answered += operations
    statistics.commands += 1
    statistics.operations += operations.count
  }

  /// No id is used a second time, even if the first use was lost.
  private func note(_ operations: [QueueModel.Operation], of index: Int) throws {
    for range in operations.ranges {
      guard range.first > written[range.replica] else {
        throw fail("device \(index) wrote \(range) again")
      }
      if written[range.replica] == 0 { statistics.writers += 1 }
      written[range.replica] = range.last
    }
  }

  /// Runs an event of a device and its actions, and handles a power failure on the way.
  func run(
    on index: Int,
    _ event: (inout ClientCore, EventContext, ClientStore) throws -> [ClientCore.Action]
  ) throws {
    let device = devices[index]
    guard let store = device.process?.store else { return }
    let context = context()
    let actions: [ClientCore.Action]
    do {
      actions = try device.process?.core.noted { try event(&$0, context, store) } ?? []
    } catch {
      guard device.disk.isOff else { throw error }
      actions = []
    }
    // Without power, nothing leaves the machine.
    guard !device.disk.isOff else { return try crashDevice(index, midTransaction: true) }
    device.remember()
    deviceActions += actions.map { (index, $0) }
    try act()
  }

  private func act() throws {
    while !deviceActions.isEmpty {
      let (index, action) = deviceActions.removeFirst()
      switch action {
      case .connect(let id):
        try connect(index, id)
      case .send(let id, let frame):
        guard let connection = devices[index].process?.connection, connection.client == id
        else { continue }
        if case .ack(let ack) = frame,
          ack.prefix.position > devices[index].durable.prefix.position
        {
          throw fail("device \(index) acknowledged \(ack.prefix), which is not durable")
        }
        parcels.append(
          .toServer(device: index, connection.server, FrameCodec.encode(frame)))
      case .close(let id):
        guard let connection = devices[index].process?.connection, connection.client == id
        else { continue }
        devices[index].process?.connection = nil
        try notifyServer { $0.connectionClosed(connection.server, at: self.moment) }
      case .ping(let id):
        try run(on: index) { core, context, _ in
          core.connectionHeard(id, at: context)
          return []
        }
      case .report(let problem):
        report("device \(index): \(problem.message)")
      case .changed, .agent, .answered, .decided, .answerEnded, .replied, .notified,
        .notificationEnded, .connectionMissed, .outputWanted:
        break
      }
    }
  }

  private func connect(_ index: Int, _ id: TransportID) throws {
    guard server.process != nil else {
      return try run(on: index) { core, context, _ in
        core.connectionLost(id, message: "refused", at: context)
      }
    }
    let connection = server.nextConnection()
    devices[index].process?.connection = (id, connection)
    try notifyServer {
      $0.connectionOpened(
        connection, source: "device", acceptedAt: self.moment, at: self.moment)
    }
    try run(on: index) { core, context, store in
      core.connectionOpened(id, at: context, store: store)
    }
  }

  // MARK: - The network

  /// Delivers a number of the frames in transit.
  func deliver(_ count: Int) throws {
    var left = count
    while left > 0, !parcels.isEmpty {
      left -= 1
      switch parcels.removeFirst() {
      case .toServer(_, let connection, let bytes):
        try notifyServer { core in
          core.frameReceived(bytes, on: connection, at: self.moment, using: &self.generator)
        }
      case .toDevice(let index, let connection, let bytes):
        try deliver(bytes, to: index, on: connection)
      }
    }
  }

  func deliver(_ bytes: [UInt8], to index: Int, on connection: TransportID) throws {
    guard devices[index].process?.connection?.client == connection else { return }
    let frame = try FrameCodec.decode(bytes)
    try run(on: index) { core, context, store in
      core.frameReceived(frame, on: connection, at: context, store: store)
    }
  }

  /// Runs an event of the server and its actions.
  func notifyServer(_ event: (inout ServerCore) -> [ServerAction]) throws {
    guard let database = server.process?.database else { return }
    var actions = server.process?.core.noted(event) ?? []
    while !actions.isEmpty {
      let action = actions.removeFirst()
      switch action {
      case .store(let id, let task):
        let outcome = database.perform(task)
        // The answer to a task never leaves a machine without power.
        guard !server.disk.isOff else { return try crashServer(midTransaction: true) }
        let moment = moment
        actions += server.process?.core.noted { $0.storeFinished(id, outcome, at: moment) } ?? []
      case .send(let bytes, let connections):
        for connection in connections {
          guard let index = device(of: connection), let client = devices[index].process?.connection
          else { continue }
          parcels.append(.toDevice(device: index, client.client, bytes))
          actions += server.process?.core.noted { $0.bytesBuffered(0, on: connection) } ?? []
        }
      case .close(let connection, _, _), .abort(let connection, _):
        let moment = moment
        actions += server.process?.core.noted { $0.connectionClosed(connection, at: moment) } ?? []
        guard let index = device(of: connection) else { continue }
        try lose(index, "closed by the server")
      case .report(let news):
        report("server: \(news)")
      case .setReading, .authenticated, .stopped, .pushOrdersStored, .liveStatus, .answerSettled,
        .contentReleased, .testPush:
        break
      }
    }
  }

  private func device(of connection: ConnectionID) -> Int? {
    devices.firstIndex { $0.process?.connection?.server == connection }
  }

  func lose(_ index: Int, _ message: String) throws {
    guard let connection = devices[index].process?.connection else { return }
    devices[index].process?.connection = nil
    try run(on: index) { core, context, _ in
      core.connectionLost(connection.client, message: message, at: context)
    }
  }

  /// Lets time pass: deadlines of the devices, ticks of the server.
  func pass(_ milliseconds: Int64) throws {
    let end = now + milliseconds
    while now < end {
      now += 250
      try notifyServer { $0.clockTicked(at: self.moment) }
      for index in devices.indices {
        guard let deadline = devices[index].process?.core.deadline, deadline <= now else {
          continue
        }
        try run(on: index) { core, context, store in core.timePassed(at: context, store: store) }
      }
    }
  }
}

extension ClientCore {
  mutating func noted<Result>(_ event: (inout ClientCore) throws -> Result) rethrows -> Result {
    try event(&self)
  }
}

extension ServerCore {
  mutating func noted<Result>(_ event: (inout ServerCore) -> Result) -> Result { event(&self) }
}
