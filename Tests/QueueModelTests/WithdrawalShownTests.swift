import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Views and the log, for a message that is withdrawn while it runs.
@Suite struct WithdrawalShownTests {
  private static let id = MessageID.numbered(1)

  private func started() throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.send("Deploy", as: 1, in: "s"))
    try device.perform(.reportRun(Self.id, run(1, .running, device)))
    return device
  }

  private func run(_ attempt: UInt16, _ phase: RunPhase, _ device: TestDevice) -> Run {
    Run(token: 1, attempt: attempt, phase: phase, milliseconds: device.now)
  }

  @Test func aStopIsShownAsOneUntilTheAttemptEnds() throws {
    var device = try started()
    let outcome = try device.perform(.stopAttempt(Self.id, attempt: 1))
    #expect(try device.workspace.message(Self.id).withdrawal == .stopped)
    #expect(device.workspace.history(of: outcome.operations).map(\.action) == [.stopped])
    try device.perform(.reportRun(Self.id, run(1, .cancelled, device)))
    let message = try device.workspace.message(Self.id)
    #expect(message.withdrawal == nil && message.status == .cancelled)
    // That does not stop the next attempt.
    try device.perform(.restore(Self.id))
    try device.perform(.reportRun(Self.id, run(2, .running, device)))
    #expect(try device.workspace.message(Self.id).withdrawal == nil)
  }

  @Test func whileItStopsItsErrorsSayWhatToDo() throws {
    var device = try started()
    try device.perform(.stopAttempt(Self.id, attempt: 1))
    let stopping = QueueError.alreadyStarted(id: Self.id.description, isStopping: true)
    for command in [.cancel([Self.id]), .edit(Self.id, content: "x", base: nil), .restore(Self.id)]
      as [Command]
    {
      #expect(throws: stopping) { try device.perform(command) }
    }
    #expect(stopping.description.hasSuffix("is stopping. Restore it when it has stopped."))
  }

  /// A user who cancelled a message without knowing of its start has not stopped an agent.
  @Test func aCancelThatMeetsAStartIsNotAStop() throws {
    var host = TestDevice(1)
    try host.perform(.send("Deploy", as: 1, in: "s"))
    var other = TestDevice(2, now: host.now)
    try other.merge(host.made)
    try host.perform(.reportRun(Self.id, run(1, .running, host)))
    try other.perform(.cancel([Self.id]))
    try host.merge(other.made)
    let message = try host.workspace.message(Self.id)
    #expect(message.status == .running && message.withdrawal == .cancelled)
  }

  /// It was cancelled as its agent began, and then stopped: all devices show that it stops, and who did it.
  @Test func aStopAfterACancelThatCameTooLateIsRecorded() throws {
    var device = try started()
    var other = TestDevice(2, now: device.now)
    try other.merge(Array(device.made.dropLast()))
    try other.perform(.cancel([Self.id]))
    try device.merge(other.made)
    #expect(try device.workspace.message(Self.id).withdrawal == .cancelled)
    let outcome = try device.perform(.stopAttempt(Self.id, attempt: 1))
    #expect(try device.workspace.message(Self.id).withdrawal == .stopped)
    #expect(device.workspace.history(of: outcome.operations).map(\.action) == [.stopped])
    #expect(try device.perform(.stopAttempt(Self.id, attempt: 1)).operations.isEmpty)
    try device.perform(.reportRun(Self.id, run(1, .cancelled, device)))
    #expect(try device.perform(.stopAttempt(Self.id, attempt: 1)).operations.isEmpty)
  }
}
