import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// A host that is its own authority, with the settings that its users made. The test records them
/// itself and does not ask the core.
struct StandstillWorld {
  private struct Agent {
    var order: StartOrder
    var endsAt: Int64
  }

  private struct Start: Hashable {
    var message: MessageID
    var attempt: UInt16
  }

  private static let sessions = ["a", "b", "c"].map(SessionID.named)
  /// Longer than any pause, backoff, hold or lease.
  private static let restMilliseconds: Int64 = 800_000

  private var core: ClientCore
  private let store = MemoryStore()
  private var generator: SeededGenerator
  private var now: Int64 = 1_000
  /// The amount by which the wall clock was set ahead.
  private var wallOffset: Int64 = 0
  private var agents: [SessionID: Agent] = [:]
  private var starts: Set<Start> = []
  private var messages: UInt64 = 0

  // The settings of users at the device.
  private var settings = ExecutionSettings()
  private var consented: Set<SessionID> = []
  private var modes: [SessionID: StartMode] = [:]
  private var busy: Set<SessionID> = []
  private var open: Set<SessionID> = []

  init(seed: UInt64) throws {
    generator = SeededGenerator(seed: seed)
    let context = EventContext(now: 0, wall: TestDevice.startOfTime, random: seed)
    let replica = try Replica(
      Replica.Opening(loaded: store.loaded, device: LocalHost.device, deviceName: "a"),
      at: context, store: store)
    core = ClientCore(replica: replica, credentials: nil, queueSizeMax: 100)
    settings.onUnknown = UnknownPolicy.allCases[generator.below(3)]
    let (settings, loaded) = (settings, store.loaded.execution)
    tell {
      $0.executionStarted(settings, loaded: loaded, deadAgents: [], at: $1, store: $2)
    }
    for session in Self.sessions {
      try perform(.addSession(session, name: nil, project: nil))
      try choose(session, isHere: true)
    }
  }

  private var wall: Int64 { TestDevice.startOfTime + wallOffset + now }

  // MARK: - Telling the core

  private func context(_ random: UInt64) -> EventContext {
    EventContext(now: now, wall: wall, random: random)
  }

  private mutating func tell(
    _ event: (inout ClientCore, EventContext, MemoryStore) throws -> [ClientCore.Action]
  ) rethrows {
    now += 1
    var actions = try event(&core, context(generator.next()), store)
    // The effects may come a while later, on a busy machine.
    if generator.chance(20) { now += Int64(generator.below(25_000)) }
    let context = context(generator.next())
    actions += core.executionFollowing(actions, at: context, store: store)
    #expect(throws: Never.self) {
      try core.checkInvariants()
      try core.checkLiveness(at: context)
    }
    for case .agent(let order) in actions { follow(order) }
  }

  private mutating func follow(_ order: AgentOrder) {
    switch order {
    case .start(let start):
      let message = try? core.replica.workspace.message(start.message)
      #expect(mayStart(start.session), "\(start) begins, and may not")
      #expect(!busy.contains(start.session), "\(start) begins at somebody's prompt")
      #expect(message?.content == start.text)
      #expect(agents[start.session] == nil && !isAtWork(on: start.message))
      let isFirst = starts.insert(Start(message: start.message, attempt: start.attempt)).inserted
      #expect(isFirst, "\(start) begins twice")
      let span = generator.pick(weighted: [(6, 500), (3, 8_000), (1, 90_000)])
      agents[start.session] = Agent(order: start, endsAt: now + Int64(generator.below(span)))
    case .stop(let session, let attempt):
      guard agents[session]?.order.attempt == attempt else { return }
      agents[session]?.endsAt = now
    case .askConsent, .consentSettled, .drained: break
    }
  }

  private func isAtWork(on message: MessageID) -> Bool {
    agents.values.contains { $0.order.message == message }
  }

  /// A user's view: settings, the session's own agent, consent and an agent that asks.
  private func mayStart(_ session: SessionID) -> Bool {
    switch modes[session] ?? settings.mode {
    case .off: false
    case .free: !settings.needsConsent || consented.contains(session)
    case .gated: open.contains(session)
    }
  }

  private mutating func perform(_ command: Command) throws {
    do {
      try tell { try $0.commandGiven(command, at: $1, store: $2).actions }
    } catch let fault as Replica.Fault {
      // The queues refuse what makes no sense, and a full disk refuses everything.
      switch fault {
      case .queue, .store: break
      default: throw fault
      }
    }
  }

  private mutating func choose(_ session: SessionID, isHere: Bool) throws {
    let host =
      isHere ? LocalHost.device : generator.pick([nil, DeviceID(high: 0xD, low: 2)]) ?? nil
    let before = consented
    if isHere { consented.insert(session) } else { consented.remove(session) }
    do {
      // A message that may begin because of it begins at once.
      try tell { try $0.hostChosen(session, host, at: $1, store: $2).actions }
    } catch Replica.Fault.store {
      consented = before
    }
  }

  // MARK: - Events

  /// A while passes, and a user does something.
  mutating func act() throws {
    try pass(Int64(generator.pick(weighted: [(6, 200), (3, 4_000), (1, 40_000)])))
    let session = Self.sessions[generator.below(Self.sessions.count)]
    switch generator.below(100) {
    case ..<34: try change(session)
    case ..<50:
      settings.isEnabled = generator.chance(85)
      settings.isGated = generator.chance(20)
      settings.needsConsent = generator.chance(50)
      settings.asksForConsent = generator.chance(50)
      settings.skipsFailed = generator.chance(30)
      let settings = settings
      tell { $0.executionSettingsChanged(settings, at: $1, store: $2) }
    case ..<62: try choose(session, isHere: generator.chance(70))
    case ..<70: try chooseAgent(of: session)
    case ..<78:
      let isBusy = generator.chance(40)
      if isBusy { busy.insert(session) } else { busy.remove(session) }
      tell { $0.sessionBusyChanged(session, isBusy: isBusy, at: $1, store: $2) }
    case ..<86:
      let isOpen = generator.chance(60)
      if isOpen { open.insert(session) } else { open.remove(session) }
      tell { $0.sessionGateChanged(session, isOpen: isOpen, at: $1, store: $2) }
    case ..<91: tell { $0.agentStopRequested(session, at: $1, store: $2) ?? [] }
    case ..<96:
      store.failure = generator.chance(50) ? StoreError(code: .full, message: "full") : nil
    default: wallOffset += Int64(generator.below(240_000)) - 120_000
    }
  }

  private mutating func chooseAgent(of session: SessionID) throws {
    let mode: StartMode? = generator.pick([nil, .off, .free, .gated]) ?? nil
    let before = modes
    modes[session] = mode
    do {
      try tell {
        try $0.agentChosen(
          session, mode.map { AgentChoice(name: "\($0)", mode: $0) }, at: $1, store: $2)
      }
    } catch Replica.Fault.store {
      modes = before
    }
  }

  private mutating func change(_ session: SessionID) throws {
    let waiting = (try? core.replica.workspace.messageQueue(session))?.messages.map(\.id) ?? []
    let message = generator.pick(waiting) ?? .numbered(1)
    switch generator.below(20) {
    case ..<8:
      messages += 1
      try perform(.send("text \(messages)", as: messages, in: session.rawValue))
    case 8: try perform(.hold(message, until: generator.chance(70) ? wall + 30_000 : nil))
    case 9: try perform(.setNotBefore(message, generator.chance(70) ? wall + 90_000 : nil))
    case 10 where generator.chance(50):
      try perform(.setLater(message, generator.chance(70) ? wall + 40_000 : nil))
    case 10 where generator.chance(50):
      let need = MessageID.numbered(1 + UInt64(generator.below(max(Int(messages), 1))))
      try perform(.setNeeds(message, generator.chance(70) ? [need] : []))
    case 10: try perform(.edit(message, content: "text \(generator.below(9))", base: nil))
    case 11: try perform(.cancel([message]))
    case 12: try perform(.pause(session, reason: nil))
    case 13, 14: try perform(.resume(session))
    case 15: try perform(.skip(message))
    case 16, 17: try perform(.retry(message))
    default:
      let other = Self.sessions[generator.below(Self.sessions.count)]
      let there = (try? core.replica.workspace.messageQueue(other))?.messages.map(\.id) ?? []
      if let target = generator.pick(there) { try perform(.move([message], to: .before(target))) }
    }
  }

  /// Time passes: agents end, and the core is woken when it asked for that.
  private mutating func pass(_ milliseconds: Int64) throws {
    let end = now + milliseconds
    while now < end {
      let due = agents.values.map(\.endsAt).min() ?? .max
      let next = min(due, core.deadline ?? .max)
      guard next <= end else { break }
      now = max(now, next)
      if due <= now,
        let (session, agent) = agents.filter({ $0.value.endsAt <= now })
          .min(by: { $0.key < $1.key })
      {
        agents[session] = nil
        let result = result()
        tell {
          $0.agentEnded(
            session, attempt: agent.order.attempt, with: result, at: $1, store: $2)
        }
      } else {
        tell { $0.timePassed(at: $1, store: $2) }
      }
    }
    now = max(now, end)
  }

  private mutating func result() -> TurnResult {
    switch generator.below(10) {
    case ..<5: .succeeded(summary: "")
    case 5: .failed("no")
    case 6: .died("signal 9")
    case 7: .tryLater(wall + 20_000, reason: "limit")
    case 8: .tryAfter(5_000, reason: "limit")
    default: .notStarted("no such command")
    }
  }

  /// Nothing happens except that agents end: messages that may begin do so by themselves.
  mutating func rest() throws {
    store.failure = nil
    try pass(Self.restMilliseconds)
    let before = standing
    // Longer than every pause and backoff.
    try pass(120_000)
    for start in before.intersection(standing) {
      Issue.record("attempt \(start.attempt) of \(start.message) stands still")
    }
  }

  /// The messages that may begin, but have not begun.
  private var standing: Set<Start> {
    let workspace = core.replica.workspace
    var standing: Set<Start> = []
    for session in Self.sessions
    where workspace.host(of: session) == .some(.some(LocalHost.device)) && mayStart(session)
      && !busy.contains(session) && agents[session] == nil
    {
      guard let head = workspace.startable(in: session, by: wall), !isAtWork(on: head.message),
        head.state.earliest ?? 0 <= wall
      else { continue }
      let attempt = (head.state.runState.run?.attempt ?? 0) + 1
      standing.insert(Start(message: head.message, attempt: attempt))
    }
    return standing
  }
}
