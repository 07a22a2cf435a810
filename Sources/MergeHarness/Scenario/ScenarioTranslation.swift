import Basics
import QueueModel
import SyncSimulation

// Translates between the scenario's words and the simulation's.

extension SimulationOptions {
  init(_ scenario: Scenario) {
    self.init(seed: scenario.world?.seed ?? 1, devices: scenario.devices.count)
    guard let world = scenario.world else {
      network.latencyMilliseconds = 1...1
      network.splitPercent = 0
      server.storeMilliseconds = 1...1
      queueSizeMax = Limits.queueSizeDefault
      return
    }
    if let range = world.latencyMilliseconds { network.latencyMilliseconds = range }
    if let percent = world.splitPercent { network.splitPercent = percent }
    if let range = world.storeMilliseconds { server.storeMilliseconds = range }
    if let max = world.catchUpEntriesMax { server.catchUpEntriesMax = max }
    if let entries = world.snapshotEntries { server.snapshotEntries = entries }
    if let bytes = world.partBytesMax { server.partBytesMax = bytes }
    if let size = world.queueSizeMax { queueSizeMax = size }
    if let drain = world.drainMillisecondsMax { drainMillisecondsMax = drain }
    runsAgents = world.runsAgents
    hasQuickAgents = world.hasQuickAgents
    isAlone = world.machines.areAlone
    timersLateMax = world.machines.timersLateMax
    raisesRequests = world.raisesRequests
    asksOutcomes = world.asksOutcomes
    planted = Set(world.planted.compactMap { PlantedBug(rawValue: $0.name) })
  }
}

extension ScenarioWorld {
  init(_ options: SimulationOptions) {
    self.init(
      seed: options.seed, latencyMilliseconds: options.network.latencyMilliseconds,
      splitPercent: options.network.splitPercent,
      storeMilliseconds: options.server.storeMilliseconds,
      catchUpEntriesMax: options.server.catchUpEntriesMax,
      snapshotEntries: options.server.snapshotEntries,
      partBytesMax: options.server.partBytesMax,
      queueSizeMax: options.queueSizeMax,
      drainMillisecondsMax: options.drainMillisecondsMax, runsAgents: options.runsAgents,
      hasQuickAgents: options.hasQuickAgents, raisesRequests: options.raisesRequests,
      asksOutcomes: options.asksOutcomes,
      machines: Machines(
        areAlone: options.isAlone, timersLateMax: options.timersLateMax),
      planted: options.planted.sorted().map {
        Scenario.Label(name: $0.rawValue, position: .start)
      })
  }
}

extension DeviceVerb {
  private static func command(of send: Send, _ labels: inout LabelTable) -> Command.Send {
    var command = Command.Send(
      session: .labelled(send.session), id: labels.note(send.id.name), text: send.text.full,
      priority: send.isUrgent ? .urgent : .normal, project: send.project,
      requeuesThread: send.requeuesThread)
    command.later = send.later
    command.goesFirst = send.goesFirst
    command.needs = send.needs.map { labels.note($0.name) }
    return command
  }

  /// The user's action, with ids for labels.
  func action(_ labels: inout LabelTable) -> UserAction {
    switch self {
    case .open(let message):
      .open(labels.note(message.name))
    case .edit(let message, let text, let againstOpened):
      .edit(
        labels.note(message.name), content: text.full,
        against: againstOpened ? .opened : .current)
    case .send(let send):
      .command(.send(Self.command(of: send, &labels)))
    case .insertText(let message, let at, let text):
      .command(.insertText(labels.note(message.name), at: at, text: text.full))
    case .deleteText(let message, let at, let count):
      .command(.deleteText(labels.note(message.name), at..<at + count))
    case .move(let messages, let place):
      .command(.move(messages.map { labels.note($0.name) }, to: place.target(&labels)))
    case .cancel(let messages):
      .command(.cancel(messages.map { labels.note($0.name) }))
    case .restore(let message): .command(.restore(labels.note(message.name)))
    case .priority(let message, let priority):
      .command(.setPriority(labels.note(message.name), priority))
    case .clear(let session):
      .command(.clear(.labelled(session)))
    case .pause(let session, let reason):
      .command(.pause(.labelled(session), reason: reason))
    case .resume(let session):
      .command(.resume(.labelled(session)))
    case .threadAdd(let sessions):
      .command(.addThreads(sessions.map(SessionID.labelled)))
    case .threadMove(let sessions, let place):
      .command(.moveThreads(sessions.map(SessionID.labelled), to: place.threadTarget))
    case .threadRemove(let sessions):
      .command(.removeThreads(sessions.map(SessionID.labelled)))
    case .threadClear:
      .command(.clearThreads)
    case .threadUnlock(let session):
      .command(.unlockThread(.labelled(session)))
    case .sessionAdd(let session, let name, let project):
      .command(.addSession(.labelled(session), name: name, project: project))
    case .sessionRename(let session, let name):
      .command(.renameSession(.labelled(session), name: name))
    case .sessionDelete(let session):
      .command(.deleteSession(.labelled(session)))
    case .sessionArchive(let session): .command(.archive(.labelled(session)))
    case .sessionUnarchive(let session): .command(.unarchive(.labelled(session)))
    case .host(let session, let number):
      .command(
        .setHost(.labelled(session), number.map { DeviceID(high: 0xD, low: UInt64($0)) }))
    case .onMerge(let session, let policy):
      .command(.setOnMerge(.labelled(session), policy))
    case .retry(let message):
      .command(.retry(labels.note(message.name)))
    case .skip(let message):
      .command(.skip(labels.note(message.name)))
    case .hold(let message, let time):
      .command(.hold(labels.note(message.name), until: time))
    case .notBefore(let message, let time):
      .command(.setNotBefore(labels.note(message.name), time))
    case .later(let message, let time):
      .command(.setLater(labels.note(message.name), time))
    case .needs(let message, let needs):
      .command(.setNeeds(labels.note(message.name), needs.map { labels.note($0.name) }))
    case .undo:
      .command(.undo(change: nil, skip: false))
    case .undoSkip:
      .command(.undo(change: nil, skip: true))
    case .redo:
      .command(.redo(change: nil))
    }
  }
}

extension DeviceVerb.Place {
  fileprivate var threadTarget: ThreadTarget {
    switch self {
    case .to(let position): .position(position)
    case .before(let session): .before(.labelled(session))
    case .after(let session): .after(.labelled(session))
    }
  }

  fileprivate func target(_ labels: inout LabelTable) -> MoveTarget {
    switch self {
    case .to(let position): .position(position)
    case .before(let message): .before(labels.note(message.name))
    case .after(let message): .after(labels.note(message.name))
    }
  }
}

extension SessionID {
  /// The session of a label that the parser has checked.
  static func labelled(_ label: Scenario.Label) -> SessionID {
    do {
      return try SessionID(label.name)
    } catch {
      preconditionFailure("the parser takes only labels of sessions: \(error)")
    }
  }
}

extension PartitionDirection {
  init(_ direction: WorldVerb.Direction) {
    self =
      switch direction {
      case .toServer: .toServer
      case .fromServer: .fromServer
      case .both: .both
      }
  }
}

extension CopyMethod {
  init(_ method: WorldVerb.Method) {
    self =
      switch method {
      case .database: .database
      case .directory: .directory
      case .memory: .memory
      }
  }
}

extension StoreCondition {
  init(_ store: WorldVerb.Store) {
    self =
      switch store {
      case .working: .working
      case .full: .full
      case .failing: .failing
      }
  }
}
