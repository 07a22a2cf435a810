import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A message that is moved, while its agent works, to a session that another device hosts.
struct MovedRunTests {
  /// The hosts of the sessions `s` and `t`, and the authority. All see the same queues.
  private struct Scene {
    var executors: [Executor]
    var authority = Authority()
    var queues = TestDevice(1)
    var now: Int64 = 0
    /// Hosts that have died.
    var dead: Set<Int> = []
    var begun: [(host: Int, order: StartOrder)] = []
    var ended: [Command] = []
    var asked: [AuthorityRequest] = []

    static func device(_ host: Int) -> DeviceID { DeviceID(high: 0xD, low: UInt64(host) + 1) }

    init(onUnknown: UnknownPolicy) throws {
      var settings = ExecutionSettings()
      settings.onUnknown = onUnknown
      executors = (0..<2).map {
        Executor(
          device: Scene.device($0), settings: settings, firstRequest: UInt64($0 + 1) << 32)
      }
      for (number, session) in [(1, "s"), (2, "t")] as [(UInt64, String)] {
        try queues.perform(.send("text", as: number, in: session))
        try queues.perform(.setHost(.named(session), Scene.device(Int(number) - 1)))
      }
      try queues.perform(.pause(.named("t"), reason: nil))
    }

    private var context: EventContext {
      EventContext(now: now, wall: TestDevice.startOfTime + now, random: 7)
    }

    /// Every host examines all queues, and gets every answer.
    mutating func run() throws {
      let sessions = Set(queues.workspace.sessions().map(\.id))
      for host in executors.indices where !dead.contains(host) {
        try follow(
          host, executors[host].queuesChanged(sessions, in: queues.workspace, at: context))
      }
    }

    /// Time passes, and live hosts carry out due steps.
    mutating func pass(seconds: Int64) throws {
      let end = now + seconds * 1_000
      while now < end {
        now += 500
        for host in executors.indices where !dead.contains(host) {
          guard let deadline = executors[host].deadline(wall: context.wall, now: now),
            deadline <= now
          else { continue }
          try follow(host, executors[host].timePassed(in: queues.workspace, at: context))
        }
      }
    }

    mutating func end(_ host: Int, with result: TurnResult) throws {
      try follow(
        host,
        executors[host].ended(
          .named("s"), attempt: 1, with: result, in: queues.workspace, at: context))
      try run()
    }

    /// Another host takes over an attempt whose host has died.
    mutating func takeOver(_ attempt: AttemptName) -> AuthorityAnswer? {
      let holder = LeaseHolder(device: Scene.device(9), store: StoreID(rawValue: 9))
      return authority.answer(
        .takeOver(attempt), id: 1, from: holder, in: queues.workspace, uptime: now,
        wall: context.wall, awaySince: { _ in 1 }
      ).answer
    }

    private mutating func follow(_ host: Int, _ actions: [Executor.Action]) throws {
      for action in actions {
        switch action {
        case .ask(let request, let id):
          asked.append(request)
          let holder = LeaseHolder(
            device: Scene.device(host), store: StoreID(rawValue: UInt64(host) + 70))
          let outcome = authority.answer(
            request, id: id, from: holder, in: queues.workspace, uptime: now,
            wall: context.wall)
          guard let answer = outcome.answer else { continue }
          try follow(
            host, executors[host].answered(id, answer, in: queues.workspace, at: context))
        case .tell(.start(let order)):
          begun.append((host, order))
          try queues.perform(
            .reportRun(order.message, order.run(.running, milliseconds: now, note: "")))
        case .end(let command, let following, _), .perform(let command, let following):
          for command in [command] + following {
            ended.append(command)
            // A change that the queues refuse, since they changed meanwhile, is no longer needed.
            _ = try? queues.perform(command)
          }
        case .tell: break
        }
      }
    }

    /// The message begins in `s`; a user who does not know that moves it to `t`, which runs.
    mutating func moveWhileItRuns() throws {
      var other = TestDevice(2)
      try other.merge(queues.made)
      try other.perform(.move([.numbered(1)], to: .before(.numbered(2))))
      try run()
      #expect(begun.map(\.host) == [0])
      try queues.merge(other.made)
      try queues.perform(.resume(.named("t")))
      try run()
    }
  }

  @Test(arguments: UnknownPolicy.allCases)
  func itShowsAsRunningWhileItIsAtWork(_ policy: UnknownPolicy) throws {
    var scene = try Scene(onUnknown: policy)
    try scene.moveWhileItRuns()
    try scene.pass(seconds: 300)
    #expect(scene.queues.workspace.status(1) == .running)
    #expect(scene.ended == [])
    #expect(scene.begun.count == 1)
    // The other host does not ask constantly.
    let questions = scene.asked.filter { $0 == .whereabouts(.numbered(1)) }.count
    #expect((2...40).contains(questions))
    try scene.end(0, with: .succeeded(summary: "done"))
    #expect(scene.queues.workspace.status(1) == .succeeded)
    #expect(scene.begun.map(\.order.message) == [.numbered(1), .numbered(2)])
    #expect(scene.begun.map(\.host) == [0, 1])
  }

  /// It is unknown whether its host died or lost its server, so a user decides when to continue.
  @Test func itIsUnknownWhenSomebodyTookItOver() throws {
    var scene = try Scene(onUnknown: .retry)
    try scene.moveWhileItRuns()
    scene.dead = [0]
    try scene.pass(seconds: 300)
    #expect(scene.begun.count == 1)
    #expect(scene.queues.workspace.status(1) == .running)
    #expect(scene.takeOver(AttemptName(message: .numbered(1), number: 1)) == .taken)
    try scene.pass(seconds: 30)
    #expect(scene.begun.count == 1)
    #expect(scene.queues.workspace.status(1) == .unknown)
    try scene.queues.perform(.retry(.numbered(1)))
    try scene.run()
    try #require(scene.begun.count == 2)
    #expect(scene.begun[1].host == 1)
    #expect(scene.begun[1].order.message == .numbered(1))
    #expect(scene.begun[1].order.attempt == 2)
  }

  @Test func itIsTriedAgainAtOnceWhereTheFirstHostSaysThatItEnded() throws {
    var scene = try Scene(onUnknown: .ask)
    try scene.moveWhileItRuns()
    try scene.end(0, with: .failed("exit code 1"))
    #expect(scene.begun.count == 1)
    try scene.queues.perform(.retry(.numbered(1)))
    try scene.run()
    #expect(scene.begun.map(\.host) == [0, 1])
    #expect(scene.begun.last?.order.attempt == 2)
  }
}
