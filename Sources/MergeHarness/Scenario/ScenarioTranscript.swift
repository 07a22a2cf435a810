import Basics
import QueueModel
import SyncSimulation

/// A recorded run as a scenario with the same effect.
enum ScenarioTranscript {
  /// - Parameter labels: short names for messages instead of their ids; results that depend on ids,
  ///   such as the order of equals, may then differ.
  static func scenario(
    of run: RecordedRun, name: String, description: String, labels: [MessageID: String] = [:]
  ) -> Scenario {
    var writer = Writer(run: run, labels: labels)
    for step in run.steps { writer.add(step) }
    if run.steps.last?.event != .settle { writer.add(Step(after: 0, .settle)) }
    return Scenario(
      name: name, description: description, world: ScenarioWorld(run.options),
      devices: (0..<run.options.devices).map { Writer.device($0) }, steps: writer.steps)
  }

  /// The run up to its first violation. Steps that were impossible at their time are omitted, such
  /// as those of devices that were never added, because a scenario cannot express them.
  static func withoutSkippedSteps(_ run: RecordedRun) -> RecordedRun {
    let simulation = Simulation(run.options)
    var steps: [Step] = []
    var wait: Int64 = 0
    for step in run.steps where simulation.results.violations.isEmpty {
      simulation.advance(milliseconds: step.after)
      wait += step.after
      if case .skipped = simulation.apply(step.event) { continue }
      steps.append(Step(after: wait, step.event))
      wait = 0
    }
    if wait > 0 { steps.append(Step(after: wait, .settle)) }
    return RecordedRun(options: run.options, steps: steps)
  }

  /// Short names in the order in which messages are sent.
  static func shortLabels(of run: RecordedRun) -> [MessageID: String] {
    var labels: [MessageID: String] = [:]
    for step in run.steps {
      guard case .perform(_, .command(.send(let send))) = step.event, labels[send.id] == nil
      else { continue }
      labels[send.id] = "m\(labels.count + 1)"
    }
    return labels
  }

  private struct Writer {
    typealias Label = Scenario.Label

    let labels: [MessageID: String]
    var deviceCount: Int
    var steps: [Scenario.Step] = []

    init(run: RecordedRun, labels: [MessageID: String]) {
      self.labels = labels
      deviceCount = run.options.devices
    }

    /// `a` to `z`, then `d26` and so on.
    static func device(_ index: Int) -> Label {
      let letters = Array("abcdefghijklmnopqrstuvwxyz")
      return label(letters.indices.contains(index) ? String(letters[index]) : "d\(index)")
    }

    static func label(_ name: String) -> Label { Label(name: name, position: .start) }

    private func message(_ id: MessageID) -> Label {
      Self.label(labels[id] ?? id.description)
    }

    private func session(_ id: SessionID) -> Label { Self.label(id.rawValue) }

    mutating func add(_ step: Step) {
      let action: Scenario.Action
      switch step.event {
      case .perform(let device, let user):
        action = .onDevice(Self.device(device), verb(of: user))
      default:
        action = .inWorld(verb(of: step.event))
      }
      steps.append(Scenario.Step(position: .start, wait: step.after, action: action))
    }

    private func verb(of action: UserAction) -> DeviceVerb {
      switch action {
      case .open(let id): .open(message(id))
      case .edit(let id, let content, let view):
        .edit(message(id), ScenarioText(content), againstOpened: view == .opened)
      case .command(let command): verb(of: command)
      }
    }

    private func verb(of command: Command) -> DeviceVerb {
      switch command {
      case .addSession(let id, let name, let project):
        .sessionAdd(session(id), name: name, project: project)
      case .renameSession(let id, let name): .sessionRename(session(id), name: name)
      case .deleteSession(let id): .sessionDelete(session(id))
      case .archive(let id): .sessionArchive(session(id))
      case .unarchive(let id): .sessionUnarchive(session(id))
      case .send(let send):
        .send(
          DeviceVerb.Send(
            session: session(send.session), id: message(send.id), text: ScenarioText(send.text),
            isUrgent: send.priority == .urgent, project: send.project,
            requeuesThread: send.requeuesThread, later: send.later, goesFirst: send.goesFirst,
            needs: send.needs.map(message)))
      case .edit(let id, let content, _):
        .edit(message(id), ScenarioText(content), againstOpened: false)
      case .insertText(let id, let at, let text):
        .insertText(message(id), at: at, ScenarioText(text))
      case .deleteText(let id, let range):
        .deleteText(message(id), at: range.lowerBound, count: range.count)
      case .move(let ids, let target): .move(ids.map(message), place(target))
      case .cancel(let ids): .cancel(ids.map(message))
      case .restore(let id): .restore(message(id))
      case .clear(let id): .clear(session(id))
      case .setPriority(let id, let priority): .priority(message(id), priority)
      case .pause(let id, let reason): .pause(session(id), reason: reason)
      case .resume(let id): .resume(session(id))
      case .addThreads(let ids): .threadAdd(ids.map(session))
      case .moveThreads(let ids, let target): .threadMove(ids.map(session), place(target))
      case .removeThreads(let ids): .threadRemove(ids.map(session))
      case .clearThreads: .threadClear
      case .unlockThread(let id): .threadUnlock(session(id))
      case .undo(_, let skip): skip ? .undoSkip : .undo
      case .redo: .redo
      case .setHost(let id, let device):
        .host(session(id), number: device.map { Int(truncatingIfNeeded: $0.low) })
      case .setOnMerge(let id, let policy): .onMerge(session(id), policy)
      case .retry(let id): .retry(message(id))
      case .skip(let id): .skip(message(id))
      case .hold(let id, let time): .hold(message(id), until: time)
      case .setNotBefore(let id, let time): .notBefore(message(id), time)
      case .setLater(let id, let time): .later(message(id), time)
      case .setNeeds(let id, let needs): .needs(message(id), needs.map(message))
      case .importDocument, .attach, .detach, .requeueThread, .stopAttempt, .reportRun,
        .reportTask, .setOnLostServer:
        preconditionFailure("the workload imports nothing, has no files and reports nothing")
      }
    }

    private func place(_ target: ThreadTarget) -> DeviceVerb.Place {
      switch target {
      case .position(let position): .to(position)
      case .before(let id): .before(session(id))
      case .after(let id): .after(session(id))
      }
    }

    private func place(_ target: MoveTarget) -> DeviceVerb.Place {
      switch target {
      case .position(let position): .to(position)
      case .before(let id): .before(message(id))
      case .after(let id): .after(message(id))
      }
    }

    private mutating func verb(of event: WorldEvent) -> WorldVerb {
      switch event {
      case .perform: .settle
      case .requestSync(let device): .connect([Self.device(device)])
      case .crash(let device, let power): .crash([Self.device(device)], losesPower: power)
      case .crashAtCommit(let device): .crashAtCommit([Self.device(device)])
      case .restart(let device): .restart([Self.device(device)])
      case .sleep(let device, let time): .sleep([Self.device(device)], milliseconds: time)
      case .setClock(let device, let offset):
        .clock(.device(Self.device(device)), offsetMilliseconds: offset)
      case .setStore(let device, let condition):
        .store(.device(Self.device(device)), WorldVerb.Store(condition))
      case .backUp(let device, let label):
        .backup(.device(Self.device(device)), label: Self.label(label))
      case .restore(let device, let label, let method):
        .restore(.device(Self.device(device)), label: Self.label(label), WorldVerb.Method(method))
      case .clone(let device, let method): clone(device, method)
      case .atHost(let device, let event):
        WorldVerb(event, on: Self.device(device), session)
      case .disconnect(let device): .offline([Self.device(device)])
      case .reconnect(let device): .online([Self.device(device)])
      case .cut(let device): .cut([Self.device(device)])
      case .partition(let device, let direction):
        .partition([Self.device(device)], WorldVerb.Direction(direction))
      case .heal(let device): .heal([Self.device(device)])
      case .clog(let device, let time): .clog([Self.device(device)], milliseconds: time)
      case .dropAck(let device): .dropAcknowledgement([Self.device(device)])
      case .crashServer: .crashServer
      case .restartServer: .restartServer
      case .backUpServer(let label): .backup(.server, label: Self.label(label))
      case .restoreServer(let label): .restore(.server, label: Self.label(label), .database)
      case .setServerClock(let offset): .clock(.server, offsetMilliseconds: offset)
      case .setServerStore(let condition): .store(.server, WorldVerb.Store(condition))
      case .swapServers: .swapServers
      // No scenario has several nodes.
      case .settle, .atNode, .failOver: .settle
      }
    }

    private mutating func clone(_ device: Int, _ method: CopyMethod) -> WorldVerb {
      defer { deviceCount += 1 }
      return .clone(
        Self.device(device), as: Self.device(deviceCount), WorldVerb.Method(method))
    }
  }
}

extension WorldVerb.Store {
  fileprivate init(_ condition: StoreCondition) {
    self =
      switch condition {
      case .working: .working
      case .full: .full
      case .failing: .failing
      }
  }
}

extension WorldVerb.Method {
  fileprivate init(_ method: CopyMethod) {
    self =
      switch method {
      case .database: .database
      case .directory: .directory
      case .memory: .memory
      }
  }
}

extension WorldVerb.Direction {
  fileprivate init(_ direction: PartitionDirection) {
    self =
      switch direction {
      case .toServer: .toServer
      case .fromServer: .fromServer
      case .both: .both
      }
  }
}
