import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import WireProtocol

/// Two devices, a copy of the host's store, an authority and agents, in one seeded run. A write on
/// one side arrives on the other some time later. Programs die at any step, and questions and
/// answers are lost or arrive twice. The rules of execution are checked all the time.
struct ExecutorWorld {
  /// A program that runs messages, if it may.
  struct Host {
    var holder: LeaseHolder
    var workspace = Workspace()
    var executor: Executor
    /// The stored intents that have not ended.
    var intents: [MessageID: StartOrder] = [:]
    /// Agents at work, with the time at which they end.
    var agents: [SessionID: (order: StartOrder, endsAt: Int64)] = [:]
    var clock = HybridClock()
    /// Questions on their way.
    var questions: [(request: AuthorityRequest, id: UInt64)] = []
    /// Answers on their way.
    var answers: [(id: UInt64, answer: AuthorityAnswer)] = []
    /// Its request for the next message, which is open at the server.
    var standing: (request: AuthorityRequest, id: UInt64)?
    var isPaused = false
    /// How many operations of the user and of the other host it has.
    var seenOfPerson = 0
    var seenOfHosts = 0
  }

  static let session = SessionID.named("s")
  var generator: SeededGenerator
  var now: Int64 = 0
  var hosts: [Host] = []
  var person: TestDevice
  /// The server: its queues, its authority, and the stored part of that.
  var server = Workspace()
  var authority = Authority()
  var stored = AuthorityRecords()
  /// Every attempt that an agent got, with the texts.
  var starts: [MessageID: [UInt16: [String]]] = [:]
  /// Messages that the server knew as cancelled before it granted them.
  var cancelled: Set<MessageID> = []
  var violations: [String] = []
  /// The number of operations that the server got from hosts.
  private var serverLog: [Operation] = []
  /// The operations of each host that the server does not have.
  private var made: [Int: [Operation]] = [:]
  /// How many of the user's operations the server has, and how many of the hosts' operations the
  /// user has.
  private var seenOfPerson = 0
  private var seenByPerson = 0
  var sent: UInt64 = 0

  init(seed: UInt64) throws {
    generator = SeededGenerator(seed: seed)
    person = TestDevice(1)
    let device = DeviceID(high: 0xD, low: 7)
    for number in 0..<2 {
      hosts.append(
        Host(
          holder: LeaseHolder(
            device: device, store: StoreID(rawValue: 70 + UInt64(number))),
          executor: Executor(device: device, firstRequest: generator.next())))
      hosts[number].executor.authorityStands = true
    }
    try person.perform(.addSession(ExecutorWorld.session, name: nil, project: nil))
    try person.perform(.setHost(ExecutorWorld.session, device))
  }

  private var wall: Int64 { TestDevice.startOfTime + now }

  private mutating func context() -> EventContext {
    EventContext(now: now, wall: wall, random: generator.next())
  }

  // MARK: - Steps

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      try step()
      guard violations.isEmpty else { return }
    }
  }

  /// Everything works and time passes until every message has ended. Executors are woken only when
  /// they requested it.
  mutating func settle() throws {
    for index in hosts.indices { hosts[index].isPaused = false }
    for _ in 0..<5_000 {
      try syncPerson()
      try decide()
      try syncPerson()
      for index in hosts.indices {
        try exchange(index)
        while !hosts[index].questions.isEmpty { try deliverQuestions(index, loss: 0) }
        while !hosts[index].answers.isEmpty { try deliverAnswers(index, loss: 0) }
        try exchange(index)
      }
      guard !isSettled else { return }
      now += 500
      for index in hosts.indices {
        try endAgents(index)
        guard let deadline = hosts[index].executor.deadline(wall: wall, now: now),
          deadline <= now
        else { continue }
        try tick(index)
      }
    }
    violations.append("something waits for ever")
  }

  private var isSettled: Bool {
    made.values.allSatisfy(\.isEmpty) && hosts.allSatisfy(\.agents.isEmpty)
      && ((try? server.messageQueue(ExecutorWorld.session).messages) ?? []).isEmpty
  }

  private mutating func step() throws {
    let index = generator.below(hosts.count)
    switch generator.below(20) {
    case 0...4: now += Int64(generator.below(2_000))
    case 5: now += Int64(generator.below(45_000))
    case 6, 7: try act()
    case 8: try syncPerson()
    case 9: try exchange(index)
    case 10, 11: try deliverQuestions(index, loss: 15)
    case 12, 13: try deliverAnswers(index, loss: 15)
    case 14: try endAgents(index)
    case 15: if generator.chance(15) { try restart(index) }
    case 16: if generator.chance(25) { restartAuthority() }
    case 17: hosts[index].isPaused = generator.chance(30)
    case 18: try decide()
    default: try tick(index)
    }
  }

  /// The user sends, edits, cancels or moves something, without knowing what runs.
  private mutating func act() throws {
    let messages = (try? person.workspace.messageQueue(ExecutorWorld.session).messages) ?? []
    switch generator.below(8) {
    case 0...2:
      sent += 1
      _ = try? person.perform(.send("text \(sent)", as: sent, in: "s"))
    case 3:
      if let message = generator.pick(messages) {
        _ = try? person.perform(.cancel([message.id]))
      }
    case 4:
      if let message = generator.pick(messages) {
        _ = try? person.perform(
          .edit(message.id, content: message.content + "!", base: nil))
      }
    case 5:
      if let message = generator.pick(messages) {
        _ = try? person.perform(.move([message.id], to: .position(1)))
      }
    case 6: _ = try? person.perform(.pause(ExecutorWorld.session, reason: nil))
    default: _ = try? person.perform(.resume(ExecutorWorld.session))
    }
  }

  /// The user decides about messages that wait for a decision.
  private mutating func decide() throws {
    _ = try? person.perform(.resume(ExecutorWorld.session))
    let messages = (try? person.workspace.messageQueue(ExecutorWorld.session).messages) ?? []
    for message in messages where message.status != .queued && message.status != .running {
      let retries = generator.chance(70)
      _ = try? person.perform(retries ? .retry(message.id) : .skip(message.id))
    }
  }

  private mutating func syncPerson() throws {
    try deliver(Array(person.made[seenOfPerson...]))
    seenOfPerson = person.made.count
    guard seenByPerson < serverLog.count else { return }
    try person.merge(Array(serverLog[seenByPerson...]))
    seenByPerson = serverLog.count
  }

  private mutating func exchange(_ index: Int) throws {
    guard !hosts[index].isPaused else { return }
    try deliver(made[index] ?? [])
    serverLog += made[index] ?? []
    made[index] = []
    let news =
      person.made[hosts[index].seenOfPerson..<seenOfPerson]
      + serverLog[hosts[index].seenOfHosts...]
    hosts[index].seenOfPerson = seenOfPerson
    hosts[index].seenOfHosts = serverLog.count
    guard !news.isEmpty else { return }
    _ = try hosts[index].workspace.merge(Array(news))
    try perform(
      index,
      hosts[index].executor.queuesChanged(
        [ExecutorWorld.session], in: hosts[index].workspace, at: context()))
  }

  /// The server receives operations.
  private mutating func deliver(_ operations: [Operation]) throws {
    guard !operations.isEmpty else { return }
    let before = server
    _ = try server.merge(operations)
    noteCancelled(before)
    for index in hosts.indices {
      guard let standing = hosts[index].standing else { continue }
      hosts[index].standing = nil
      ask(standing, of: index, loss: 0)
    }
  }

  /// A message that the server knew as cancelled, and never granted, must not start unless it is
  /// restored. These runs restore nothing.
  private mutating func noteCancelled(_ before: Workspace) {
    for number in 1...max(sent, 1) {
      let id = MessageID.numbered(number)
      guard (try? before.message(id).status) == .queued,
        (try? server.message(id).status) == .cancelled,
        !authority.stored.dispatches.contains(where: { $0.message == id })
      else { continue }
      cancelled.insert(id)
    }
  }

  /// One question arrives, or is lost.
  private mutating func deliverQuestions(_ index: Int, loss: Int) throws {
    guard !hosts[index].isPaused, !hosts[index].questions.isEmpty else { return }
    let question = hosts[index].questions.removeFirst()
    guard !generator.chance(loss) else { return }
    // A request arrives after the batches before it.
    try deliver(made[index] ?? [])
    serverLog += made[index] ?? []
    made[index] = []
    ask(question, of: index, loss: loss)
  }

  /// The server answers, now or when it can; the answer may be lost, or arrive twice.
  private mutating func ask(
    _ question: (request: AuthorityRequest, id: UInt64), of index: Int, loss: Int
  ) {
    switch question.request {
    case .dispatch, .release, .withdraw: hosts[index].standing = nil
    default: break
    }
    let outcome = authority.answer(
      question.request, id: question.id, from: hosts[index].holder, in: server, uptime: now,
      wall: wall)
    stored.leases.removeAll { lease in
      outcome.changes.leases.contains { $0.session == lease.session }
    }
    stored.leases += outcome.changes.leases
    stored.dispatches.removeAll { dispatch in
      outcome.changes.dispatches.contains { $0.message == dispatch.message }
    }
    stored.dispatches += outcome.changes.dispatches
    guard let answer = outcome.answer else {
      hosts[index].standing = question
      return
    }
    guard !generator.chance(loss) else { return }
    hosts[index].answers.append((question.id, answer))
    if generator.chance(loss) { hosts[index].answers.append((question.id, answer)) }
  }

  private mutating func deliverAnswers(_ index: Int, loss: Int) throws {
    guard !hosts[index].isPaused, !hosts[index].answers.isEmpty else { return }
    let answer = hosts[index].answers.removeFirst()
    try perform(
      index,
      hosts[index].executor.answered(
        answer.id, answer.answer, in: hosts[index].workspace, at: context()))
  }

  private mutating func tick(_ index: Int) throws {
    guard !hosts[index].isPaused else { return }
    try perform(
      index, hosts[index].executor.timePassed(in: hosts[index].workspace, at: context()))
  }

  private mutating func endAgents(_ index: Int) throws {
    for (session, agent) in hosts[index].agents.sorted(by: { $0.key < $1.key })
    where agent.endsAt <= now {
      hosts[index].agents[session] = nil
      let result: TurnResult =
        switch generator.below(9) {
        case 8: .tryAfter(3_000, reason: "rate limit")
        case 0: .failed("exit code 1")
        case 1: .died("killed")
        case 2: .tryLater(wall + 3_000, reason: "rate limit")
        case 3: .notStarted("no such command")
        default: .succeeded(summary: "done")
        }
      try perform(
        index,
        hosts[index].executor.ended(
          session, attempt: agent.order.attempt, with: result, in: hosts[index].workspace,
          at: context()))
    }
  }

  /// The program dies with its agents. The next one finds what it stored.
  private mutating func restart(_ index: Int) throws {
    hosts[index].agents = [:]
    hosts[index].questions = []
    hosts[index].answers = []
    hosts[index].standing = nil
    hosts[index].executor = Executor(
      device: hosts[index].holder.device, firstRequest: generator.next())
    hosts[index].executor.authorityStands = true
    let intents = hosts[index].intents.values.sorted { $0.message < $1.message }
    try perform(
      index,
      hosts[index].executor.recovered(
        intents, deadAgents: generator.chance(50) ? Set(intents.map(\.message)) : [],
        at: context()))
  }

  private mutating func restartAuthority() {
    authority = Authority(stored, uptime: now, wall: wall)
    for index in hosts.indices { hosts[index].standing = nil }
  }

  // MARK: - What hosts do

  private mutating func perform(_ index: Int, _ actions: [Executor.Action]) throws {
    for action in actions {
      switch action {
      case .ask(let request, let id): hosts[index].questions.append((request, id))
      case .tell(.start(let order)): begin(index, order)
      case .tell(.stop(let session, _)):
        let latest = now + Int64(generator.below(10_000))
        let endsAt = hosts[index].agents[session]?.endsAt ?? latest
        hosts[index].agents[session]?.endsAt = min(endsAt, latest)
      case .end(let command, let following, let order):
        if hosts[index].intents[order.message]?.isSameAttempt(as: order) == true {
          hosts[index].intents[order.message] = nil
        }
        for command in [command] + following { execute(index, command) }
      case .perform(let command, let following):
        for command in [command] + following { execute(index, command) }
      case .tell: break
      }
    }
  }

  private mutating func begin(_ index: Int, _ order: StartOrder) {
    hosts[index].intents[order.message] = order
    execute(index, .reportRun(order.message, order.run(.dispatched, milliseconds: wall, note: "")))
    hosts[index].agents[order.session] = (
      order, now + Int64(generator.below(generator.chance(10) ? 60_000 : 4_000))
    )
    starts[order.message, default: [:]][order.attempt, default: []].append(order.text)
    if starts[order.message]?[order.attempt]?.count != 1 {
      violations.append("\(order.message), attempt \(order.attempt), started twice")
    }
    if cancelled.contains(order.message) {
      violations.append("\(order.message) started after the server took its cancellation")
    }
  }

  private mutating func execute(_ index: Int, _ command: Command) {
    var host = hosts[index]
    host.clock.observe(host.workspace.latestStamp)
    let announced = host.workspace.announce(
      device: host.holder.device, name: "host",
      replica: ReplicaID(rawValue: host.holder.store.rawValue))
    let stamp = host.clock.tick(milliseconds: wall)
    let outcome = try? host.workspace.perform(
      command,
      in: CommandContext(replica: ReplicaID(rawValue: host.holder.store.rawValue), stamp: stamp))
    made[index, default: []] += announced + (outcome?.operations ?? [])
    hosts[index] = host
  }
}
