import ClientCore
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

/// The requests that a host's agents wait for: each gets one decision, whatever arrives in whatever
/// order.
struct PendingAsksTests {
  private static let session = SessionID.named("s")
  private static let phone = DeviceID(high: 0xD, low: 2)

  private static func ask(
    _ number: UInt64, in session: SessionID = session, patience: Int64? = 60_000
  ) -> Ask {
    Ask(
      session: session, id: RequestID(high: 1, low: number),
      matter: .approval(toolName: "Bash", summary: "make", details: nil),
      patienceMilliseconds: patience)
  }

  private static func id(_ number: UInt64) -> RequestID { RequestID(high: 1, low: number) }

  private static func given(_ verdict: Verdict) -> GivenVerdict {
    GivenVerdict(verdict: verdict, device: phone, text: "go")
  }

  private static func outcome(
    _ number: UInt64, _ ending: AskOutcome.Ending
  ) throws -> AskOutcome {
    try #require(
      AskOutcome(
        request: id(number), ending: ending, device: ending.isByDevice ? phone : nil))
  }

  private static func decision(_ ending: AskOutcome.Ending) -> AskAnswer {
    AskAnswer(
      ending: ending, device: ending.isByDevice ? phone : nil,
      text: ending.isByDevice ? "go" : "")
  }

  /// The expected writes: requests with the times at which they expire.
  private static func await(
    _ asks: [(Ask, Int64?)], more: Int = 0, raised: UInt64? = nil, _ outcome: AskOutcome? = nil
  ) -> PendingAsks.Action {
    .await(
      asks[0].0.session,
      PendingAsks.Awaited(
        requests: asks.map { ask, expiry in
          .approval(
            ApprovalRequest(id: ask.id, toolName: "Bash", summary: "make", expiresAt: expiry))
        }, more: more, raised: raised.map(id)), outcome)
  }

  @Test(arguments: [Verdict.allowed, .denied]) func anAnswerIsWrittenAndHandedOverOnce(
    _ verdict: Verdict
  ) throws {
    var pending = PendingAsks()
    #expect(
      pending.raised(Self.ask(1), now: 100, wall: 5_000)
        == [Self.await([(Self.ask(1), 65_000)], raised: 1)])
    #expect(pending.deadline == 60_100)
    let expected: [PendingAsks.Action] = [
      .goOn(Self.session, try Self.outcome(1, verdict.ending)),
      .decide(Self.id(1), Self.decision(verdict.ending)),
    ]
    #expect(pending.answered(Self.id(1), Self.given(verdict), now: 200, wall: 0) == expected)
    // A repeated answer, by the response or the frame, and a later close or timeout change nothing.
    #expect(pending.answered(Self.id(1), Self.given(verdict), now: 200, wall: 0).isEmpty)
    #expect(pending.timePassed(now: 100_000, wall: 0).isEmpty)
    #expect(pending.withdrawn(Self.id(1), now: 0, wall: 0).isEmpty)
    #expect(pending.waiting.isEmpty && pending.deadline == nil)
  }

  /// The authority reads only the register, and another device may have written that.
  @Test func approvalsOfOtherContentsAreNotPassedOn() throws {
    let digests = (1...2).map { ContentHash(bytes: Array(repeating: UInt8($0), count: 32)) }
    func answered(_ verdict: Verdict, _ digest: ContentHash?) -> [PendingAsks.Action] {
      var pending = PendingAsks()
      var ask = Self.ask(1)
      ask.digest = digests[0]
      _ = pending.raised(ask, now: 0, wall: 0)
      let given = GivenVerdict(verdict: verdict, device: Self.phone, text: "go", digest: digest)
      return pending.answered(Self.id(1), given, now: 0, wall: 0)
    }
    for digest in [digests[1], nil] {
      let actions = answered(.allowed, digest)
      #expect(actions.first == .goOn(Self.session, try Self.outcome(1, .withdrawn)))
      guard case .decide(_, let decision)? = actions.last else {
        Issue.record("\(actions)")
        return
      }
      #expect(decision.ending == .withdrawn && decision.device == nil && decision.isMistaken)
    }
    #expect(answered(.allowed, digests[0]).last == .decide(Self.id(1), Self.decision(.allowed)))
    #expect(answered(.denied, nil).last == .decide(Self.id(1), Self.decision(.denied)))
  }

  @Test func anAgentThatPromptsItselfWaitsOn() throws {
    var pending = PendingAsks()
    var ask = Self.ask(1)
    ask.promptsItself = true
    _ = pending.raised(ask, now: 0, wall: 0)
    _ = pending.raised(Self.ask(2), now: 0, wall: 0)
    _ = pending.withdrawn(Self.id(2), now: 0, wall: 0)
    let closing = VerdictRequest(session: Self.session, request: Self.id(1), closes: true)
    #expect(pending.timePassed(now: 60_000, wall: 0) == [.ask(closing)])
    let closed = AuthorityAnswer.verdict(GivenVerdict(verdict: .closed, device: Self.phone))
    // The agent gets the decision; the register stays until a report about it arrives.
    #expect(
      pending.verdictReceived(closing, closed, now: 60_002, wall: 0)
        == [.decide(Self.id(1), Self.decision(.expired))])
    #expect(pending.deadline == nil && pending.waiting.isEmpty)
    #expect(pending.prompted(Self.id(3), in: Self.session) == false, "it is known to wait")
    let goesOn = PendingAsks.Action.goOn(Self.session, try Self.outcome(1, .expired))
    var others = pending
    #expect(others.turnEnded(Self.session) == [goesOn])
    others = pending
    #expect(
      others.raised(Self.ask(4), now: 60_003, wall: 0)
        == [goesOn, Self.await([(Self.ask(4), 60_000)], raised: 4)])
    #expect(pending.resumed(Self.session) == [goesOn])
    #expect(pending.resumed(Self.session).isEmpty)
    #expect(pending.prompted(Self.id(3), in: Self.session) == true)
    #expect(
      pending.resumed(Self.session) == [.goOn(Self.session, try Self.outcome(3, .withdrawn))])
  }

  @Test func requestsBesideOneAtThePromptStayShown() throws {
    var pending = PendingAsks()
    var ask = Self.ask(1, patience: 10)
    ask.promptsItself = true
    _ = pending.raised(ask, now: 0, wall: 0)
    _ = pending.raised(Self.ask(2), now: 0, wall: 0)
    _ = pending.timePassed(now: 10, wall: 10)
    #expect(
      pending.timePassed(now: 10 + PendingAsks.closingMillisecondsMax, wall: 5_010)
        == [
          Self.await([(Self.ask(2), 60_000)], try Self.outcome(1, .expired)),
          .decide(Self.id(1), Self.decision(.expired)),
        ])
  }

  @Test func requestsOfADeletedSessionAreClosedAndWithdrawn() throws {
    var pending = PendingAsks()
    _ = pending.raised(Self.ask(1), now: 0, wall: 0)
    let closing = VerdictRequest(session: Self.session, request: Self.id(1), closes: true)
    #expect(pending.sessionDeleted(Self.session, now: 50) == [.ask(closing)])
    #expect(pending.sessionDeleted(Self.session, now: 60).isEmpty)
    let withdrawn: [PendingAsks.Action] = [
      .goOn(Self.session, try Self.outcome(1, .withdrawn)),
      .decide(Self.id(1), Self.decision(.withdrawn)),
    ]
    let closed = AuthorityAnswer.verdict(GivenVerdict(verdict: .closed, device: Self.phone))
    for answer in [closed, .notAwaited] {
      var other = pending
      #expect(other.verdictReceived(closing, answer, now: 70, wall: 0) == withdrawn)
    }
    var offline = pending
    #expect(
      offline.timePassed(now: 50 + PendingAsks.closingMillisecondsMax, wall: 0) == withdrawn)
    // An answer that came before the deletion counts.
    #expect(
      pending.verdictReceived(closing, .verdict(Self.given(.allowed)), now: 70, wall: 0)
        == [
          .goOn(Self.session, try Self.outcome(1, .allowed)),
          .decide(Self.id(1), Self.decision(.allowed)),
        ])
  }

  @Test func requestsOfADeletedSessionAreClosedOneByOne() throws {
    var pending = PendingAsks()
    for number in 1...UInt64(PendingAsks.shownMax + 1) {
      _ = pending.raised(Self.ask(number), now: 0, wall: 0)
    }
    let hidden = UInt64(PendingAsks.shownMax + 1)
    let closings = (1...UInt64(PendingAsks.shownMax)).map { number in
      VerdictRequest(session: Self.session, request: Self.id(number), closes: true)
    }
    // No user saw the last one.
    #expect(
      pending.sessionDeleted(Self.session, now: 50)
        == [.decide(Self.id(hidden), Self.decision(.withdrawn))]
        + closings.map(PendingAsks.Action.ask))
    let left = (2...UInt64(PendingAsks.shownMax)).map { (Self.ask($0), Int64?.some(60_000)) }
    #expect(
      pending.verdictReceived(closings[0], .verdict(Self.given(.allowed)), now: 70, wall: 0)
        == [
          Self.await(left, try Self.outcome(1, .allowed)),
          .decide(Self.id(1), Self.decision(.allowed)),
        ])
    for closing in closings.dropFirst() {
      _ = pending.verdictReceived(closing, .notAwaited, now: 80, wall: 0)
    }
    #expect(pending.waiting.isEmpty)
  }

  @Test func expiredRequestsAreFirstClosedAtTheAuthority() throws {
    var pending = PendingAsks()
    _ = pending.raised(Self.ask(1), now: 0, wall: 0)
    #expect(pending.timePassed(now: 59_999, wall: 0).isEmpty)
    let closing = VerdictRequest(session: Self.session, request: Self.id(1), closes: true)
    #expect(pending.timePassed(now: 60_000, wall: 0) == [.ask(closing)])
    #expect(pending.timePassed(now: 60_001, wall: 0).isEmpty)
    // An answer that arrived just before the request was closed counts.
    var other = pending
    #expect(
      other.verdictReceived(closing, .verdict(Self.given(.allowed)), now: 60_002, wall: 0)
        == [
          .goOn(Self.session, try Self.outcome(1, .allowed)),
          .decide(Self.id(1), Self.decision(.allowed)),
        ])
    let closed = GivenVerdict(verdict: .closed, device: Self.phone)
    #expect(
      pending.verdictReceived(closing, .verdict(closed), now: 60_002, wall: 0)
        == [
          .goOn(Self.session, try Self.outcome(1, .expired)),
          .decide(Self.id(1), Self.decision(.expired)),
        ])
  }

  @Test func aHostThatCannotAskGivesUpAfterFiveSeconds() throws {
    var pending = PendingAsks()
    _ = pending.raised(Self.ask(1, patience: 0), now: 0, wall: 0)
    _ = pending.timePassed(now: 0, wall: 0)
    #expect(pending.deadline == 5_000)
    let closing = VerdictRequest(session: Self.session, request: Self.id(1), closes: true)
    #expect(pending.connected() == [.ask(closing)])
    #expect(pending.verdictReceived(closing, .unavailable, now: 10, wall: 0).isEmpty)
    #expect(
      pending.timePassed(now: 5_000, wall: 0)
        == [
          .goOn(Self.session, try Self.outcome(1, .expired)),
          .decide(Self.id(1), Self.decision(.expired)),
        ])
    // A verdict that comes later has no effect.
    #expect(pending.answered(Self.id(1), Self.given(.allowed), now: 5_001, wall: 0).isEmpty)
  }

  @Test func afterEachWelcomeTheVerdictIsAskedFor() {
    var pending = PendingAsks()
    _ = pending.raised(Self.ask(1), now: 0, wall: 0)
    _ = pending.raised(Self.ask(2), now: 0, wall: 0)
    let question = VerdictRequest(session: Self.session, request: Self.id(1), closes: false)
    let second = VerdictRequest(session: Self.session, request: Self.id(2), closes: false)
    #expect(pending.connected() == [.ask(question), .ask(second)])
    #expect(pending.verdictReceived(question, .verdict(nil), now: 1, wall: 0).isEmpty)
    #expect(pending.verdictReceived(question, .notAwaited, now: 1, wall: 0).isEmpty)
    #expect(pending.waiting == [Self.id(1), Self.id(2)])
  }

  @Test func requestsOfOneSessionAreShownAndAnsweredOneByOne() throws {
    var pending = PendingAsks()
    _ = pending.raised(Self.ask(1), now: 0, wall: 0)
    #expect(
      pending.raised(Self.ask(2), now: 10, wall: 10)
        == [Self.await([(Self.ask(1), 60_000), (Self.ask(2), 60_010)], raised: 2)])
    let other = Self.ask(4, in: .named("other"), patience: nil)
    #expect(pending.raised(other, now: 10, wall: 0) == [Self.await([(other, nil)], raised: 4)])
    // The second is answered first.
    #expect(
      pending.answered(Self.id(2), Self.given(.denied), now: 1_010, wall: 7_000)
        == [
          Self.await([(Self.ask(1), 60_000)], try Self.outcome(2, .denied)),
          .decide(Self.id(2), Self.decision(.denied)),
        ])
    #expect(
      pending.answered(Self.id(1), Self.given(.allowed), now: 1_020, wall: 7_000)
        == [
          .goOn(Self.session, try Self.outcome(1, .allowed)),
          .decide(Self.id(1), Self.decision(.allowed)),
        ])
    #expect(pending.waiting == [Self.id(4)])
  }

  @Test func requestsWithoutRoomAreCountedAndShownLater() throws {
    var pending = PendingAsks()
    let shown = UInt64(PendingAsks.shownMax)
    for number in 1...shown { _ = pending.raised(Self.ask(number), now: 0, wall: 0) }
    let asks = (1...shown).map { (Self.ask($0), Int64?.some(60_000)) }
    let (late, brief) = (Self.id(shown + 1), Self.id(shown + 2))
    #expect(
      pending.raised(Self.ask(shown + 1), now: 10, wall: 10) == [Self.await(asks, more: 1)])
    #expect(
      pending.raised(Self.ask(shown + 2, patience: 20), now: 10, wall: 10)
        == [Self.await(asks, more: 2)])
    // A waiting request ends before it was shown; an answer to a request that was not shown does
    // not count.
    #expect(
      pending.timePassed(now: 30, wall: 30)
        == [Self.await(asks, more: 1), .decide(brief, Self.decision(.expired))])
    #expect(pending.answered(late, Self.given(.allowed), now: 40, wall: 0).isEmpty)
    let left = Array(asks.dropFirst()) + [(Self.ask(shown + 1), 67_000)]
    #expect(
      pending.answered(Self.id(1), Self.given(.denied), now: 1_010, wall: 8_000)
        == [
          Self.await(left, raised: shown + 1, try Self.outcome(1, .denied)),
          .decide(Self.id(1), Self.decision(.denied)),
        ])
  }

  @Test func theEndOfTheTurnWithdrawsAllThatItAsked() throws {
    var pending = PendingAsks()
    _ = pending.raised(Self.ask(1), now: 0, wall: 0)
    _ = pending.raised(Self.ask(2), now: 0, wall: 0)
    #expect(
      pending.turnEnded(Self.session) == [
        .goOn(Self.session, try Self.outcome(1, .withdrawn)),
        .decide(Self.id(1), Self.decision(.withdrawn)),
        .decide(Self.id(2), Self.decision(.withdrawn)),
      ])
    #expect(pending.waiting.isEmpty)
    _ = pending.raised(Self.ask(5), now: 0, wall: 0)
    #expect(
      pending.refused(Self.id(5), now: 0, wall: 0) == [
        .decide(Self.id(5), Self.decision(.withdrawn))
      ])
  }

  @Test func anAgentThatAsksTooMuchIsRefusedAtOnce() {
    var pending = PendingAsks()
    for number in 1...UInt64(PendingAsks.waitingMax) {
      _ = pending.raised(Self.ask(number), now: 0, wall: 0)
    }
    #expect(
      pending.raised(Self.ask(99), now: 0, wall: 0)
        == [.decide(Self.id(99), Self.decision(.expired))])
    #expect(pending.waiting.count == PendingAsks.waitingMax)
  }

  /// Events in any order: every request gets exactly one decision, and the register has the same
  /// outcome as the agent got.
  @Test(arguments: TestSeeds.list(standard: 20)) func everyRequestGetsOneDecision(
    seed: UInt64
  ) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<40 {
      var pending = PendingAsks()
      var now: Int64 = 0
      var decided: [RequestID: AskAnswer] = [:]
      var written: [RequestID: AskOutcome.Ending] = [:]
      func note(_ actions: [PendingAsks.Action]) {
        for action in actions {
          switch action {
          case .decide(let id, let decision):
            #expect(decided.updateValue(decision, forKey: id) == nil, "seed \(seed)")
            #expect(written[id].map { $0 == decision.ending } ?? true, "seed \(seed)")
          case .goOn(_, let outcome): written[outcome.request] = outcome.ending
          case .await(_, let awaited, let outcome):
            if let outcome { written[outcome.request] = outcome.ending }
            #expect(awaited.requests.allSatisfy { decided[$0.id] == nil }, "seed \(seed)")
          case .ask: break
          }
        }
      }
      let count = UInt64(1 + generator.below(PendingAsks.shownMax + 4))
      for number in 1...count {
        note(pending.raised(Self.ask(number), now: now, wall: now))
        for _ in 0..<generator.below(4) {
          now += Int64(generator.below(30_000))
          let id = Self.id(UInt64(1 + generator.below(Int(count))))
          let question = VerdictRequest(
            session: Self.session, request: id, closes: generator.chance(50))
          switch generator.below(7) {
          case 0: note(pending.answered(id, Self.given(.allowed), now: now, wall: now))
          case 1: note(pending.withdrawn(id, now: now, wall: now))
          case 2: note(pending.turnEnded(Self.session))
          case 3:
            note(
              pending.verdictReceived(question, .verdict(Self.given(.denied)), now: now, wall: now))
          case 4: note(pending.verdictReceived(question, .notAwaited, now: now, wall: now))
          case 5: note(pending.refused(id, now: now, wall: now))
          default: note(pending.timePassed(now: now, wall: now))
          }
        }
      }
      for _ in 0..<2 * Int(count) + 2 {
        now += 60_000
        note(pending.timePassed(now: now, wall: now))
      }
      #expect(decided.count == Int(count) && pending.waiting.isEmpty, "seed \(seed)")
    }
  }
}
