import QueueModel

/// Checks a scenario, and refuses labels that are not known yet when they are used.
///
/// A message is known from the step that sends it, on any device; only the run shows whether a
/// device knows it by then. A session is known from the step that first names it in `send` or
/// `session-add`.
///
/// A scenario with a `world` comes from a random run. It may contain impossible steps, such as a
/// command for a device that is off, so only devices and backups must be known there.
struct ScenarioCheck {
  typealias Label = Scenario.Label

  private enum Condition {
    case online
    case offline
    case crashed
    /// Whether it crashed at a commit is not known.
    case unknown
  }

  private var devices: [String: Condition] = [:]
  /// Whether crashed devices were online before.
  private var wasOnline: [String: Bool] = [:]
  private var messages: Set<String> = []
  private var sessions: Set<String> = []
  private var backups: [String: Set<String>] = [:]
  private let isStrict: Bool

  private init(isStrict: Bool) {
    self.isStrict = isStrict
  }

  static func check(_ scenario: Scenario) throws(ScenarioError) {
    var check = ScenarioCheck(isStrict: scenario.world == nil)
    try check.check(scenario)
  }

  private mutating func check(_ scenario: Scenario) throws(ScenarioError) {
    for label in scenario.devices { try add(label) }
    for step in scenario.steps {
      switch step.action {
      case .onDevice(let device, let verb):
        try running(device)
        try check(verb)
      case .inWorld(let verb):
        try check(verb)
      case .expect(let expectation):
        try check(expectation)
      }
    }
  }

  private mutating func add(_ label: Label) throws(ScenarioError) {
    guard label.name != "all", label.name != "server" else {
      throw ScenarioError("\"\(label)\" has a special meaning here", at: label.position)
    }
    guard devices[label.name] == nil else {
      throw ScenarioError("there is already a device \"\(label)\"", at: label.position)
    }
    devices[label.name] = isStrict ? .online : .unknown
  }

  /// Tracks the condition of a device, as far as it can be known before the run.
  private mutating func set(_ label: Label, _ condition: Condition) {
    if isStrict { devices[label.name] = condition }
  }

  @discardableResult
  private func known(_ label: Label) throws(ScenarioError) -> Condition {
    guard let condition = devices[label.name] else {
      throw ScenarioError("there is no device \"\(label)\"", at: label.position)
    }
    return condition
  }

  private func running(_ label: Label) throws(ScenarioError) {
    if try known(label) == .crashed {
      throw ScenarioError("\"\(label)\" has crashed; restart it first", at: label.position)
    }
  }

  private func message(_ label: Label) throws(ScenarioError) {
    guard messages.contains(label.name) || !isStrict else {
      throw ScenarioError(
        "no message \"\(label)\" was sent before this step", at: label.position)
    }
  }

  private func session(_ label: Label) throws(ScenarioError) {
    if !isStrict { return }
    guard let id = try? SessionID(label.name), sessions.contains(id.rawValue) else {
      throw ScenarioError(
        "no session \"\(label)\" was named before this step", at: label.position)
    }
  }

  private mutating func introduce(session label: Label) {
    // The parser has checked it; another spelling names the same session.
    if let id = try? SessionID(label.name) { sessions.insert(id.rawValue) }
  }

  private mutating func check(_ verb: DeviceVerb) throws(ScenarioError) {
    switch verb {
    case .send(let send):
      for label in send.needs { try message(label) }
      introduce(session: send.session)
      messages.insert(send.id.name)
    case .sessionAdd(let label, _, _):
      introduce(session: label)
    case .edit(let label, _, _), .open(let label), .insertText(let label, _, _),
      .deleteText(let label, _, _),
      .restore(let label), .priority(let label, _), .retry(let label), .skip(let label),
      .hold(let label, _), .notBefore(let label, _), .later(let label, _):
      try message(label)
    case .needs(let label, let needs):
      for label in [label] + needs { try message(label) }
    case .move(let labels, let place):
      for label in labels { try message(label) }
      switch place {
      case .to: break
      case .before(let label), .after(let label): try message(label)
      }
    case .cancel(let labels):
      for label in labels { try message(label) }
    case .clear(let label), .pause(let label, _), .resume(let label), .threadUnlock(let label),
      .sessionRename(let label, _), .sessionDelete(let label), .sessionArchive(let label),
      .sessionUnarchive(let label), .host(let label, _), .onMerge(let label, _):
      try session(label)
    case .threadAdd(let labels), .threadRemove(let labels):
      for label in labels { try session(label) }
    case .threadMove(let labels, let place):
      for label in labels { try session(label) }
      switch place {
      case .to: break
      case .before(let label), .after(let label): try session(label)
      }
    case .threadClear, .undo, .undoSkip, .redo:
      break
    }
  }

  private mutating func check(_ verb: WorldVerb) throws(ScenarioError) {
    switch verb {
    case .sync(let labels):
      for label in labels ?? [] {
        let condition = try known(label)
        guard condition == .online || condition == .unknown else {
          throw ScenarioError(
            "\"\(label)\" is not online, so it cannot sync", at: label.position)
        }
      }
    case .offline(let labels):
      for label in labels {
        try running(label)
        set(label, .offline)
      }
    case .online(let labels):
      for label in labels {
        try running(label)
        set(label, .online)
      }
    case .crash(let labels, _):
      for label in labels { try crash(label) }
    case .crashAtCommit(let labels):
      for label in labels {
        try running(label)
        wasOnline[label.name] = try known(label) == .online
        set(label, .unknown)
      }
    case .restart(let labels):
      for label in labels { try restart(label) }
    case .dropAcknowledgement(let labels), .cut(let labels), .partition(let labels, _),
      .heal(let labels), .clog(let labels, _), .sleep(let labels, _), .connect(let labels):
      for label in labels { try running(label) }
    case .backup(let machine, let label):
      try backup(machine, label)
    case .restore(let machine, let label, _):
      try restore(machine, label)
    case .clone(let original, let copy, _):
      try running(original)
      try add(copy)
      if let condition = devices[original.name] { set(copy, condition) }
    case .clock(let machine, _), .store(let machine, _):
      _ = try name(of: machine)
    case .settle:
      // It restarts every stopped machine and connects every offline device.
      for name in devices.keys where isStrict { devices[name] = .online }
    case .settings, .chooseHost, .chooseAgent, .busy, .gate, .stopAgent, .drain:
      guard let (device, session) = verb.atHost else { return }
      try running(device)
      if let session { try self.session(session) }
    case .crashServer, .restartServer, .swapServers, .advance:
      break
    }
  }

  private mutating func crash(_ label: Label) throws(ScenarioError) {
    try running(label)
    wasOnline[label.name] = try known(label) == .online
    set(label, .crashed)
  }

  private mutating func restart(_ label: Label) throws(ScenarioError) {
    let condition = try known(label)
    guard condition == .crashed || condition == .unknown else {
      throw ScenarioError("\"\(label)\" has not crashed, so it cannot restart", at: label.position)
    }
    set(label, wasOnline[label.name] == false ? .offline : .online)
  }

  private func name(of machine: WorldVerb.Machine) throws(ScenarioError) -> String {
    switch machine {
    case .server: return "server"
    case .device(let label):
      try known(label)
      return label.name
    }
  }

  private mutating func backup(
    _ machine: WorldVerb.Machine, _ label: Label
  ) throws(ScenarioError) {
    let name = try name(of: machine)
    guard backups[name, default: []].insert(label.name).inserted else {
      throw ScenarioError(
        "there is already a backup \"\(label)\" of \(name)", at: label.position)
    }
  }

  private mutating func restore(
    _ machine: WorldVerb.Machine, _ label: Label
  ) throws(ScenarioError) {
    let name = try name(of: machine)
    guard backups[name, default: []].contains(label.name) else {
      throw ScenarioError("there is no backup \"\(label)\" of \(name)", at: label.position)
    }
    // A restored device is started.
    if case .device(let device) = machine, try known(device) == .crashed {
      set(device, wasOnline[name] == false ? .offline : .online)
    }
  }

  private func check(_ expectation: Expectation) throws(ScenarioError) {
    if case .device(let label) = expectation.observer { try running(label) }
    for check in expectation.checks {
      switch check {
      case .queue(let label, let messages):
        try session(label)
        for message in messages { try self.message(message) }
      case .threads(let labels):
        for label in labels { try session(label) }
      case .text(let label, _), .status(let label, _):
        try message(label)
      case .paused(let label, _):
        try session(label)
      case .error, .equal:
        break
      }
    }
  }
}
