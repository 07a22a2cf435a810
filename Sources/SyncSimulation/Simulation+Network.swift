import ClientCore
import SequenceCRDT
import ServerCore
import WireProtocol

extension Simulation {
  /// How long a graceful close waits for the other side.
  private static let lingerMilliseconds: Int64 = 1_000
  /// A sender repeats the first segment of a connection so often.
  private static let openingRepetition: Int64 = 1_000

  // MARK: - Opening

  /// A device's process opens a connection.
  func connect(_ device: SimulatedDevice, _ id: TransportID) {
    pipesMade += 1
    let pipe = Pipe(
      number: pipesMade, device: device.index, clientID: id,
      generator: Simulation.generator(
        options.seed, .pipe, device.index << 20 | device.life << 12 | Int(id.rawValue)),
      conditions: options.network)
    pipes.append(pipe)
    device.process?.pipes[id] = pipe
    queue.add(.opening(pipe), at: now + pipe.delay() + pipe.delay())
  }

  func open(_ pipe: Pipe) {
    // Waking and healing look again, so that a pipe can come here twice.
    guard pipe.serverID == nil else { return }
    guard pipe.clientHolds else { return forget(pipe) }
    // It broke before the other side knew of it.
    if pipe[.toServer].isEnded { return clientLoses(pipe, "the connection broke") }
    let device = devices[pipe.device]
    let network = device.network
    if !network.isUp {
      clientLoses(pipe, "the network is unreachable")
    } else if let until = device.sleepsUntil {
      queue.add(.opening(pipe), at: until)
    } else if network.blocksToServer || network.blocksFromServer || network.cloggedUntil > now {
      queue.add(.opening(pipe), at: now + Simulation.openingRepetition)
    } else if server.process == nil {
      clientLoses(pipe, "the connection was refused")
    } else {
      accept(pipe)
    }
  }

  private func accept(_ pipe: Pipe) {
    server.process?.nextConnection += 1
    let id = ConnectionID(
      rawValue: UInt64(server.life) << 32 | (server.process?.nextConnection ?? 0))
    pipe.serverID = id
    pipe.serverHolds = true
    pipe.serverLife = server.life
    pipe.serverHeardAt = now
    pipe.serverPingedAt = now
    server.process?.pipes[id] = pipe
    hash.add(pipe.device)
    log("device \(pipe.device): connection \(pipe.number) is open")
    let moment = serverTime
    runServer { core in
      core.connectionOpened(
        id, source: "10.0.0.\(pipe.device + 1)", acceptedAt: moment, at: moment)
    }
    noteOnClient(pipe) { core, context, store in
      core.connectionOpened(pipe.clientID, at: context, store: store)
    }
  }

  // MARK: - Bytes

  func send(_ message: [UInt8], _ direction: Pipe.Direction, on pipe: Pipe) {
    hash.add(message)
    schedule(pipe.send(message, direction, now: now), pipe, direction)
  }

  func put(_ item: Pipe.Item, _ direction: Pipe.Direction, on pipe: Pipe) {
    schedule(pipe.put(item, direction, now: now), pipe, direction)
  }

  private func schedule(_ at: Int64?, _ pipe: Pipe, _ direction: Pipe.Direction) {
    guard let at else { return }
    queue.add(.arrival(pipe, direction), at: max(at, now))
  }

  /// Looks again at what waits in both directions of a device's pipes, and at those being opened.
  func resumePipes(of device: SimulatedDevice) {
    for pipe in pipes where pipe.device == device.index {
      if pipe.serverID == nil { queue.add(.opening(pipe), at: now + pipe.delay()) }
      for direction in Pipe.Direction.allCases {
        schedule(pipe[direction].nextAt, pipe, direction)
      }
    }
  }

  /// Delivers what is due.
  func arrive(_ pipe: Pipe, _ direction: Pipe.Direction) {
    let device = devices[pipe.device]
    while let due = pipe[direction].nextAt {
      // Healing and waking look again.
      if device.network.blocks(direction) {
        pipe.isDisturbed = true
        return
      }
      if direction == .fromServer, device.isAsleep { return }
      guard due <= now else { return queue.add(.arrival(pipe, direction), at: due) }
      if direction == .fromServer, device.network.losesNextAck, isAck(pipe[direction].first) {
        device.network.losesNextAck = false
        log("device \(pipe.device): connection \(pipe.number) breaks before an acknowledgement")
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
    pipe.serverHeardAt = now
    let moment = serverTime
    if !pipe.isAuthenticated, item.bytes > 0 {
      runServer { $0.bytesReceived(item.bytes, on: id, at: moment) }
    }
    switch item {
    case .part, .pong: break
    case .ping: put(.pong, .fromServer, on: pipe)
    case .message(let bytes, _): receiveOnServer(bytes, id, at: moment)
    case .end: serverLetsGo(of: pipe)
    }
  }

  private func deliverToClient(_ item: Pipe.Item, _ pipe: Pipe) {
    if pipe.serverHolds, let id = pipe.serverID {
      let waiting = pipe[.fromServer].waitingBytes
      runServer { $0.bytesBuffered(waiting, on: id) }
    }
    guard pipe.clientHolds else { return }
    switch item {
    case .end(let reason):
      clientLoses(pipe, reason)
    case .message(let bytes, _):
      receiveOnClient(bytes, pipe)
    case .ping, .pong, .part:
      if case .ping = item { put(.pong, .toServer, on: pipe) }
      noteOnClient(pipe) { core, context, _ in
        core.connectionHeard(pipe.clientID, at: context)
        return []
      }
    }
  }

  private func receiveOnClient(_ bytes: [UInt8], _ pipe: Pipe) {
    let frame: Frame
    do {
      frame = try FrameCodec.decode(bytes)
    } catch {
      return add("protocol", "device \(pipe.device) cannot read a frame: \(error)")
    }
    log("device \(pipe.device): receives \(describe(frame))")
    if options.planted.contains(.notificationDropped), case .notification = frame {
      devices[pipe.device].notificationsReceived += 1
      if devices[pipe.device].notificationsReceived % 4 == 0 { return }
    }
    if case .response(let response) = frame { takeForConsent(response, on: devices[pipe.device]) }
    noteOnClient(pipe) { core, context, store in
      core.frameReceived(frame, on: pipe.clientID, at: context, store: store)
    }
    note(.advanced(device: pipe.device))
    if case .ack = frame { note(.acknowledged(device: pipe.device)) }
  }

  private func noteOnClient(
    _ pipe: Pipe,
    _ event: (inout ClientCore, EventContext, DeviceStore) -> [ClientCore.Action]
  ) {
    tell(devices[pipe.device], event)
  }

  // MARK: - Breaking

  /// The client's end is gone, whoever closed it.
  func clientLoses(_ pipe: Pipe, _ reason: String) {
    guard pipe.clientHolds else { return }
    pipe.clientHolds = false
    put(.end("the client closed"), .toServer, on: pipe)
    devices[pipe.device].process?.pipes[pipe.clientID] = nil
    log("device \(pipe.device): connection \(pipe.number) is lost: \(reason)")
    noteOnClient(pipe) { core, context, _ in
      core.connectionLost(pipe.clientID, message: reason, at: context)
    }
  }

  /// The server's end is gone, whoever closed it.
  func serverLetsGo(of pipe: Pipe) {
    guard pipe.serverHolds, let id = pipe.serverID else { return }
    pipe.serverHolds = false
    put(.end("the server closed"), .fromServer, on: pipe)
    server.process?.pipes[id] = nil
    let moment = serverTime
    runServer { $0.connectionClosed(id, at: moment) }
  }

  func serverCloses(_ pipe: Pipe) {
    put(.end("the server closed"), .fromServer, on: pipe)
    queue.add(.lingerEnd(pipe), at: now + Simulation.lingerMilliseconds)
  }

  /// Breaks a connection: what is beyond these bytes never arrives, in either direction.
  func sever(_ pipe: Pipe, survivingToServer: Int, survivingFromServer: Int) {
    pipe.isDisturbed = true
    pipe[.toServer].cut(afterBytes: survivingToServer)
    pipe[.fromServer].cut(afterBytes: survivingFromServer)
    put(.end("the connection broke"), .toServer, on: pipe)
    put(.end("the connection broke"), .fromServer, on: pipe)
  }

  /// Breaks a connection at any byte.
  func cut(_ pipe: Pipe) {
    sever(
      pipe, survivingToServer: pipe.survivingBytes(.toServer),
      survivingFromServer: pipe.survivingBytes(.fromServer))
  }

  func forget(_ pipe: Pipe) {
    pipes.removeAll { $0 === pipe }
  }

  /// The open pipes of a device, in the order of making.
  func openPipes(of device: SimulatedDevice) -> [Pipe] {
    pipes.filter { $0.device == device.index && ($0.clientHolds || $0.serverHolds) }
  }

  /// Whether the network held up or lost what a connection carried.
  func isDisturbed(_ id: ConnectionID) -> Bool {
    pipes.contains { $0.serverID == id && $0.isDisturbed }
  }

  func describe(_ frame: Frame) -> String {
    switch frame {
    case .changes(let changes):
      "changes batch \(changes.batch) at \(changes.prefix.position), \(changes.delta.count) bytes"
    case .snapshot(let part):
      "snapshot part \(part.index + 1) of \(part.count) at \(part.prefix.position)"
    case .hello(let hello): "hello at \(hello.prefix.position)"
    case .welcome(let welcome): "welcome at \(welcome.head.position)"
    case .presence(let devices): "presence of \(devices.count(where: \.isConnected)) devices"
    default: "\(frame)"
    }
  }
}
