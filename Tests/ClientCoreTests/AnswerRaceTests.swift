import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A host that asks and devices that answer, while connections break, time passes and the server
/// restarts: one outcome on every device, and one decision for the agent.
struct AnswerRaceTests {
  private static let session = SessionID.named("s")
  private static let host = 0

  private struct World {
    var fleet: Fleet
    /// The requests, in order.
    var asks: [RequestID] = []
    /// Answers that were refused at once, with the reason.
    var refused: [(answer: AnswerRequest, ending: AnswerEnding)] = []
    var given: [AnswerRequest] = []
    var generator: SeededGenerator

    init(seed: UInt64) throws {
      generator = SeededGenerator(seed: seed)
      fleet = try Fleet(devices: 3, seed: seed)
      fleet.follows = true
      for index in fleet.devices.indices {
        fleet.note(index) { core, context, _ in
          core.answersLoaded([], at: context)
          return []
        }
      }
      try fleet.start()
      try fleet.perform(
        .addSession(AnswerRaceTests.session, name: nil, project: nil), on: AnswerRaceTests.host)
      try fleet.settle()
    }

    mutating func raise() throws {
      let id = RequestID(high: 1, low: UInt64(asks.count + 1))
      asks.append(id)
      let patience = generator.chance(80) ? Int64(1_000 + generator.below(60_000)) : nil
      let ask = Ask(
        session: AnswerRaceTests.session, id: id,
        matter: .approval(toolName: "Bash", summary: "make", details: nil),
        patienceMilliseconds: patience)
      try fleet.note(AnswerRaceTests.host) { try $0.askRaised(ask, at: $1, store: $2) }
    }

    mutating func answer() throws {
      let index = generator.below(fleet.devices.count)
      guard let id = generator.pick(asks) else { return }
      let request = AnswerRequest(
        session: AnswerRaceTests.session, request: id,
        verdict: generator.chance(50) ? .allowed : .denied,
        text: "by \(index)")
      var ending: AnswerEnding?
      try fleet.note(index) { core, context, store in
        let result = try core.answerGiven(request, at: context, store: store)
        ending = result.ending
        return result.actions
      }
      if let ending { refused.append((request, ending)) } else { given.append(request) }
    }

    mutating func step() throws {
      let index = generator.below(fleet.devices.count)
      switch generator.below(14) {
      case 0, 1: if asks.count < 6 { try raise() }
      case 2, 3, 4: try answer()
      case 5: fleet.cut(index)
      case 6: try fleet.pass(Int64(generator.below(20_000)))
      case 7: fleet.server.restartAuthority()
      case 8:
        guard let id = generator.pick(asks), generator.chance(30) else { return }
        fleet.note(AnswerRaceTests.host) { $0.askWithdrawn(id, at: $1, store: $2) }
      case 9:
        fleet.isServerDown = generator.chance(50)
        if fleet.isServerDown {
          for device in fleet.devices.indices { fleet.cut(device) }
          // Long enough that answers that were given meanwhile are dropped.
          if generator.chance(40) {
            try answer()
            try fleet.pass(130_000)
          }
        }
      default: try fleet.advance(1 + generator.below(6))
      }
    }

    /// All devices are connected, and nothing waits for a time any longer.
    mutating func end() throws {
      fleet.isServerDown = false
      for _ in 0..<12 { try fleet.pass(60_000) }
      for id in asks {
        fleet.note(AnswerRaceTests.host) { $0.askWithdrawn(id, at: $1, store: $2) }
      }
      try fleet.pass(200_000)
    }
  }

  @Test func theAnswerCountsThatAServerTookAfterItWasPutBack() throws {
    var world = try World(seed: 4)
    try world.raise()
    try world.fleet.settle()
    for (author, verdict) in [Verdict.allowed, .denied].enumerated() {
      let given = GivenVerdict(verdict: verdict, device: world.fleet.devices[author].id)
      world.fleet.deliver(
        .answered(
          AnsweredNotice(session: AnswerRaceTests.session, request: world.asks[0], given: given)),
        to: 2)
    }
    let request = AnswerRequest(
      session: AnswerRaceTests.session, request: world.asks[0], verdict: .allowed)
    var ending: AnswerEnding?
    try world.fleet.note(2) { core, context, store in
      let result = try core.answerGiven(request, at: context, store: store)
      ending = result.ending
      return result.actions
    }
    #expect(ending == .answeredAlready(.denied, by: world.fleet.devices[1].id))
  }

  // N-2
  @Test func anAnsweredRequestNoLongerShows() throws {
    var world = try World(seed: 3)
    try world.raise()
    try world.fleet.settle()
    // The host is offline, so that its register does not change yet.
    world.fleet.cut(AnswerRaceTests.host)
    let request = AnswerRequest(
      session: AnswerRaceTests.session, request: world.asks[0], verdict: .allowed)
    try world.fleet.note(1) { try $0.answerGiven(request, at: $1, store: $2).actions }
    while !world.fleet.devices[1].actions.isEmpty || !world.fleet.devices[2].actions.isEmpty {
      try world.fleet.advance(1)
    }
    #expect(world.fleet.devices[1].endings.map(\.ending) == [.taken])
    #expect(world.fleet.devices[2].core.isSettled(world.asks[0]))
    var ending: AnswerEnding?
    try world.fleet.note(2) { core, context, store in
      let result = try core.answerGiven(request, at: context, store: store)
      ending = result.ending
      return result.actions
    }
    #expect(ending == .answeredAlready(.allowed, by: world.fleet.devices[1].id))
    try world.end()
    let decisions = world.fleet.devices[AnswerRaceTests.host].decisions.map(\.decision)
    #expect(decisions.count == 1 && decisions.first?.ending == .allowed)
  }

  /// The connection stalls, and the device is offline for longer than an answer waits to be sent.
  /// An answer that arrived in time counts, and one that did not arrive is no longer sent.
  @Test(arguments: [Fleet.Loss.received, .sent], [false, true])
  func anAnswerWhoseResponseWasLostIsAskedAbout(loss: Fleet.Loss, restarts: Bool) throws {
    var world = try World(seed: 3)
    try world.raise()
    try world.fleet.settle()
    world.fleet.losses[1] = loss
    let request = AnswerRequest(
      session: AnswerRaceTests.session, request: world.asks[0], verdict: .allowed)
    try world.fleet.note(1) { try $0.answerGiven(request, at: $1, store: $2).actions }
    try world.fleet.settle()
    world.fleet.isServerDown = true
    for device in world.fleet.devices.indices { world.fleet.cut(device) }
    if restarts { try world.fleet.restart(1) }
    try world.fleet.pass(130_000)
    #expect(world.fleet.devices[1].endings.isEmpty)
    world.fleet.losses = [:]
    try world.end()
    let decisions = world.fleet.devices[AnswerRaceTests.host].decisions.map(\.decision.ending)
    let endings = world.fleet.devices[1].endings.map(\.ending)
    switch loss {
    case .received: #expect(decisions == [.allowed] && endings == [.taken])
    case .sent:
      #expect(decisions.count == 1 && decisions != [.allowed])
      #expect(endings == [.tooLate] || endings == [.notAwaited])
    }
    #expect(world.fleet.devices[1].core.pendingAnswers.isEmpty)
  }

  /// A user taps one button and then the other, while the first answer is on its way.
  @Test func aSecondAnswerReportsWhichOneCounts() throws {
    var world = try World(seed: 3)
    try world.raise()
    try world.fleet.settle()
    for verdict in [Verdict.allowed, .denied] {
      let request = AnswerRequest(
        session: AnswerRaceTests.session, request: world.asks[0], verdict: verdict)
      try world.fleet.note(1) { try $0.answerGiven(request, at: $1, store: $2).actions }
    }
    try world.fleet.settle()
    let author = world.fleet.devices[1].id
    let endings = world.fleet.devices[1].endings
    #expect(endings.map(\.answer.verdict) == [.allowed, .denied])
    #expect(endings.map(\.ending) == [.taken, .answeredAlready(.allowed, by: author)])
    let decisions = world.fleet.devices[AnswerRaceTests.host].decisions.map(\.decision)
    #expect(decisions.map(\.ending) == [.allowed])
    #expect(world.fleet.devices[1].core.pendingAnswers.isEmpty)
  }

  /// The outcomes of the races below, so that these do not pass because nothing happens.
  @Test func theRacesEndInEveryWay() throws {
    var decided: Set<AskOutcome.Ending> = []
    var ends: Set<String> = []
    for seed in UInt64(1)...24 {
      var world = try World(seed: seed)
      try world.raise()
      for _ in 0..<60 { try world.step() }
      try world.end()
      for device in world.fleet.devices {
        decided.formUnion(device.decisions.map(\.decision.ending))
        for case let (_, ending) in device.endings {
          switch ending {
          case .taken: ends.insert("taken")
          case .answeredAlready: ends.insert("answeredAlready")
          case .notAwaited: ends.insert("notAwaited")
          case .tooLate: ends.insert("tooLate")
          }
        }
      }
    }
    #expect(decided == [.allowed, .denied, .expired, .withdrawn])
    #expect(ends == ["taken", "answeredAlready", "notAwaited", "tooLate"])
  }

  // S4-53, N-14
  @Test(arguments: TestSeeds.list(standard: 60)) func oneOutcomeAndOneDecision(
    seed: UInt64
  ) throws {
    var world = try World(seed: seed)
    try world.raise()
    for _ in 0..<60 { try world.step() }
    try world.end()
    let host = world.fleet.devices[AnswerRaceTests.host]
    for id in world.asks {
      let decisions = host.decisions.filter { $0.request == id }.map(\.decision)
      #expect(decisions.count == 1, "seed \(seed): \(id) was decided \(decisions)")
      let takers = world.fleet.devices.filter { device in
        device.endings.contains { $0.answer.request == id && $0.ending == .taken }
      }
      // The same answer given twice is one answer; two devices never both decide.
      #expect(takers.count <= 1, "seed \(seed): \(id) was taken from several")
      if let decision = decisions.first, let device = decision.device {
        // Its response may have been lost; then it learned that its own answer came first.
        #expect(world.given.contains { $0.request == id }, "seed \(seed): nobody answered")
        if let taker = takers.first { #expect(taker.id == device, "seed \(seed)") }
      }
    }
    for device in world.fleet.devices {
      #expect(device.core.pendingAnswers.isEmpty, "seed \(seed): an answer waits for ever")
      let task = device.core.replica.workspace.task(of: AnswerRaceTests.session)
      let shown = try #require(task?.outcome, "seed \(seed)")
      let decided = host.decisions.first { $0.request == shown.request }?.decision
      #expect(shown.ending == decided?.ending && shown.device == decided?.device, "seed \(seed)")
      #expect(task?.status.request == nil, "seed \(seed): it is shown still")
    }
    try world.fleet.expectConvergence()
  }
}
