import QueueModel
import Testing

@Suite struct BusyStateTests {
  // S0-20, S0-21, S0-72: all eight combinations of the three inputs.
  @Test(arguments: 0..<8)
  func busyIsTheUnionOfItsInputs(combination: Int) {
    let (processing, tool, approval) = (
      combination & 1 != 0, combination & 2 != 0, combination & 4 != 0
    )
    var state = BusyState()
    if processing { state.receive(.turnStarted) }
    if tool { state.receive(.toolStarted(id: "a")) }
    if approval { state.receive(.approvalRequested()) }
    #expect(state.isProcessing == processing)
    #expect(state.isToolExecuting == tool)
    #expect(state.isPendingApproval == approval)
    #expect(state.isBusy == (processing || tool || approval))
  }

  // S0-36, S1-16: tools overlap, and end in any order.
  @Test func toolsOverlap() {
    var state = BusyState()
    state.receive(.toolStarted(id: "a"))
    state.receive(.toolStarted(id: "b"))
    state.receive(.toolEnded(id: "a"))
    #expect(state.isToolExecuting)
    #expect(state.runningTools == ["b"])
    state.receive(.toolEnded(id: "never started"))
    state.receive(.toolEnded(id: "b"))
    #expect(!state.isBusy)
  }

  // S0-37, S0-38, S1-17
  @Test func anApprovalIsPendingUntilItIsAnswered() {
    var state = BusyState()
    state.receive(.turnStarted)
    state.receive(.approvalRequested())
    state.receive(.approvalAnswered())
    #expect(!state.isPendingApproval)
    #expect(state.isBusy)
  }

  // S0-37, S0-38: tools that run in parallel ask in parallel.
  @Test func oneAnswerEndsNoOtherApproval() {
    var state = BusyState()
    state.receive(.approvalRequested(id: "a"))
    state.receive(.approvalRequested(id: "b"))
    state.receive(.approvalAnswered(id: "a"))
    #expect(state.pendingApprovals == ["b"])
    state.receive(.approvalAnswered(id: "never asked"))
    #expect(state.isPendingApproval)
    var other = BusyState()
    other.receive(.approvalRequested())
    #expect(state.union(other).pendingApprovals == ["", "b"])
    state.receive(.approvalAnswered(id: "b"))
    #expect(!state.isBusy)
  }

  // S0-39, S0-40: the end of the turn clears what a lost event left.
  @Test(arguments: [AgentSignal.turnEnded, .turnFailed(message: "no network"), .wentIdle])
  func theEndOfTheTurnEndsAll(end: AgentSignal) {
    var state = BusyState()
    for signal in [AgentSignal.turnStarted, .toolStarted(id: "a"), .approvalRequested(), end] {
      state.receive(signal)
    }
    #expect(state == BusyState())
  }

  @Test func toolIDsAreBounded() {
    var state = BusyState()
    for number in 0...Limits.runningToolsMax { state.receive(.toolStarted(id: "\(number)")) }
    #expect(state.runningTools.count == Limits.runningToolsMax)
    state.receive(.turnEnded)
    #expect(!state.isBusy)
  }

  // S0-5, S0-60, S0-65
  @Test func aFailureIsShownUntilTheNextTurn() throws {
    var activity = SessionActivity(session: try SessionID("a"))
    activity.receive(.turnFailed(message: "no network"))
    #expect(activity.currentError == .executionFailed(message: "no network"))
    #expect(
      activity.currentError?.description
        == "The agent failed: no network. Retry, skip, edit or cancel the message.")
    activity.receive(.toolStarted(id: "a"))
    #expect(activity.currentError != nil)
    activity.receive(.turnStarted)
    #expect(activity.currentError == nil)
  }
}
