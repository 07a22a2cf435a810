import ServerCore

/// Faults between a device and the server.
extension SimulatedNetwork {
  func perform(_ event: WorldEvent, on device: SimulatedDevice) -> EventOutcome {
    switch event {
    case .disconnect:
      device.network.isUp = false
      for pipe in openPipes(of: device) {
        pipe[.toServer].cut(afterBytes: pipe.survivingBytes(.toServer))
        pipe[.fromServer].vanish()
        clientLoses(pipe, "the network is gone")
      }
    case .reconnect:
      device.network.isUp = true
    case .cut:
      let open = openPipes(of: device)
      if open.isEmpty { return .skipped("it has no connection") }
      for pipe in open { cut(pipe) }
    case .partition(_, let direction):
      if direction != .fromServer { device.network.blocksToServer = true }
      if direction != .toServer { device.network.blocksFromServer = true }
    case .heal:
      heal(device)
    case .clog(_, let milliseconds):
      clog(device, milliseconds: milliseconds)
    case .dropAck:
      device.network.losesNextAck = true
    default:
      return .skipped("nothing to do")
    }
    return .done
  }

  /// The open pipes of a device, in the order of their creation.
  private func openPipes(of device: SimulatedDevice) -> [Pipe] {
    pipes.filter { $0.device == device.index && ($0.clientHolds || $0.serverHolds) }
  }

  /// Breaks a connection at a random byte.
  private func cut(_ pipe: Pipe) {
    sever(
      pipe, survivingToServer: pipe.survivingBytes(.toServer),
      survivingFromServer: pipe.survivingBytes(.fromServer))
  }

  /// Breaks a connection: bytes beyond these numbers never arrive.
  func sever(_ pipe: Pipe, survivingToServer: Int, survivingFromServer: Int) {
    pipe.isDisturbed = true
    pipe[.toServer].cut(afterBytes: survivingToServer)
    pipe[.fromServer].cut(afterBytes: survivingFromServer)
    put(.end("the connection broke"), .toServer, on: pipe)
    put(.end("the connection broke"), .fromServer, on: pipe)
  }

  private func clog(_ device: SimulatedDevice, milliseconds: Int64) {
    // Bytes that are already held back are delayed until the later of both times.
    device.network.cloggedUntil = max(
      device.network.cloggedUntil, clock.now + max(0, milliseconds))
    for pipe in pipes where pipe.device == device.index {
      pipe.isDisturbed = true
      for direction in Pipe.Direction.allCases {
        pipe[direction].heldUntil = device.network.cloggedUntil
      }
    }
  }

  // MARK: - Healing

  /// Gives the device an unrestricted network again.
  func repair(_ device: SimulatedDevice) {
    device.network.isUp = true
    device.network.losesNextAck = false
    heal(device)
    if device.network.cloggedUntil > clock.now { unclog(device) }
  }

  /// Lets bytes through again; senders repeat lost bytes within a second.
  private func heal(_ device: SimulatedDevice) {
    let wasBlocked = device.network.blocksToServer || device.network.blocksFromServer
    device.network.blocksToServer = false
    device.network.blocksFromServer = false
    guard wasBlocked else { return }
    for pipe in pipes where pipe.device == device.index {
      for direction in Pipe.Direction.allCases {
        pipe[direction].heldUntil = max(
          pipe[direction].heldUntil, clock.now + pipe.repetitionDelay())
      }
    }
    resumePipes(of: device)
  }

  private func unclog(_ device: SimulatedDevice) {
    device.network.cloggedUntil = clock.now
    for pipe in pipes where pipe.device == device.index {
      for direction in Pipe.Direction.allCases { pipe[direction].heldUntil = clock.now }
    }
    resumePipes(of: device)
  }

  /// Whether the network delayed or lost data of a connection.
  func isDisturbed(_ id: ConnectionID) -> Bool {
    pipes.contains { $0.serverID == id && $0.isDisturbed }
  }
}
