import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@testable import ClientCore

/// Questions of other devices for this one's output: handed on, and answered on their connection.
@Suite struct OutputCoreTests {
  private let store = MemoryStore()
  private static let context = EventContext(now: 1_000, wall: TestDevice.startOfTime, random: 5)
  private static let question = OutputQuestion(id: 3, part: OutputPart(message: .numbered(1)))
  private static let reply = OutputReply(
    id: 3, piece: OutputPiece(attempt: 1, runs: true, start: 0, bytes: [65]))

  /// A core with an open connection.
  private func connected() throws -> (core: ClientCore, connection: TransportID) {
    let replica = try Replica(
      Replica.Opening(
        loaded: store.loaded, device: DeviceID(high: 0xD, low: 1), deviceName: "a"),
      at: Self.context, store: store)
    var core = ClientCore(replica: replica, credentials: Fleet.credentials(), queueSizeMax: 100)
    var connection: TransportID?
    for case .connect(let id) in core.started(at: Self.context) { connection = id }
    let id = try #require(connection)
    _ = core.connectionOpened(id, at: Self.context, store: store)
    let welcome = Welcome(
      version: ProtocolVersion.current, head: core.replica.record.prefix, nonce: 1,
      serverMilliseconds: TestDevice.startOfTime, pingSeconds: 20, backoffMillisecondsMin: 0)
    _ = core.frameReceived(.welcome(welcome), on: id, at: Self.context, store: store)
    return (core, id)
  }

  @Test func aQuestionIsAnsweredOnItsConnectionAlone() throws {
    var (core, id) = try connected()
    let actions = core.frameReceived(
      .outputWanted(Self.question), on: id, at: Self.context, store: store)
    #expect(actions == [.outputWanted(id, Self.question)])
    #expect(core.outputRead(Self.reply, for: id) == [.send(id, .output(Self.reply))])
    _ = core.connectionLost(id, message: "gone", at: Self.context)
    #expect(core.outputRead(Self.reply, for: id).isEmpty)
  }

  /// A server that sends what devices send.
  @Test func unaskedPiecesEndTheConnection() throws {
    var (core, id) = try connected()
    let actions = core.frameReceived(
      .output(Self.reply), on: id, at: Self.context, store: store)
    #expect(actions.contains(.close(id)))
  }

  @Test func anEndedConnectionAnswersItsQuestions() throws {
    var (core, id) = try connected()
    let asked = core.inboxQuestionAsked(
      .output(DeviceID(high: 1, low: 2), Self.question.part), id: 9)
    #expect(asked?.count == 1)
    let lost = core.connectionLost(id, message: "gone", at: Self.context)
    let following = core.notificationsFollowing(lost, at: Self.context, store: store)
    #expect(following.contains(.replied(.unavailable, 9)))
    #expect(core.inboxQuestionAsked(.targets, id: 10) == nil)
  }
}
