import ClientCore
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

/// The network between the devices and the server: connections that open, carry bytes in order, and
/// break. It delivers to `ClientDriver` at one end and to `SimulatedServer` at the other.
final class SimulatedNetwork: SimulationPart {
  /// How long a graceful close waits for the other side.
  private static let lingerMilliseconds: Int64 = 1_000
  /// How many times a sender repeats the first segment of a connection.
  private static let openingRepetition: Int64 = 1_000

  /// The pipes that may still carry something, in the order of their creation.
  private(set) var pipes: [Pipe] = []
  private var pipesMade = 0
  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  /// The server, or the node, at the other end.
  private func server(of pipe: Pipe) -> SimulatedServer { simulation.nodes[pipe.serverEnd.node] }

  // MARK: - Opening

  /// A device's process opens a connection.
  func connect(_ device: SimulatedDevice, _ id: TransportID) {
    pipesMade += 1
    let pipe = Pipe(
      number: pipesMade, device: device.index, clientID: id,
      generator: RandomStream.pipe.generator(
        seed: options.seed, device.index << 20 | device.life << 12 | Int(id.rawValue)),
      conditions: options.network)
    pipes.append(pipe)
    device.process?.pipes[id] = pipe
    clock.add(.opening(pipe), after: pipe.delay() + pipe.delay())
  }

  func open(_ pipe: Pipe) {
    // Waking and healing call this again, so a pipe can arrive here twice.
    guard pipe.serverID == nil else { return }
    guard pipe.clientHolds else { return forget(pipe) }
    // It broke before the other side learned of it.
    if pipe[.toServer].isEnded { return clientLoses(pipe, "the connection broke") }
    let device = simulation.devices[pipe.device]
    let network = device.network
    if !network.isUp {
      clientLoses(pipe, "the network is unreachable")
    } else if let until = device.sleepsUntil {
      clock.add(.opening(pipe), at: until)
    } else if network.blocksToServer || network.blocksFromServer
      || network.cloggedUntil > clock.now
    {
      clock.add(.opening(pipe), after: SimulatedNetwork.openingRepetition)
    } else {
      switch simulation.router.route(pipe) {
      case .refused: clientLoses(pipe, "the connection was refused")
      case .silent(let milliseconds): clock.add(.opening(pipe), after: milliseconds)
      case .node(let node): accept(pipe, by: node)
      }
    }
  }

  private func accept(_ pipe: Pipe, by server: SimulatedServer) {
    let id = server.take(pipe)
    results.hash.add(pipe.device)
    results.log("device \(pipe.device): connection \(pipe.number) is open")
    let moment = server.time
    server.tell { core in
      core.connectionOpened(
        id, source: "10.0.0.\(pipe.device + 1)", acceptedAt: moment, at: moment)
    }
    notifyClient(of: pipe) { core, context, store in
      core.connectionOpened(pipe.clientID, at: context, store: store)
    }
  }

  // MARK: - Bytes

  func send(_ message: [UInt8], _ direction: Pipe.Direction, on pipe: Pipe) {
    results.hash.add(message)
    schedule(pipe.send(message, direction, now: clock.now), pipe, direction)
  }

  func put(_ item: Pipe.Item, _ direction: Pipe.Direction, on pipe: Pipe) {
    schedule(pipe.put(item, direction, now: clock.now), pipe, direction)
  }

  private func schedule(_ at: Int64?, _ pipe: Pipe, _ direction: Pipe.Direction) {
    guard let at else { return }
    clock.add(.arrival(pipe, direction), at: max(at, clock.now))
  }

  /// Continues the waiting bytes in both directions of a device's pipes, and the pipes that are
  /// being opened.
  func resumePipes(of device: SimulatedDevice) {
    for pipe in pipes where pipe.device == device.index {
      if pipe.serverID == nil { clock.add(.opening(pipe), after: pipe.delay()) }
      for direction in Pipe.Direction.allCases {
        schedule(pipe[direction].nextAt, pipe, direction)
      }
    }
  }

  /// Delivers items that are due.
  func arrive(_ pipe: Pipe, _ direction: Pipe.Direction) {
    let device = simulation.devices[pipe.device]
    while let due = pipe[direction].nextAt {
      // Healing and waking continue this delivery.
      if device.network.blocks(direction) {
        pipe.isDisturbed = true
        return
      }
      if direction == .fromServer, device.isAsleep { return }
      if direction == .toServer, pipe.serverHolds,
        server(of: pipe).trouble.isPaused(at: clock.now)
      {
        return
      }
      guard due <= clock.now else { return clock.add(.arrival(pipe, direction), at: due) }
      if direction == .fromServer, device.network.losesNextAck, isAck(pipe[direction].first) {
        device.network.losesNextAck = false
        results.log(
          "device \(pipe.device): connection \(pipe.number) breaks before an acknowledgement")
        sever(pipe, survivingToServer: pipe[.toServer].waitingBytes, survivingFromServer: 0)
        return
      }
      guard let item = pipe[direction].take() else { return }
      switch direction {
      case .toServer: deliverToServer(item, pipe)
      case .fromServer: deliverToClient(item, pipe)
      }
    }
    if pipe.isDead { forget(pipe) }
  }

  private func isAck(_ item: Pipe.Item?) -> Bool {
    guard case .message(let bytes, _) = item, let frame = try? FrameCodec.decode(bytes),
      case .ack = frame
    else { return false }
    return true
  }

  private func deliverToServer(_ item: Pipe.Item, _ pipe: Pipe) {
    guard pipe.serverHolds, let id = pipe.serverID else { return }
    pipe.serverHeardAt = clock.now
    let server = server(of: pipe)
    let moment = server.time
    if !pipe.isAuthenticated, item.bytes > 0 {
      server.tell { $0.bytesReceived(item.bytes, on: id, at: moment) }
    }
    switch item {
    case .part, .pong: break
    case .ping: put(.pong, .fromServer, on: pipe)
    case .message(let bytes, _): server.receive(bytes, id, at: moment)
    case .end: serverLetsGo(of: pipe)
    }
  }

  private func deliverToClient(_ item: Pipe.Item, _ pipe: Pipe) {
    let server = server(of: pipe)
    if pipe.serverHolds, let id = pipe.serverID, !server.trouble.isPaused(at: clock.now) {
      let waiting = pipe[.fromServer].waitingBytes
      server.tell { $0.bytesBuffered(waiting, on: id) }
    }
    guard pipe.clientHolds else { return }
    switch item {
    case .end(let reason):
      clientLoses(pipe, reason)
    case .message(let bytes, _):
      simulation.clients.receive(bytes, simulation.devices[pipe.device], pipe.clientID)
    case .ping, .pong, .part:
      if case .ping = item { put(.pong, .toServer, on: pipe) }
      notifyClient(of: pipe) { core, context, _ in
        core.connectionHeard(pipe.clientID, at: context)
        return []
      }
    }
  }

  private func notifyClient(
    of pipe: Pipe,
    _ event: (inout ClientCore, EventContext, DeviceStore) -> [ClientCore.Action]
  ) {
    simulation.clients.tell(simulation.devices[pipe.device], event)
  }

  // MARK: - Closed ends

  /// The client's end is closed, by either side.
  func clientLoses(_ pipe: Pipe, _ reason: String) {
    guard pipe.clientHolds else { return }
    pipe.clientHolds = false
    put(.end("the client closed"), .toServer, on: pipe)
    simulation.devices[pipe.device].process?.pipes[pipe.clientID] = nil
    results.log("device \(pipe.device): connection \(pipe.number) is lost: \(reason)")
    notifyClient(of: pipe) { core, context, _ in
      core.connectionLost(pipe.clientID, message: reason, at: context)
    }
  }

  /// The client's process closes its end.
  func clientCloses(_ pipe: Pipe) {
    pipe.clientHolds = false
    put(.end("the client closed"), .toServer, on: pipe)
  }

  /// The client's process has ended; with `losesPower`, its machine, too, so that nothing more is
  /// sent.
  func clientDies(_ pipe: Pipe, losesPower: Bool) {
    pipe.clientHolds = false
    pipe.isDisturbed = true
    pipe[.fromServer].vanish()
    pipe[.toServer].cut(afterBytes: pipe.survivingBytes(.toServer))
    // A machine without power sends the server nothing more.
    if !losesPower { put(.end("the client died"), .toServer, on: pipe) }
  }

  /// The server's end is closed, by either side.
  func serverLetsGo(of pipe: Pipe) {
    guard pipe.serverHolds, let id = pipe.serverID else { return }
    let server = server(of: pipe)
    guard !server.trouble.isPaused(at: clock.now) else {
      return clock.add(.lingerEnd(pipe), after: SimulatedServer.pauseCheckMilliseconds)
    }
    pipe.serverHolds = false
    put(.end("the server closed"), .fromServer, on: pipe)
    server.lose(id)
  }

  /// The server closes a connection gracefully.
  func serverCloses(_ pipe: Pipe) {
    put(.end("the server closed"), .fromServer, on: pipe)
    clock.add(.lingerEnd(pipe), after: SimulatedNetwork.lingerMilliseconds)
  }

  /// The server's process, or its machine, has ended.
  func serverDies(_ server: SimulatedServer) {
    for pipe in pipes where pipe.serverHolds && pipe.serverEnd.node == server.index {
      pipe.serverHolds = false
      pipe[.toServer].vanish()
      pipe[.fromServer].cut(afterBytes: pipe.survivingBytes(.fromServer))
      // A machine without power sends nothing; the device must find out by itself.
      if pipe.chance(75) { put(.end("the server is gone"), .fromServer, on: pipe) }
    }
  }

  private func forget(_ pipe: Pipe) {
    pipes.removeAll { $0 === pipe }
  }
}
