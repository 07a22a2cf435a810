import ClientCore
import DispatchAuthority
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

@testable import SyncSimulation

/// What `ExecutionChecker` counts as a second start, and what as a repetition after a restored
/// server.
@Suite struct ExecutionCheckerTests {
  private let simulation = Simulation.twoDevices()
  private let checker = ExecutionChecker()
  private static let message = MessageID(high: 0xA6, low: 1)

  private func grant(token: UInt64) {
    let dispatch = Dispatch(
      message: ExecutionCheckerTests.message, session: .named("s"),
      holder: LeaseHolder(device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1)),
      token: token, attempt: 1, request: token,
      content: DispatchRequest.contentDigest("text"), milliseconds: 0)
    // The server of this world knows no message; another check reports that.
    #expect(checker.noted(.granted([dispatch]), in: simulation).count == 1)
  }

  private func start(on device: Int, token: UInt64) -> [String] {
    let order = StartOrder(
      session: .named("s"), message: ExecutionCheckerTests.message, attempt: 1, token: token,
      text: "text")
    return checker.noted(.agentStarted(device: device, order), in: simulation)
  }

  private func restoreServer() {
    #expect(checker.noted(.rolledBack(.server), in: simulation) == [])
  }

  @Test func anAttemptThatStartsTwiceIsFound() {
    grant(token: 5)
    #expect(start(on: 0, token: 5) == [])
    grant(token: 6)
    #expect(start(on: 1, token: 6).count == 1)
    #expect(simulation.results.execution.doubleStarts == 1)
  }

  @Test func aStartThatTheServerForgotCountsAsARepeat() {
    grant(token: 5)
    #expect(start(on: 0, token: 5) == [])
    restoreServer()
    grant(token: 6)
    #expect(start(on: 1, token: 6) == [])
    #expect(simulation.results.execution.doubleStarts == 0)
    #expect(simulation.results.execution.repeatsAfterRestore == 1)
  }

  /// The grant was on its way when the server's store went back.
  @Test func aStartForgottenDuringItsAnswerCountsAsARepeat() {
    grant(token: 5)
    restoreServer()
    #expect(start(on: 0, token: 5) == [])
    grant(token: 6)
    #expect(start(on: 1, token: 6) == [])
    #expect(simulation.results.execution.repeatsAfterRestore == 1)
  }

  @Test func startsWithoutAGrantAreFound() {
    #expect(start(on: 0, token: 5).count == 1)
  }
}
