import Foundation
import QueueModel
import SyncClient
import Synchronization
import Testing

@testable import SyncDaemon

/// A turn that is made ready begins with leave, and never without it. Real processes.
@Suite(.timeLimit(.minutes(2)))
struct StartLeaveTests {
  /// Each test's own: an attempt that is stopped takes along whatever runs under its name.
  private let message = MessageID(high: .random(in: 0 ... .max), low: 3)

  /// Works on a prompt with a command that leaves a file where it ran.
  private func run(
    with leave: StartLeave,
    deciding decision: @escaping @Sendable () -> Void = {}
  ) async throws -> (result: AgentResult, ran: Bool) {
    let mark = NSTemporaryDirectory() + "/cospool-leave-\(UUID().uuidString)"
    defer { unlink(mark) }
    let agent = try CommandAgent.agent(command: "touch \(mark)", timeoutSeconds: nil)
    let turn = AgentTurn(
      session: try SessionID("s"), message: message, attempt: 1, prompt: "text",
      folder: NSTemporaryDirectory(), dataDirectory: "/none")
    async let result = agent.run(turn, with: leave) { _ in }
    decision()
    let end = await result
    return (end, FileManager.default.fileExists(atPath: mark))
  }

  @Test func anAgentBeginsWhenItHasLeave() async throws {
    let leave = StartLeave()
    let (result, ran) = try await run(with: leave) { leave.decide(true) }
    #expect(result == .succeeded(summary: ""))
    #expect(ran)
  }

  @Test func anAgentThatIsRefusedLeaveNeverBegins() async throws {
    let leave = StartLeave()
    let (result, ran) = try await run(with: leave) {
      leave.decide(false)
      leave.decide(true)
    }
    #expect(result == .withoutLeave)
    #expect(!ran)
    #expect(leave.isRefused)
  }

  @Test func aCancelledTaskHasNoLeave() async {
    let leave = StartLeave()
    let task = Task { await leave.isGiven }
    task.cancel()
    #expect(await task.value == false)
    #expect(leave.isRefused)
  }

  @Test func aDecisionIsHeardOnceAndAlsoLater() {
    let heard = Mutex<[Bool]>([])
    let leave = StartLeave()
    leave.whenDecided { isGiven in heard.withLock { $0.append(isGiven) } }
    #expect(heard.withLock { $0 } == [])
    leave.decide(true)
    leave.decide(false)
    #expect(heard.withLock { $0 } == [true])
    leave.whenDecided { isGiven in heard.withLock { $0.append(isGiven) } }
    #expect(heard.withLock { $0 } == [true, true])
  }

  @Test func aRefusalHolds() async {
    let leave = StartLeave()
    #expect(!leave.isRefused)
    leave.decide(false)
    #expect(leave.isRefused)
    leave.decide(true)
    #expect(await leave.isGiven == false)
  }

  @Test func aStopIsOfItsOwnAttempt() async throws {
    let turns = TurnTable()
    let session = try SessionID("s")
    let stops = turns.prepare(session, attempt: 2)
    turns.stop(session, attempt: 1)
    turns.stop(session, attempt: 2)
    turns.end(session, attempt: 2)
    var count = 0
    for await _ in stops { count += 1 }
    #expect(count == 1)
  }
}
