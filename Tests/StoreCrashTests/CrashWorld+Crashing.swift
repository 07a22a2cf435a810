import ClientCore
import ClientStore
import Foundation
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import ServerStore
import WireProtocol

/// A loss or damage, with the seed and the crash after which it showed.
struct CrashFailure: Error, CustomStringConvertible {
  var seed: UInt64
  var crash: Int
  var message: String

  var description: String {
    "seed \(seed) (set COSPOOL_SEED=\(seed)), crash \(crash): \(message)"
  }
}

extension CrashWorld {
  func fail(_ message: String) -> CrashFailure {
    CrashFailure(seed: seed, crash: statistics.crashes, message: message)
  }

  // MARK: - Starting and stopping

  func startDevice(_ index: Int) throws {
    while try !devices[index].start(context()) {
      // Its power failed again while it opened its store.
      try powerDown(index)
    }
    devices[index].remember()
    try run(on: index) { core, context, _ in core.started(at: context) }
  }

  /// A process that ends in order and starts again; the power may fail in between.
  func restart(_ index: Int) throws {
    if index == devices.count {
      try server.process?.database.close()
      return try crashServer(midTransaction: server.disk.isOff)
    }
    guard let process = devices[index].process else { return }
    if generator.chance(50) {
      try? process.store.keep(
        process.core.replica.workspace, upTo: process.core.replica.lastEntry)
    }
    guard !devices[index].disk.isOff else {
      return try crashDevice(index, midTransaction: true)
    }
    if let connection = devices[index].process?.connection {
      try lose(index, "stopped")
      try notifyServer { $0.connectionClosed(connection.server, at: self.moment) }
    }
    try? process.store.close()
    if devices[index].disk.isOff {
      // The power failed while the log was folded into the file.
      return try crashDevice(index, midTransaction: true)
    }
    devices[index].process = nil
    try startDevice(index)
  }

  // MARK: - Losing power

  /// The power of a machine fails, now or at one of its next writes; `step` does the rest.
  func threaten() throws {
    let victim = generator.below(devices.count + 2)
    let disk = victim < devices.count ? devices[victim].disk : server.disk
    guard generator.chance(85) else {
      disk.failPowerNow()
      return victim < devices.count
        ? try crashDevice(victim, midTransaction: false)
        : try crashServer(midTransaction: false)
    }
    disk.failPower(after: 1 + generator.below(24))
  }

  /// The machine goes down and starts again, and must have everything that it promised.
  func crashDevice(_ index: Int, midTransaction: Bool) throws {
    let device = devices[index]
    statistics.crashes += 1
    statistics.deviceCrashes += 1
    if midTransaction { statistics.midTransaction += 1 }
    let connection = device.process?.connection
    try powerDown(index)
    if let connection {
      try deliverSome(of: index)
      try notifyServer { $0.connectionClosed(connection.server, at: self.moment) }
    }
    let verdict = try integrity(of: device.disk.directory + "/" + ClientStore.fileName)
    guard verdict == "ok" else { throw fail("device \(index)'s file: \(verdict)") }
    while try !device.start(context()) { try powerDown(index) }
    try checkDevice(index)
    device.remember()
    try run(on: index) { core, context, _ in core.started(at: context) }
  }

  /// Frames that a device sent before it went down arrive up to a point; frames to it do not.
  private func deliverSome(of index: Int) throws {
    var sent: [[UInt8]] = []
    var connection: ConnectionID?
    parcels.removeAll {
      switch $0 {
      case .toDevice(index, _, _): return true
      case .toServer(index, let id, let bytes):
        connection = id
        sent.append(bytes)
        return true
      default: return false
      }
    }
    guard let connection else { return }
    let count = generator.chance(50) ? sent.count : generator.below(sent.count + 1)
    for bytes in sent.prefix(count) {
      try notifyServer { core in
        core.frameReceived(bytes, on: connection, at: self.moment, using: &self.generator)
      }
    }
  }

  private func powerDown(_ index: Int) throws {
    deviceActions.removeAll { $0.device == index }
    try devices[index].losePower(using: &generator)
  }

  private func checkDevice(_ index: Int) throws {
    let device = devices[index]
    guard let replica = device.process?.core.replica else { return }
    let held = replica.workspace.vector
    for (author, seq) in device.durable.vector.sorted where held[author] < seq {
      throw fail(
        "device \(index) lost operations of \(author) after \(held[author]), it had \(seq)")
    }
    for operation in device.answered where !held.contains(operation.id) {
      throw fail("device \(index) lost \(operation.id), which a command had answered")
    }
    if held == device.durable.vector,
      !replica.workspace.image().isExactlyEqual(to: device.durable.image)
    {
      throw fail("device \(index) came back with the same operations and another state")
    }
    let (prefix, known) = (replica.record.prefix.position, device.durable.prefix.position)
    if prefix < known {
      throw fail("device \(index) told the server it had \(known), it has \(prefix)")
    }
  }

  func crashServer(midTransaction: Bool) throws {
    statistics.crashes += 1
    statistics.serverCrashes += 1
    if midTransaction { statistics.midTransaction += 1 }
    server.disk.failPowerNow()
    try? server.process?.database.close()
    server.process = nil
    // Its frames are still on their way, up to a point on each connection, and count.
    var broken: Set<Int> = []
    let arriving = parcels
    parcels = []
    for case .toDevice(let index, let connection, let bytes) in arriving {
      if generator.chance(20) { broken.insert(index) }
      if !broken.contains(index) { try deliver(bytes, to: index, on: connection) }
    }
    for index in devices.indices { try lose(index, "the server is gone") }
    parcels = []
    repeat { try server.disk.crash(using: &generator) } while try !server.start()
    let verdict = try integrity(of: server.disk.directory + "/" + ServerDatabase.fileName)
    guard verdict == "ok" else { throw fail("the server's file: \(verdict)") }
    try checkServer()
  }

  /// Everything that was reported to any device as stored must be stored.
  private func checkServer() throws {
    let workspace = try serverWorkspace()
    for (index, device) in devices.enumerated() {
      guard let replica = device.process?.core.replica else { continue }
      let waiting = Dictionary(
        uniqueKeysWithValues: replica.record.outbox.ranges.map { ($0.replica, $0.first) })
      for (author, last) in replica.workspace.vector.sorted {
        let stored = waiting[author].map { $0 - 1 } ?? last
        guard workspace.vector[author] < stored else { continue }
        throw fail(
          "device \(index) was told that \(author) is stored up to \(stored), the server has it up to "
            + "\(workspace.vector[author])")
      }
    }
  }

  func serverWorkspace() throws -> Workspace {
    guard let database = server.process?.database else { throw fail("the server is off") }
    switch database.perform(.load(CrashServer.workspace)) {
    case .workspace(let loaded?): return loaded.workspace
    case let other: throw fail("the server's store cannot be read: \(other)")
    }
  }

  // MARK: - The end

  /// Everything comes to rest; then every operation of a completed command must be everywhere.
  func settle() throws {
    for device in devices { device.disk.failPower(after: .max) }
    server.disk.failPower(after: .max)
    for _ in 0..<2_000 {
      try deliver(.max)
      try pass(500)
      if parcels.isEmpty, devices.allSatisfy({ $0.process?.core.isSynced == true }) { break }
    }
    let stored = try serverWorkspace()
    let image = stored.image()
    for (index, device) in devices.enumerated() {
      guard let core = device.process?.core, core.isSynced else {
        throw fail(
          "device \(index) does not come to rest:\n  "
            + reports.suffix(12).joined(separator: "\n  "))
      }
      guard core.replica.workspace.image() == image else {
        throw fail("device \(index) and the server differ")
      }
      for operation in device.answered
      where !stored.vector.contains(operation.lastID ?? operation.id) {
        throw fail("the server lacks \(operation.id), which device \(index) had answered")
      }
    }
  }
}
