import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// Ends every fault, waits until everything is sent, stored, delivered and run, and lets the
/// checkers judge the result.
package final class Quiescence: SimulationPart {
  /// Whether every fault has ended, including those of the push provider, until everything has been
  /// checked.
  private(set) var isSettling = false
  /// Whether agents no longer make requests without a time limit.
  private(set) var isWindingUp = false
  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  var devices: SimulatedDevices { simulation.devices }
  var server: SimulatedServer { simulation.server }

  // MARK: - Waiting

  /// Runs until the devices and the server are quiet: everything is sent, stored and delivered.
  ///
  /// - Parameter chosen: nil for all that are online and awake.
  /// - Returns: whether they came to rest in time.
  @discardableResult
  package func settle(
    _ chosen: Set<Int>? = nil, withinMilliseconds limit: Int64 = 300_000
  ) -> Bool {
    let end = clock.now + limit
    let waitedFor = devices.filter { device in
      chosen?.contains(device.index) ?? (device.isOnline && device.isRunning && !device.isAsleep)
    }
    while clock.now < end {
      simulation.advance(milliseconds: 20)
      if isQuiet(waitedFor) { return true }
    }
    return isQuiet(waitedFor)
  }

  /// Whether nothing is in transit between these devices and the server.
  func isQuiet(_ waitedFor: [SimulatedDevice]) -> Bool {
    guard simulation.nodes.allSatisfy(\.isAtRest) else { return false }
    // A server that could not store reads its inboxes again with its next tick, and sends them
    // again.
    if isSettling, simulation.pushes.hasOrders || hasUnanswered { return false }
    for device in waitedFor {
      // A device may keep a connection whose other end is gone; it will find out.
      guard let process = device.process else { return false }
      // A pause ends the typing.
      if isSettling, process.core.replica.undo.openTyping != nil { return false }
      guard process.core.hasServer else { continue }
      guard process.core.isSynced, process.foreignConnections.isEmpty,
        process.pipes.values.allSatisfy({ simulation.isServed($0) && isAtOwner($0) })
      else { return false }
    }
    let indexes = Set(waitedFor.map(\.index))
    return !simulation.network.pipes.contains { pipe in
      indexes.contains(pipe.device) && pipe.clientHolds && pipe.serverHolds
        && pipe.carriesNews
    }
  }

  /// Whether a connection is to the node that serves the workspace.
  private func isAtOwner(_ pipe: Pipe) -> Bool {
    simulation.nodes.count == 1 || server.disk.owner == pipe.serverEnd.node
  }

  /// Whether a device has not acknowledged an entry of its inbox.
  private var hasUnanswered: Bool {
    options.raisesRequests && server.disk.inboxRecords.entries.contains { !$0.isAcknowledged }
  }

  /// The remaining work, as text.
  package var unsettled: String {
    var parts: [String] = []
    for device in devices {
      guard let core = device.process?.core else {
        parts.append("device \(device.index) is off")
        continue
      }
      guard core.hasServer, !core.isSynced else { continue }
      parts.append(
        "device \(device.index) has \(core.replica.record.outbox.count) operations to send, is "
          + "\(core.condition), in problem with \(core.problem?.message ?? "nothing")")
    }
    for node in simulation.nodes {
      let tasks = node.process?.tasks.count ?? 0
      if tasks > 0 { parts.append("the \(node.name) has \(tasks) tasks") }
      if node.process?.core.isHealthy == false { parts.append("the \(node.name) is not healthy") }
    }
    if isSettling, simulation.pushes.hasOrders { parts.append("pushes wait") }
    for entry in server.disk.inboxRecords.entries where !entry.isAcknowledged {
      parts.append("\(entry.position) waits in the inbox of \(entry.device)")
    }
    return parts.joined(separator: "; ")
  }

  // MARK: - Judging

  /// Ends every fault, waits until every outbox is empty and everything is quiet, and checks.
  func settleAndCheck() {
    isSettling = true
    defer { isSettling = false }
    heal()
    guard drain() else {
      return results.addViolation(
        "drain", "\(options.drainMillisecondsMax) ms after healing: \(unsettled)")
    }
    guard settle(withinMilliseconds: 120_000) else {
      return results.addViolation(
        "quiescence", "2 minutes after the outboxes drained: \(unsettled)")
    }
    // A write that failed on a full disk is retried every two seconds.
    if options.raisesRequests { simulation.advance(milliseconds: 2_500) }
    if options.runsAgents, !bringAgentsToRest() { return }
    results.hash.add(clock.now)
    results.log("settled")
    simulation.check()
    guard results.violations.isEmpty, simulation.people.answerWhatIsOpen() else { return }
    isWindingUp = true
    defer { isWindingUp = false }
    if bringAgentsToRest() { simulation.check() }
  }

  /// Ends every fault: disks work, processes run, networks are up. Clocks stay as they are.
  private func heal() {
    server.disk.setCondition(.working)
    simulation.router.repair()
    for node in simulation.nodes { node.repair() }
    for device in devices {
      devices.repair(device)
      simulation.hosts.heal(device)
      // A program that had to end has ended, and starts again.
      devices.repair(device)
      // Like a user, or a system that notices the network.
      simulation.clients.tell(device) { core, context, _ in core.syncRequested(at: context) }
    }
  }

  /// Waits until the outboxes that exist after the repair are empty.
  ///
  /// - Returns: whether they were in time.
  private func drain() -> Bool {
    let healed = clock.now
    var drained = false
    var atHealing: [Int: VersionVector] = [:]
    while !drained, clock.now < healed + options.drainMillisecondsMax {
      simulation.advance(milliseconds: 20)
      for device in devices where atHealing[device.index] == nil {
        atHealing[device.index] = device.process?.core.replica.workspace.vector
      }
      drained = devices.allSatisfy { device in
        guard let replica = device.process?.core.replica, let there = atHealing[device.index]
        else { return false }
        if options.isAlone { return true }
        // Hosts that run messages always send something new; the operations from before have been
        // sent.
        return options.runsAgents
          ? !replica.record.outbox.ranges.contains {
            there.contains(OperationID(replica: $0.replica, seq: $0.first))
          }
          : replica.record.outbox.isEmpty
      }
    }
    results.drainMilliseconds = max(results.drainMilliseconds, clock.now - healed)
    return drained
  }
}
