import ClientCore
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

@testable import SyncSimulation

/// The findings of `RequestChecker`, each beside a correct story.
@Suite struct RequestCheckerTests {
  private let simulation = Simulation.twoDevices()
  private let checker = RequestChecker()
  private static let request = RequestID(high: 0xA5, low: 1)

  private func raise() -> [String] {
    let life = simulation.devices[0].life
    return checker.noted(
      .raised(device: 0, life: life, RequestCheckerTests.request), in: simulation)
  }

  private func decide(_ ending: AskOutcome.Ending, by device: Int? = nil) -> [String] {
    let author = device.map { simulation.devices[$0].files.device }
    let decision = AskAnswer(ending: ending, device: author)
    return checker.noted(.decided(device: 0, RequestCheckerTests.request, decision), in: simulation)
  }

  private func take(_ verdict: Verdict, on device: Int) -> [String] {
    answer(verdict, on: device, .taken)
  }

  private func answer(
    _ verdict: Verdict, on device: Int, _ ending: AnswerEnding
  ) -> [String] {
    let given = AnswerRequest(
      session: .named("s"), request: RequestCheckerTests.request,
      verdict: verdict)
    return checker.noted(.answerEnded(device: device, given, ending), in: simulation)
  }

  @Test func aRequestThatOneAnswersHolds() {
    #expect(raise() == [])
    #expect(take(.allowed, on: 1) == [])
    #expect(decide(.allowed, by: 1) == [])
    let author = simulation.devices[1].files.device
    #expect(answer(.denied, on: 0, .answeredAlready(.allowed, by: author)) == [])
    #expect(checker.settled(in: simulation) == [])
    #expect(
      simulation.results.execution.requests.answersTaken == 1
        && simulation.results.execution.requests.decided == 1)
  }

  @Test func anAgentThatIsNeverToldIsFound() {
    #expect(raise() == [])
    #expect(checker.settled(in: simulation).count == 1)
  }

  @Test func twoDecisionsAreFound() {
    #expect(raise() == [])
    #expect(decide(.expired) == [])
    #expect(decide(.expired).count == 1)
  }

  @Test func twoTakenAnswersAreFound() {
    #expect(take(.allowed, on: 0) == [])
    #expect(take(.denied, on: 1).count == 1)
  }

  @Test func aDecisionThatIsNotTheTakenAnswerIsFound() {
    #expect(take(.allowed, on: 1) == [])
    #expect(decide(.denied, by: 1).count == 1)
  }

  @Test func anAnswerThatLostToOneThatWasNotTakenIsFound() {
    #expect(take(.allowed, on: 1) == [])
    let author = simulation.devices[0].files.device
    #expect(answer(.denied, on: 0, .answeredAlready(.denied, by: author)).count == 1)
  }

  @Test func aRequestThatStaysInTheRegisterIsFound() throws {
    let steps: [Command] = [
      .send("text", as: 1, in: "s"), .reportTask(report(.processing(operation: nil))),
      .reportTask(
        report(
          .awaitingApproval(
            ApprovalRequest(id: RequestCheckerTests.request, toolName: "shell", summary: "make")))
      ),
    ]
    for command in steps { simulation.apply(.perform(device: 0, .command(command))) }
    #expect(simulation.quiescence.settle())
    #expect(raise() == [])
    #expect(decide(.expired) == [])
    #expect(checker.settled(in: simulation).count == 2)
    // A host that lost its writes may have lost the end of the request.
    #expect(checker.noted(.rolledBack(.device(0)), in: simulation) == [])
    #expect(checker.settled(in: simulation) == [])
  }

  @Test func aServerThatWentBackMayTakeAnotherAnswer() {
    #expect(take(.allowed, on: 0) == [])
    #expect(checker.noted(.rolledBack(.server), in: simulation) == [])
    // A device with the former answer still reports it, and the server has accepted nothing yet.
    #expect(take(.allowed, on: 0) == [])
    #expect(take(.denied, on: 1) == [])
    #expect(take(.allowed, on: 0).count == 1)
  }

  @Test func approvalsOfHiddenContentsAreFound() {
    let request = RequestCheckerTests.request
    func allow(_ shown: ContentHash?) -> [String] {
      checker.noted(.allowed(device: 1, request, shown: shown), in: simulation)
    }
    #expect(raise() == [])
    #expect(allow(ContentHash.none) == [])
    #expect(take(.allowed, on: 1) == [])
    #expect(decide(.allowed, by: 1).count == 1)
    let other = RequestChecker()
    let life = simulation.devices[0].life
    _ = other.noted(.raised(device: 0, life: life, request), in: simulation)
    _ = other.noted(
      .allowed(device: 1, request, shown: SimulatedAgents.digest(of: request)), in: simulation)
    let decision = AskAnswer(ending: .allowed, device: simulation.devices[1].files.device)
    #expect(other.noted(.decided(device: 0, request, decision), in: simulation) == [])
  }

  @Test func theSameAnswerCountsOnce() {
    #expect(take(.allowed, on: 0) == [])
    #expect(take(.allowed, on: 0) == [])
    #expect(simulation.results.execution.requests.answersTaken == 1)
  }

  private func report(_ status: TaskStatus) -> TaskReport {
    TaskReport(session: .named("s"), status: status, milliseconds: VirtualClock.startOfTime)
  }
}
