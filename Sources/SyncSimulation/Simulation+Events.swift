import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

extension Simulation {
  /// Lets one thing happen now.
  @discardableResult
  package func apply(_ event: WorldEvent) -> EventOutcome {
    defer { stepsDone += 1 }
    log("event: \(event)")
    hash.add(now)
    let outcome = perform(event)
    isJustSettled = event == .settle
    switch outcome {
    case .skipped(let why): log("  skipped: \(why)")
    case .done where event.isFault: faults += 1
    default: break
    }
    return outcome
  }

  private func perform(_ event: WorldEvent) -> EventOutcome {
    switch event {
    case .settle:
      settleAndCheck()
      return .done
    case .crashServer, .restartServer, .backUpServer, .restoreServer, .swapServers,
      .setServerClock, .setServerStore:
      return performOnServer(event)
    case .disconnect, .reconnect, .cut, .partition, .heal, .clog, .dropAck:
      return performOnNetwork(event)
    default:
      return performOnDevice(event)
    }
  }

  private func device(_ index: Int) -> SimulatedDevice? {
    devices.indices.contains(index) ? devices[index] : nil
  }

  private func absent(_ index: Int) -> EventOutcome { .skipped("there is no device \(index)") }

  // MARK: - Devices

  private func performOnDevice(_ event: WorldEvent) -> EventOutcome {
    guard let index = event.device, let device = device(index) else {
      return absent(event.device ?? -1)
    }
    switch event {
    case .perform(_, let action):
      return perform(action, on: device)
    case .restart:
      guard device.process == nil else { return .skipped("it runs") }
      return start(device) ? .done : .notStored("the store cannot be opened")
    case .setClock(_, let offset):
      device.clockOffset = offset
      return .done
    case .setStore(_, let condition):
      if condition != .working { hasStoreFailed = true }
      device.condition = condition
      device.process?.store.condition = condition
      return .done
    case .backUp(_, let label):
      device.backups[label] = device.currentFiles
      device.memories[label] = memory(of: device)
      return .done
    case .restore(_, let label, let method):
      return restore(device, label, method)
    case .clone(_, let method):
      let copies = devices.filter { $0.files.device == device.files.device }.count
      guard devices.count < 90, method == .database || copies < 12 else {
        return .skipped("there are copies enough")
      }
      clone(device, method)
      return .done
    default:
      guard device.process != nil else { return .skipped("it is off") }
      return performOnProcess(event, device)
    }
  }

  private func performOnProcess(_ event: WorldEvent, _ device: SimulatedDevice) -> EventOutcome {
    switch event {
    case .crash(_, let losesPower):
      end(device, losesPower: losesPower)
    case .crashAtCommit:
      let deaths: [DeviceStore.Death] = [.beforeCommit, .afterCommit, .beforeSync]
      device.process?.store.death = deaths[device.generator.below(deaths.count)]
    case .sleep(_, let milliseconds):
      guard !device.isAsleep else { return .skipped("it sleeps") }
      let until = now + max(1, milliseconds)
      device.sleepsUntil = until
      queue.add(.wake(device: device.index, until: until), at: until)
    case .requestSync:
      guard !device.isAsleep else { return .skipped("it sleeps") }
      tell(device) { core, context, _ in core.syncRequested(at: context) }
    default:
      return .skipped("nothing to do")
    }
    return .done
  }

  private func restore(
    _ device: SimulatedDevice, _ label: String, _ method: CopyMethod
  ) -> EventOutcome {
    guard let backup = device.backups[label] else { return .skipped("no backup \(label)") }
    end(device, losesPower: false)
    switch method {
    case .memory where device.memories[label] != nil:
      if let memory = device.memories[label] { goOn(device, with: memory) }
      note(.rolledBack(.device(device.index)))
      note(.memoryCloned(device: device.index))
      return .done
    case .database:
      device.files.database = backup.database
    case .directory, .memory: device.files = backup
    }
    note(.rolledBack(.device(device.index)))
    start(device)
    return .done
  }

  private func perform(_ action: UserAction, on device: SimulatedDevice) -> EventOutcome {
    guard let workspace = device.process?.core.replica.workspace else {
      return .skipped("it is off")
    }
    guard !device.isAsleep else { return .skipped("it sleeps") }
    let command: Command
    switch action {
    case .open(let message):
      device.process?.editors[message] = try? workspace.editBase(message)
      return .done
    case .command(let given):
      command = given
    case .edit(let message, let content, let view):
      let opened = view == .opened ? device.process?.editors[message] : nil
      command = .edit(
        message, content: content, base: opened ?? (try? workspace.editBase(message)))
    }
    // With the command, where it is done: what is sent counts, though the device forgets it.
    var after: Workspace?
    do {
      let outcome = try run(on: device, synchronizes: true) { core, context, store in
        let done = try core.commandGiven(
          command, waitsForDisk: false, at: context, store: store)
        after = core.replica.workspace
        let actions =
          options.planted.contains(.moveEventMissing) && command.isMove
          ? done.actions.filter { !$0.isChange } : done.actions
        return (done.outcome, actions)
      }
      guard let outcome else {
        note(.interrupted(device: device.index, action, before: workspace, after: after))
        return .notStored("the process died")
      }
      commandsTaken += 1
      operationsMade += outcome.operations.reduce(0) { $0 + $1.length }
      note(.performed(device: device.index, action, before: workspace, outcome))
      askForOutcomes(of: command, from: workspace, outcome, on: device)
      return .performed(outcome)
    } catch let fault as Replica.Fault {
      switch fault {
      case .queue(let error):
        commandsRefused += 1
        note(.refused(device: device.index, action, error))
        return .refused(error)
      default:
        if device.process == nil {
          note(.interrupted(device: device.index, action, before: workspace, after: after))
        }
        return .notStored("\(fault)")
      }
    } catch {
      preconditionFailure("a command throws faults only, not \(error)")
    }
  }

  // MARK: - Network

  private func performOnNetwork(_ event: WorldEvent) -> EventOutcome {
    guard let index = event.device, let device = device(index) else {
      return absent(event.device ?? -1)
    }
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
      // What is held already was put off until the later of both.
      device.network.cloggedUntil = max(
        device.network.cloggedUntil, now + max(0, milliseconds))
      for pipe in pipes where pipe.device == index {
        pipe.isDisturbed = true
        for direction in Pipe.Direction.allCases {
          pipe[direction].heldUntil = device.network.cloggedUntil
        }
      }
    case .dropAck:
      device.network.losesNextAck = true
    default:
      return .skipped("nothing to do")
    }
    return .done
  }

  /// Lets bytes through again; senders repeat what was lost within a second.
  func heal(_ device: SimulatedDevice) {
    let wasBlocked = device.network.blocksToServer || device.network.blocksFromServer
    device.network.blocksToServer = false
    device.network.blocksFromServer = false
    guard wasBlocked else { return }
    for pipe in pipes where pipe.device == device.index {
      for direction in Pipe.Direction.allCases {
        pipe[direction].heldUntil = max(pipe[direction].heldUntil, now + pipe.repetitionDelay())
      }
    }
    resumePipes(of: device)
  }

  // MARK: - Server

  private func performOnServer(_ event: WorldEvent) -> EventOutcome {
    switch event {
    case .crashServer:
      guard server.process != nil else { return .skipped("it is down") }
      endServer("it crashed")
      startServerLater(200...5_000)
    case .restartServer:
      guard server.process != nil else { return .skipped("it is down") }
      let moment = serverTime
      runServer { $0.stopRequested(at: moment) }
    case .backUpServer(let label):
      server.backups[label] = server.backup()
    case .restoreServer(let label):
      guard let backup = server.backups[label] else { return .skipped("no backup \(label)") }
      endServer("it is restored")
      server.put(backup)
      noteRestoredServer()
    case .swapServers:
      endServer("another one answers")
      let other = server.other ?? server.backup()
      server.other = server.backup()
      server.put(other)
      noteRestoredServer()
    case .setServerClock(let offset):
      server.clockOffset = offset
    case .setServerStore(let condition):
      if condition != .working { hasStoreFailed = true }
      server.setCondition(condition)
    default:
      return .skipped("nothing to do")
    }
    return .done
  }

  private func noteRestoredServer() {
    server.restoredAt = now
    server.restores += 1
    server.synced = nil
    repairDevices()
    note(.rolledBack(.server))
    startServerLater(50...200)
  }

  /// Devices that were paired after the backup are paired again, with the tokens they have.
  private func repairDevices() {
    for device in devices {
      let files = device.currentFiles
      let isKnown = server.storage.withState { state in
        state.workspaces[SimulatedServer.workspace]?.devices[files.device] != nil
      }
      guard !isKnown else { continue }
      server.storage.addDevice(
        files.device, name: device.name, to: SimulatedServer.workspace,
        token: files.credentials.token)
    }
  }
}

extension WorldEvent {
  /// The device it happens to, where it is one.
  package var device: Int? {
    switch self {
    case .perform(let device, _), .requestSync(let device), .crash(let device, _),
      .crashAtCommit(let device), .restart(let device), .sleep(let device, _),
      .setClock(let device, _), .setStore(let device, _), .backUp(let device, _),
      .restore(let device, _, _), .clone(let device, _), .disconnect(let device),
      .reconnect(let device), .cut(let device), .partition(let device, _), .heal(let device),
      .clog(let device, _), .dropAck(let device):
      device
    case .crashServer, .restartServer, .backUpServer, .restoreServer, .swapServers,
      .setServerClock, .setServerStore, .settle:
      nil
    }
  }

  /// Whether it makes something go wrong.
  package var isFault: Bool {
    switch self {
    case .perform, .requestSync, .restart, .backUp, .reconnect, .heal, .backUpServer,
      .settle:
      false
    case .setStore(_, let condition), .setServerStore(let condition): condition != .working
    default: true
    }
  }
}

extension Command {
  fileprivate var isMove: Bool {
    switch self {
    case .move, .moveThreads: true
    default: false
    }
  }
}

extension ClientCore.Action {
  fileprivate var isChange: Bool { if case .changed = self { true } else { false } }
}
