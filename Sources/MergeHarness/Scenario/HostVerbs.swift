import QueueModel
import SyncSimulation

// Events of users and agents at a host, in the scenario's words and in the simulation's.

extension WorldVerb {
  /// - Parameter index: the number of a device, from 0.
  func hostEvent(_ index: (Label) -> Int) -> WorldEvent? {
    switch self {
    case .settings(let device, let agent, let needsConsent):
      .atHost(
        device: index(device),
        .set(HostSettings(mode: StartMode(agent), needsConsent: needsConsent)))
    case .chooseHost(let device, let session, let isHere):
      .atHost(device: index(device), .chooseHost(.labelled(session), isHere: isHere))
    case .chooseAgent(let device, let session, let agent):
      .atHost(device: index(device), .chooseAgent(.labelled(session), agent.map(StartMode.init)))
    case .busy(let device, let session, let isBusy):
      .atHost(device: index(device), .busy(.labelled(session), isBusy))
    case .gate(let device, let session, let isOpen):
      .atHost(device: index(device), .gate(.labelled(session), isOpen: isOpen))
    case .stopAgent(let device, let session):
      .atHost(device: index(device), .stopAgent(.labelled(session)))
    case .drain(let device): .atHost(device: index(device), .drain)
    default: nil
    }
  }

  init(_ event: HostEvent, on device: Label, _ label: (SessionID) -> Label) {
    self =
      switch event {
      case .set(let settings):
        .settings(device, agent: Agent(settings.mode), needsConsent: settings.needsConsent)
      case .chooseHost(let session, let isHere):
        .chooseHost(device, session: label(session), isHere: isHere)
      case .chooseAgent(let session, let mode):
        .chooseAgent(device, session: label(session), mode.map(Agent.init))
      case .busy(let session, let isBusy): .busy(device, session: label(session), isBusy)
      case .gate(let session, let isOpen): .gate(device, session: label(session), isOpen: isOpen)
      case .stopAgent(let session): .stopAgent(device, session: label(session))
      case .drain: .drain(device)
      }
  }

  /// The device and the session that it names; nil if it is not an event of users and agents at a
  /// host.
  var atHost: (device: Label, session: Label?)? {
    switch self {
    case .settings(let device, _, _), .drain(let device): (device, nil)
    case .chooseHost(let device, let session, _), .chooseAgent(let device, let session, _),
      .busy(let device, let session, _), .gate(let device, let session, _),
      .stopAgent(let device, let session):
      (device, session)
    default: nil
    }
  }
}

extension WorldVerbParser {
  static let hostReadings: [(name: String, read: VerbTable<WorldVerb>.Reading)] = [
    (
      "settings",
      { fields throws(ScenarioError) in
        .settings(
          try fields.label("device"), agent: try choice("agent", &fields, otherwise: .free),
          needsConsent: try fields.boolean("consent", otherwise: false))
      }
    ),
    (
      "choose-host",
      { fields throws(ScenarioError) in
        .chooseHost(
          try fields.label("device"), session: try fields.session(),
          isHere: try fields.boolean("here", otherwise: true))
      }
    ),
    (
      "choose-agent",
      { fields throws(ScenarioError) in
        .chooseAgent(
          try fields.label("device"), session: try fields.session(),
          fields.has("agent") ? try choice("agent", &fields) : nil)
      }
    ),
    (
      "busy",
      { fields throws(ScenarioError) in
        .busy(
          try fields.label("device"), session: try fields.session(),
          try fields.boolean("is", otherwise: true))
      }
    ),
    (
      "gate",
      { fields throws(ScenarioError) in
        .gate(
          try fields.label("device"), session: try fields.session(),
          isOpen: try fields.boolean("open", otherwise: true))
      }
    ),
    (
      "stop-agent",
      { fields throws(ScenarioError) in
        .stopAgent(try fields.label("device"), session: try fields.session())
      }
    ),
    ("drain", { fields throws(ScenarioError) in .drain(try fields.label("device")) }),
  ]
}

extension ScenarioWriter {
  /// nil if it is not an event of users and agents at a host.
  static func hostVerb(_ verb: WorldVerb) -> (String, Fields)? {
    guard let (device, session) = verb.atHost else { return nil }
    let fields: Fields =
      [("device", .label(device))] + (session.map { [("session", .label($0))] } ?? [])
    switch verb {
    case .settings(_, let agent, let needsConsent):
      return (
        "settings",
        fields + [("agent", .string(agent.rawValue)), ("consent", .boolean(needsConsent))]
      )
    case .chooseHost(_, _, let isHere):
      return ("choose-host", fields + [("here", .boolean(isHere))])
    case .chooseAgent(_, _, let agent):
      return (
        "choose-agent", fields + (agent.map { [("agent", .string($0.rawValue))] } ?? [])
      )
    case .busy(_, _, let isBusy): return ("busy", fields + [("is", .boolean(isBusy))])
    case .gate(_, _, let isOpen): return ("gate", fields + [("open", .boolean(isOpen))])
    case .stopAgent: return ("stop-agent", fields)
    default: return ("drain", fields)
    }
  }
}

extension StartMode {
  fileprivate init(_ agent: WorldVerb.Agent) {
    self =
      switch agent {
      case .off: .off
      case .free: .free
      case .gated: .gated
      }
  }
}

extension WorldVerb.Agent {
  fileprivate init(_ mode: StartMode) {
    self =
      switch mode {
      case .off: .off
      case .free: .free
      case .gated: .gated
      }
  }
}
