import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

extension Simulation {
  /// Ends every fault: disks work, processes run, networks are there. Clocks stay as they are.
  package func healEverything() {
    server.setCondition(.working)
    if server.process == nil { startServer() }
    for device in devices {
      device.condition = .working
      device.process?.store.condition = .working
      device.process?.store.death = nil
      device.network.isUp = true
      device.network.losesNextAck = false
      heal(device)
      if device.network.cloggedUntil > now { unclog(device) }
      if device.isAsleep { wake(device) }
      start(device)
      // As a person does, or the system that sees the network come back.
      tell(device) { core, context, _ in core.syncRequested(at: context) }
    }
  }

  private func unclog(_ device: SimulatedDevice) {
    device.network.cloggedUntil = now
    for pipe in pipes where pipe.device == device.index {
      for direction in Pipe.Direction.allCases { pipe[direction].heldUntil = now }
    }
    resumePipes(of: device)
  }

  /// Runs until the devices and the server are quiet: everything is sent, stored and delivered.
  ///
  /// - Parameter chosen: all that are online and awake, where it is nil.
  /// - Returns: whether they came to rest in time.
  @discardableResult
  package func settle(
    _ chosen: Set<Int>? = nil, withinMilliseconds limit: Int64 = 300_000
  ) -> Bool {
    let end = now + limit
    let waitedFor = devices.filter { device in
      chosen?.contains(device.index)
        ?? (isOnline(device.index) && device.process != nil && !device.isAsleep)
    }
    while now < end {
      advance(milliseconds: 20)
      if isQuiet(waitedFor) { return true }
    }
    return isQuiet(waitedFor)
  }

  func isQuiet(_ waitedFor: [SimulatedDevice]) -> Bool {
    let life = server.life
    guard let server = server.process, server.tasks.isEmpty, server.core.isHealthy else {
      return false
    }
    // A server that could not store reads its inboxes again with its next tick, and tells them anew.
    if isSettling, hasPushOrders || hasUnanswered { return false }
    for device in waitedFor {
      // A device can be content with a connection whose other end is long gone; it will find out.
      guard let process = device.process, process.core.isSynced, process.foreignConnections.isEmpty,
        process.pipes.values.allSatisfy({ $0.serverHolds && $0.serverLife == life })
      else { return false }
    }
    let indexes = Set(waitedFor.map(\.index))
    return !pipes.contains { pipe in
      indexes.contains(pipe.device) && pipe.clientHolds && pipe.serverHolds
        && pipe.carriesNews
    }
  }

  /// Ends every fault, waits until every outbox is empty and all is quiet, and checks.
  func settleAndCheck() {
    isSettling = true
    defer { isSettling = false }
    healEverything()
    let healed = now
    var drained = false
    var atHealing: [Int: VersionVector] = [:]
    while !drained, now < healed + options.drainMillisecondsMax {
      advance(milliseconds: 20)
      for device in devices where atHealing[device.index] == nil {
        atHealing[device.index] = device.process?.core.replica.workspace.vector
      }
      drained = devices.allSatisfy { device in
        guard let replica = device.process?.core.replica, let there = atHealing[device.index]
        else { return false }
        // Hosts that run what waits always have something new to send; what was there has gone.
        return options.runsAgents
          ? !replica.record.outbox.ranges.contains {
            there.contains(OperationID(replica: $0.replica, seq: $0.first))
          }
          : replica.record.outbox.isEmpty
      }
    }
    drainMilliseconds = max(drainMilliseconds, now - healed)
    guard drained else {
      add("drain", "\(options.drainMillisecondsMax) ms after healing: \(unsettled)")
      return
    }
    guard settle(withinMilliseconds: 120_000) else {
      add("quiescence", "2 minutes after the outboxes drained: \(unsettled)")
      return
    }
    // What a full disk did not take is tried again every two seconds.
    if options.raisesRequests { advance(milliseconds: 2_500) }
    if options.runsAgents, !bringAgentsToRest() { return }
    hash.add(now)
    log("settled")
    check()
    guard violations.isEmpty, answerWhatIsOpen() else { return }
    isWindingUp = true
    defer { isWindingUp = false }
    if bringAgentsToRest() { check() }
  }

  /// What is not at rest, in words.
  package var unsettled: String {
    var parts: [String] = []
    for device in devices {
      guard let core = device.process?.core else {
        parts.append("device \(device.index) is off")
        continue
      }
      guard !core.isSynced else { continue }
      parts.append(
        "device \(device.index) has \(core.replica.record.outbox.count) operations to send, is "
          + "\(core.condition), in problem with \(core.problem?.message ?? "nothing")")
    }
    let tasks = server.process?.tasks.count ?? 0
    if tasks > 0 { parts.append("the server has \(tasks) tasks") }
    if isSettling, hasPushOrders { parts.append("pushes wait") }
    for entry in inboxRecords.entries where !entry.isAcknowledged {
      parts.append("\(entry.position) waits in the inbox of \(entry.device)")
    }
    if server.process?.core.isHealthy == false { parts.append("the server is not healthy") }
    return parts.joined(separator: "; ")
  }
}
