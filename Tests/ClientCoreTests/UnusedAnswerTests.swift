import ClientCore
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

/// A user's answer had to wait for a connection, and does not count: the device notifies its user.
struct UnusedAnswerTests {
  private static let session = SessionID.named("s")
  private static let request = RequestID(high: 1, low: 1)

  /// Device 0 asks; device 1 shows it.
  private static func fleet() throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    fleet.follows = true
    for index in fleet.devices.indices {
      fleet.note(index) { core, context, _ in
        core.answersLoaded([], at: context)
        return []
      }
    }
    try fleet.start()
    try fleet.perform(.addSession(session, name: nil, project: nil), on: 0)
    try fleet.settle()
    let ask = Ask(
      session: session, id: request,
      matter: .approval(toolName: "Bash", summary: "make", details: nil),
      patienceMilliseconds: nil)
    try fleet.note(0) { try $0.askRaised(ask, at: $1, store: $2) }
    try fleet.settle()
    return fleet
  }

  private static func notices(
    of verdict: Verdict, _ ending: AnswerEnding, text: String = "", in fleet: inout Fleet
  ) -> [InboxNotification] {
    let answer = AnswerRequest(session: session, request: request, verdict: verdict, text: text)
    for _ in 0..<2 {
      fleet.note(1) { core, context, store in
        core.answerEndedUnheard(answer, ending, at: context)
          + core.ownNewsFollowing(at: context, store: store)
      }
    }
    return fleet.devices[1].core.notifications.map(\.notification).filter { $0.request == nil }
  }

  @Test func itsUserIsNotifiedOnceWithTheReason() throws {
    let laptop = try Self.fleet().devices[0].id
    let cases: [(AnswerEnding, String)] = [
      (.notAwaited, "the request had ended"), (.tooLate, "within 2 minutes"),
      (.answeredAlready(.denied, by: laptop), "answered first (denied)"),
    ]
    for (ending, reason) in cases {
      var fleet = try Self.fleet()
      let notices = Self.notices(of: .allowed, ending, in: &fleet)
      #expect(notices.map(\.title) == ["Approval Not Used"], "\(notices)")
      let body = notices.first?.body ?? ""
      #expect(body.contains(reason) && body.contains("cospool task show s"), "\(body)")
      #expect(body.contains("Bash: make"), "\(body)")
      // It stays until its user dismisses it.
      try fleet.pass(60_000)
      #expect(fleet.devices[1].core.notifications.contains { $0.notification.request == nil })
    }
  }

  @Test func whatWasWrittenIsKept() throws {
    var fleet = try Self.fleet()
    let notices = Self.notices(of: .answered, .tooLate, text: "the second one", in: &fleet)
    #expect(notices.map(\.title) == ["Answer Not Used"])
    #expect(notices.first?.body.contains("You wrote: the second one") == true, "\(notices)")
  }

  @Test func anAnswerThatCountsIsNoNews() throws {
    var fleet = try Self.fleet()
    #expect(Self.notices(of: .allowed, .taken, in: &fleet).isEmpty)
  }
}
