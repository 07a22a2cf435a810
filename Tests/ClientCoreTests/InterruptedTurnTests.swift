import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A message that goes first, and then the stop of the turn that its user saw.
struct InterruptedTurnTests {
  private static let session = SessionID.named("s")
  private static let host = 0
  private static let other = 1

  /// Device 0 works on message 1 of two; device 1 watches.
  private static func fleet() throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    fleet.follows = true
    try fleet.start()
    try fleet.perform(.addSession(session, name: nil, project: nil), on: other)
    try fleet.perform(.setHost(session, fleet.devices[host].id), on: other)
    for number in 1...2 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "s"), on: other)
    }
    try fleet.settle()
    fleet.note(host) { core, context, store in
      core.executionStarted(
        ExecutionSettings(), loaded: store.loaded.execution, deadAgents: [], at: context,
        store: store)
    }
    try fleet.settle()
    #expect(fleet.devices[other].core.replica.workspace.status(1) == .running)
    return fleet
  }

  /// Sends a message that goes first, and asks which attempt at message 1 was granted.
  private static func send(
    _ number: UInt64, on device: Int = other, in fleet: inout Fleet
  ) throws {
    var send = Command.Send(session: session, id: .numbered(number), text: "now")
    send.goesFirst = true
    try fleet.perform(.send(send), on: device)
    try fleet.note(device) {
      try $0.questionAsked(.outcome(.numbered(1)), id: number, at: $1, store: $2) ?? []
    }
  }

  /// Asks for the stop, if the answer and the queues allow it; see `ClientExecution.interrupt`.
  private static func stop(
    for number: UInt64, attempt: UInt16 = 1, on device: Int = other, in fleet: inout Fleet
  ) throws {
    guard case .outcome(attempt, _, _)? = fleet.devices[device].authorityAnswers.last,
      InterruptObstacle.found(
        for: .numbered(number), stopping: (.numbered(1), attempt),
        in: fleet.devices[device].core.replica.workspace, by: fleet.wall) == nil
    else { return }
    try fleet.note(device) {
      try $0.questionAsked(
        .stop(AttemptName(message: .numbered(1), number: attempt)), id: 100 + number, at: $1,
        store: $2) ?? []
    }
  }

  private static func end(_ result: TurnResult, attempt: UInt16 = 1, in fleet: inout Fleet) {
    fleet.note(host) { $0.agentEnded(session, attempt: attempt, with: result, at: $1, store: $2) }
  }

  private static func stops(in fleet: Fleet) -> Int {
    fleet.devices[host].agentStops
  }

  private static func running(in fleet: Fleet) -> StartOrder? {
    fleet.devices[host].core.running[session]
  }

  @Test func theMessageStartsNext() throws {
    var fleet = try Self.fleet()
    try Self.send(9, in: &fleet)
    try fleet.settle()
    try Self.stop(for: 9, in: &fleet)
    try fleet.settle()
    #expect(
      fleet.devices[Self.other].authorityAnswers.last
        == .stopping(on: fleet.devices[Self.host].id, awaySince: nil))
    #expect(Self.stops(in: fleet) == 1)
    Self.end(.died("signal 15"), in: &fleet)
    try fleet.settle()
    #expect(Self.running(in: fleet)?.message == .numbered(9))
    for index in [Self.host, Self.other] {
      let workspace = fleet.devices[index].core.replica.workspace
      #expect(workspace.status(1) == .cancelled && workspace.numbers("s") == [9, 2])
    }
    try fleet.expectConvergence()
  }

  /// The server has the end before the stop.
  @Test(arguments: [TurnResult.succeeded(summary: ""), .failed("broken")])
  func anEndThatComesFirstStopsNothing(_ result: TurnResult) throws {
    var fleet = try Self.fleet()
    try Self.send(9, in: &fleet)
    try fleet.settle()
    Self.end(result, in: &fleet)
    try Self.stop(for: 9, in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[Self.other].authorityAnswers.last == .notAtWork)
    #expect(Self.stops(in: fleet) == 0)
    try fleet.pass(10_000)
    // Its user wanted it to give way, so a failure in that moment holds nothing up.
    #expect(Self.running(in: fleet)?.message == .numbered(9))
    let status = fleet.devices[Self.other].core.replica.workspace.status(1)
    #expect(status == (result == .failed("broken") ? .cancelled : .succeeded))
    try fleet.expectConvergence()
  }

  /// The turn that its user saw failed, and was tried again.
  @Test func aLaterAttemptGoesOn() throws {
    var fleet = try Self.fleet()
    Self.end(.failed("broken"), in: &fleet)
    try fleet.settle()
    try fleet.perform(.retry(.numbered(1)), on: Self.host)
    try fleet.pass(10_000)
    #expect(Self.running(in: fleet)?.attempt == 2)
    try Self.send(9, in: &fleet)
    try fleet.settle()
    try Self.stop(for: 9, in: &fleet)
    try fleet.settle()
    #expect(Self.stops(in: fleet) == 0 && Self.running(in: fleet)?.attempt == 2)
    let message = try fleet.devices[Self.other].core.replica.workspace.message(.numbered(1))
    #expect(message.status == .running && message.withdrawal == nil)
    // Even a stop that is asked for reaches no other attempt.
    try fleet.note(Self.other) {
      try $0.questionAsked(
        .stop(AttemptName(message: .numbered(1), number: 1)), id: 7, at: $1, store: $2) ?? []
    }
    try fleet.settle()
    #expect(fleet.devices[Self.other].authorityAnswers.last == .notAtWork)
    #expect(Self.stops(in: fleet) == 0 && Self.running(in: fleet)?.attempt == 2)
  }

  @Test func twoInterruptionsStopItOnce() throws {
    var fleet = try Self.fleet()
    let third = try fleet.addDevice()
    try fleet.start(third)
    try fleet.settle()
    try Self.send(9, in: &fleet)
    try fleet.settle()
    try Self.send(8, on: third, in: &fleet)
    try fleet.settle()
    try Self.stop(for: 9, in: &fleet)
    try Self.stop(for: 8, on: third, in: &fleet)
    try fleet.settle()
    let stopping = AuthorityAnswer.stopping(on: fleet.devices[Self.host].id, awaySince: nil)
    for index in [Self.other, third] {
      #expect(fleet.devices[index].authorityAnswers.last == stopping)
    }
    #expect(Self.stops(in: fleet) == 1)
    Self.end(.died("signal 15"), in: &fleet)
    try fleet.settle()
    // The later one saw the other, and goes before it.
    #expect(Self.running(in: fleet)?.message == .numbered(8))
    #expect(fleet.devices[Self.other].core.replica.workspace.numbers("s") == [8, 9, 2])
    try fleet.expectConvergence()
  }

  @Test func withoutAConnectionNothingIsStopped() throws {
    var fleet = try Self.fleet()
    fleet.isServerDown = true
    fleet.cut(Self.other)
    try fleet.settle()
    let answers = fleet.devices[Self.other].authorityAnswers.count
    try Self.send(9, in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[Self.other].authorityAnswers.count == answers)
    fleet.isServerDown = false
    try fleet.pass(120_000)
    #expect(Self.stops(in: fleet) == 0)
    let workspace = fleet.devices[Self.host].core.replica.workspace
    #expect(workspace.numbers("s") == [1, 9, 2])
    #expect(try workspace.message(.numbered(1)).withdrawal == nil)
  }

  /// Nothing is asked before the server has the message.
  @Test func theServerHasTheMessageBeforeTheStop() throws {
    var fleet = try Self.fleet()
    fleet.server.refusals = [
      Refusal(code: .storageFailed, message: "full", retryAfterMilliseconds: 1_000)
    ]
    let answers = fleet.devices[Self.other].authorityAnswers.count
    try Self.send(9, in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[Self.other].authorityAnswers.count == answers)
    try fleet.pass(2_000)
    #expect(fleet.devices[Self.other].authorityAnswers.count == answers + 1)
    #expect(fleet.devices[Self.host].core.replica.workspace.numbers("s") == [1, 9, 2])
  }
}
