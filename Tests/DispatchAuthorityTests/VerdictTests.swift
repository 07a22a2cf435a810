import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// One request, one answer: in every order of answers, closing, expiry and restarts.
struct VerdictTests {
  private static let start: Int64 = 1_800_000_000_000
  private static let session = SessionID.named("s")
  private static let request = RequestID(high: 5, low: 6)

  private static func holder(_ number: UInt64) -> LeaseHolder {
    LeaseHolder(
      device: DeviceID(high: 0xD, low: number), store: StoreID(rawValue: number))
  }

  private static func device(_ number: UInt64) -> DeviceID { holder(number).device }

  /// An authority and a host, device 1, whose task awaits an approval for a minute from the start.
  private struct Scene {
    var host = TestDevice(1)
    var authority = Authority()
    var records = AuthorityRecords()
    var wall = VerdictTests.start

    init(question: Bool = false) throws {
      try host.perform(.addSession(VerdictTests.session, name: nil, project: nil))
      try report(.processing(operation: nil))
      let expiry = VerdictTests.start + 60_000
      try report(
        question
          ? .awaitingAnswer(
            UserQuestion(id: VerdictTests.request, question: "Which?", expiresAt: expiry))
          : .awaitingApproval(
            ApprovalRequest(
              id: VerdictTests.request, toolName: "Bash", summary: "make", expiresAt: expiry)))
    }

    mutating func report(_ status: TaskStatus) throws {
      try host.perform(
        .reportTask(TaskReport(session: VerdictTests.session, status: status, milliseconds: 1)))
    }

    mutating func ask(_ request: AuthorityRequest, by number: UInt64) -> AuthorityAnswer? {
      let outcome = authority.answer(
        request, id: 1, from: VerdictTests.holder(number), in: host.workspace, uptime: 0,
        wall: wall)
      records.verdicts += outcome.changes.verdicts
      return outcome.answer
    }

    mutating func answer(
      _ verdict: Verdict, _ text: String = "", by number: UInt64
    ) -> AuthorityAnswer? {
      ask(
        .answer(
          AnswerRequest(
            session: VerdictTests.session, request: VerdictTests.request, verdict: verdict,
            text: text)), by: number)
    }

    mutating func verdict(closes: Bool = false, by number: UInt64 = 1) -> AuthorityAnswer? {
      ask(
        .verdict(
          VerdictRequest(
            session: VerdictTests.session, request: VerdictTests.request, closes: closes)),
        by: number)
    }

    /// Starts again with the stored rows.
    mutating func restart() {
      authority = Authority(records, uptime: 0, wall: wall)
    }
  }

  /// A stopped attempt gets no further permission, whether the authority was asked to stop it or
  /// the queues record the stop.
  @Test(arguments: [true, false]) func aStoppedAgentIsAllowedNothing(_ isAsked: Bool) throws {
    var scene = try Scene()
    let message = MessageID.numbered(1)
    try scene.host.perform(.setHost(Self.session, Self.device(1)))
    try scene.host.perform(.send("text", as: 1, in: "s"))
    guard case .leased(let token, _, _)? = scene.ask(.lease(session: Self.session, token: 0), by: 1)
    else {
      Issue.record("there is no lease")
      return
    }
    let state = try #require(scene.host.workspace.dispatchState(of: message))
    let dispatch = DispatchRequest(
      session: Self.session, message: message, token: token, attempt: 1, tags: state.tags,
      content: DispatchRequest.contentDigest(state.text))
    #expect(scene.ask(.dispatch(dispatch), by: 1) == .go)
    try scene.host.perform(
      .reportRun(message, Run(token: token, attempt: 1, phase: .running, milliseconds: 1)))
    if isAsked {
      _ = scene.ask(.stop(AttemptName(message: message, number: 1)), by: 2)
    } else {
      try scene.host.perform(.stopAttempt(message, attempt: 1))
    }
    #expect(scene.answer(.allowed, by: 2) == .notAwaited)
    #expect(scene.verdict(closes: true, by: 1) != .verdict(nil))
    #expect(scene.records.verdicts.map(\.given.verdict) == [.closed])
  }

  @Test func eachRequestOfATaskIsAnsweredByItself() throws {
    var scene = try Scene()
    let second = RequestID(high: 5, low: 7)
    try scene.host.perform(
      .reportTask(
        TaskReport(
          session: Self.session,
          status: .awaitingApproval(
            ApprovalRequest(id: Self.request, toolName: "Bash", summary: "make")),
          milliseconds: 2,
          alsoAwaits: [.question(UserQuestion(id: second, question: "Which?"))])))
    func answer(_ verdict: Verdict) -> AuthorityRequest {
      .answer(AnswerRequest(session: Self.session, request: second, verdict: verdict, text: "a"))
    }
    #expect(scene.ask(answer(.allowed), by: 2) == .notAwaited)
    #expect(scene.ask(answer(.answered), by: 2) == .taken)
    #expect(
      scene.ask(answer(.answered), by: 3) == .answeredAlready(.answered, by: Self.device(2)))
    #expect(scene.answer(.denied, by: 3) == .taken)
    let closing = VerdictRequest(session: Self.session, request: second, closes: true)
    #expect(
      scene.ask(.verdict(closing), by: 1)
        == .verdict(GivenVerdict(verdict: .answered, device: Self.device(2), text: "a")))
  }

  // S4-53
  @Test(arguments: [false, true]) func theFirstAnswerCounts(_ restarts: Bool) throws {
    var scene = try Scene()
    #expect(scene.verdict() == .verdict(nil))
    #expect(scene.answer(.allowed, "fine", by: 2) == .taken)
    if restarts { scene.restart() }
    #expect(scene.answer(.denied, by: 3) == .answeredAlready(.allowed, by: Self.device(2)))
    #expect(scene.answer(.denied, by: 2) == .answeredAlready(.allowed, by: Self.device(2)))
    let given = GivenVerdict(verdict: .allowed, device: Self.device(2), text: "fine")
    #expect(scene.verdict() == .verdict(given))
    #expect(scene.verdict(closes: true) == .verdict(given))
    #expect(scene.records.verdicts.count == 1)
  }

  @Test(arguments: [false, true]) func aYesNamesWhatWasShown(_ restarts: Bool) throws {
    var scene = try Scene()
    let digests = (1...2).map { ContentHash(bytes: Array(repeating: UInt8($0), count: 32)) }
    func show(_ digest: ContentHash?) throws {
      try scene.report(
        .awaitingApproval(
          ApprovalRequest(id: Self.request, toolName: "Bash", summary: "make", digest: digest)))
    }
    func answer(_ verdict: Verdict, _ digest: ContentHash?, by number: UInt64) -> AuthorityAnswer? {
      let answer = AnswerRequest(
        session: Self.session, request: Self.request, verdict: verdict, digest: digest)
      return scene.ask(.answer(answer), by: number)
    }
    try show(digests[0])
    #expect(answer(.allowed, nil, by: 2) == .notAwaited)
    #expect(answer(.allowed, digests[1], by: 2) == .notAwaited)
    #expect(scene.records.verdicts.isEmpty, "nothing is used up")
    // By now, the register has a different text.
    try show(digests[1])
    #expect(answer(.allowed, digests[0], by: 2) == .notAwaited)
    if restarts { scene.restart() }
    #expect(answer(.allowed, digests[1], by: 2) == .taken)
    #expect(answer(.allowed, digests[1], by: 2) == .taken)
    #expect(
      scene.verdict()
        == .verdict(GivenVerdict(verdict: .allowed, device: Self.device(2), digest: digests[1])))
    var denied = try Scene()
    #expect(denied.answer(.denied, by: 3) == .taken)
  }

  // N-5
  @Test(arguments: [false, true]) func tappingTwiceIsOneAnswer(_ restarts: Bool) throws {
    var scene = try Scene()
    #expect(scene.answer(.denied, "no", by: 2) == .taken)
    if restarts { scene.restart() }
    #expect(scene.answer(.denied, "no", by: 2) == .taken)
    // The same device with a different text gives a different answer.
    #expect(scene.answer(.denied, "never", by: 2) == .answeredAlready(.denied, by: Self.device(2)))
    #expect(scene.records.verdicts.count == 1)
  }

  @Test(arguments: [false, true]) func noRequestIsAnsweredAfterTheClosing(_ restarts: Bool) throws {
    var scene = try Scene()
    let closed = GivenVerdict(verdict: .closed, device: Self.device(1))
    #expect(scene.verdict(closes: true, by: 2) == .verdict(nil), "only the host closes")
    #expect(scene.verdict(closes: true) == .verdict(closed))
    if restarts { scene.restart() }
    #expect(scene.answer(.allowed, by: 2) == .notAwaited)
    #expect(scene.verdict(closes: true) == .verdict(closed))
    #expect(scene.records.verdicts.count == 1)
  }

  @Test func expiryIsByTheClockOfTheAuthority() throws {
    var scene = try Scene()
    scene.wall = Self.start + 60_000
    #expect(scene.answer(.allowed, by: 2) == .notAwaited)
    #expect(scene.verdict() == .verdict(nil))
    scene.wall = Self.start + 59_999
    #expect(scene.answer(.allowed, by: 2) == .taken)
    // A device that repeats an accepted answer gets the same result, however late.
    scene.wall = Self.start + 70_000
    #expect(scene.answer(.allowed, by: 2) == .taken)
  }

  @Test func requestsThatAreNotAwaitedCannotBeAnswered() throws {
    var scene = try Scene()
    let other = AnswerRequest(
      session: Self.session, request: RequestID(high: 9, low: 9), verdict: .allowed)
    #expect(scene.ask(.answer(other), by: 2) == .notAwaited)
    let elsewhere = AnswerRequest(
      session: .named("nowhere"), request: Self.request, verdict: .allowed)
    #expect(scene.ask(.answer(elsewhere), by: 2) == .notAwaited)
    #expect(scene.answer(.answered, "yes", by: 2) == .notAwaited, "it is not a question")
    try scene.report(.processing(operation: nil))
    #expect(scene.answer(.allowed, by: 2) == .notAwaited)
    #expect(scene.verdict(closes: true) == .notAwaited)
    #expect(scene.records.verdicts.isEmpty)
  }

  @Test func aQuestionHasAnAnswerOrIsCancelled() throws {
    var scene = try Scene(question: true)
    #expect(scene.answer(.allowed, by: 2) == .notAwaited)
    #expect(scene.answer(.answered, "the second", by: 2) == .taken)
    #expect(scene.answer(.cancelled, by: 3) == .answeredAlready(.answered, by: Self.device(2)))
    var cancelled = try Scene(question: true)
    #expect(cancelled.answer(.cancelled, by: 3) == .taken)
  }

  @Test func verdictsAreKeptForSevenDays() throws {
    var scene = try Scene()
    #expect(scene.answer(.allowed, by: 2) == .taken)
    let next = RequestID(high: 7, low: 7)
    func ask(_ id: RequestID) throws {
      try scene.report(.processing(operation: nil))
      try scene.report(
        .awaitingApproval(ApprovalRequest(id: id, toolName: "Edit", summary: "")))
      let answer = AnswerRequest(session: Self.session, request: id, verdict: .denied)
      #expect(scene.ask(.answer(answer), by: 2) == .taken)
    }
    scene.wall += Authority.verdictMilliseconds
    try ask(next)
    #expect(scene.authority.stored.verdicts.count == 2)
    scene.wall += 1
    try ask(RequestID(high: 8, low: 8))
    #expect(scene.authority.stored.verdicts.map(\.request).first == next)
    #expect(scene.authority.stored.verdicts.count == 2)
  }
}
