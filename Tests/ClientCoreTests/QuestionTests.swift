import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Somebody withdraws a message and asks whether that was in time: the answer counts only where the
/// server has the withdrawal.
struct QuestionTests {
  private static let message = MessageID.numbered(1)

  /// A device with a message that waits, which the server knows.
  private func fleet() throws -> Fleet {
    var fleet = try Fleet(devices: 1)
    fleet.follows = true
    try fleet.start()
    try fleet.perform(.addSession(.named("s"), name: nil, project: nil), on: 0)
    try fleet.perform(.send("text", as: 1, in: "s"), on: 0)
    try fleet.settle()
    return fleet
  }

  /// Withdraws the message and asks; nothing of both has arrived.
  private func withdraw(in fleet: inout Fleet) throws -> StartRace {
    let race = StartRace(
      withdrawing: QuestionTests.message, in: fleet.devices[0].core.replica.workspace)
    try fleet.perform(.cancel([QuestionTests.message]), on: 0)
    var isAsked = false
    fleet.note(0) { core, occasion, store in
      let actions = core.questionAsked(
        .outcome(QuestionTests.message), id: 7, at: occasion, store: store)
      isAsked = actions != nil
      return actions ?? []
    }
    #expect(isAsked)
    return race
  }

  @Test func aWithdrawalThatTheServerTookWasInTime() throws {
    var fleet = try fleet()
    let race = try withdraw(in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[0].told.map(race.ending) == [.inTime])
  }

  /// The server begins an epoch while both are on their way: it refuses the withdrawal, and answers
  /// without it.
  @Test func aWithdrawalThatTheServerRefusedIsAskedAboutAgain() throws {
    var fleet = try fleet()
    let race = try withdraw(in: &fleet)
    fleet.compact()
    while fleet.devices[0].told.isEmpty, !fleet.devices[0].actions.isEmpty {
      try fleet.advance(1)
    }
    #expect(fleet.server.epochRefusals == 1)
    #expect(fleet.devices[0].told.map(race.ending) == [.inTime])
    #expect(fleet.server.workspace.numbers("s") == [])
    try fleet.settle()
    #expect(fleet.devices[0].told.count == 1)
  }

  /// It stays where it is until the next connection, so nobody can say.
  @Test func aWithdrawalThatTheServerDoesNotTakeIsUnconfirmed() throws {
    var fleet = try fleet()
    fleet.server.refusals = [Refusal(code: .limitReached, message: "", batch: 0)]
    let race = try withdraw(in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[0].told == [])
    #expect(fleet.server.workspace.numbers("s") == [1])
    fleet.cut(0)
    try fleet.settle()
    #expect(fleet.devices[0].told.map(race.ending) == [.unconfirmed])
    try fleet.pass(60_000)
    #expect(fleet.server.workspace.numbers("s") == [])
    #expect(fleet.devices[0].told.count == 1)
  }

  @Test func anEditIsTooLateWhereAnotherTextWasLetOut() throws {
    var workspace = try fleet().devices[0].core.replica.workspace
    let before = workspace
    _ = try workspace.perform(
      .edit(QuestionTests.message, content: "other", base: nil),
      in: CommandContext(
        replica: ReplicaID(rawValue: 99), stamp: Stamp(milliseconds: TestDevice.startOfTime + 9),
        queueSizeMax: 10))
    let race = StartRace(editing: QuestionTests.message, from: before, to: workspace)
    let texts = ["text", "other"].map(DispatchRequest.contentDigest)
    #expect(race.ending(.outcome(attempt: 0, token: 0, content: 0)) == .inTime)
    #expect(race.ending(.outcome(attempt: 1, token: 5, content: texts[0])) == .tooLate)
    #expect(race.ending(.outcome(attempt: 1, token: 5, content: texts[1])) == .inTime)
    #expect(race.ending(.unavailable) == .unconfirmed)
  }
}
