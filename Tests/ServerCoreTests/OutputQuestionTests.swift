import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

@testable import ServerCore

/// Questions for the output of other devices: passed on, bounded, and answered in any case.
@Suite struct OutputQuestionTests {
  private static let part = OutputPart(message: .numbered(1))

  /// A host and a phone, which asks.
  private struct Pair {
    var pair: NotifiedPair

    init(_ adjust: (inout ServerConfiguration) -> Void = { _ in }) throws {
      pair = try NotifiedPair(adjust)
    }

    mutating func ask(
      _ part: OutputPart = OutputQuestionTests.part, id: UInt64 = 7, of device: DeviceID? = nil
    ) {
      let request = InboxRequest.output(device ?? pair.host.id, part).request(id: id)
      pair.scene.send(.request(request), on: pair.phoneConnection)
    }

    /// The questions that the host gets.
    mutating func wanted() -> [OutputQuestion] {
      pair.scene.take(pair.hostConnection).compactMap {
        if case .outputWanted(let question) = $0 { question } else { nil }
      }
    }

    mutating func tell(_ question: UInt64, _ text: String) {
      let piece = OutputPiece(attempt: 1, runs: true, start: 0, bytes: Array(text.utf8))
      pair.scene.send(.output(OutputReply(id: question, piece: piece)), on: pair.hostConnection)
    }

    /// The answers that the phone gets, by the numbers of its requests.
    mutating func answers() throws -> [UInt64: InboxAnswer] {
      let request = InboxRequest.output(pair.host.id, OutputQuestionTests.part)
      var answers: [UInt64: InboxAnswer] = [:]
      for case .response(let response) in pair.scene.take(pair.phoneConnection) {
        #expect(answers[response.id] == nil, "one answer")
        answers[response.id] = try InboxAnswer(response, to: request)
      }
      return answers
    }

    func text(_ answer: InboxAnswer?) -> String? {
      if case .output(let piece) = answer {
        String(decoding: piece.bytes, as: UTF8.self)
      } else {
        nil
      }
    }
  }

  @Test func aQuestionGoesToItsDeviceAndTheAnswerBack() throws {
    var pair = try Pair()
    pair.ask(id: 7)
    pair.ask(OutputPart(message: .numbered(2), start: 9), id: 8)
    let wanted = pair.wanted()
    #expect(wanted.map(\.part) == [Self.part, OutputPart(message: .numbered(2), start: 9)])
    #expect(try pair.answers().isEmpty)
    // In any order.
    pair.tell(wanted[1].id, "second")
    pair.tell(wanted[0].id, "first")
    let answers = try pair.answers()
    #expect(pair.text(answers[7]) == "first" && pair.text(answers[8]) == "second")
    #expect(pair.pair.scene.core.connections.outputs.count == 0)
  }

  @Test func viewersReadToo() throws {
    var pair = try Pair()
    let phone = pair.pair.phone
    pair.pair.scene.storage.withState {
      $0.workspaces[phone.workspaceID]?.devices[phone.id]?.record.role = .viewer
    }
    pair.pair.phoneLeaves()
    _ = try pair.pair.phoneReturns()
    pair.ask()
    let question = try #require(pair.wanted().first)
    pair.tell(question.id, "for all")
    #expect(pair.text(try pair.answers()[7]) == "for all")
  }

  @Test func anAbsentOrUnknownDeviceIsAnsweredAtOnce() throws {
    var pair = try Pair()
    pair.pair.scene.pass(5_000)
    pair.pair.scene.drop(pair.pair.hostConnection)
    pair.pair.scene.pass(2_000)
    pair.ask(id: 7)
    pair.ask(id: 8, of: DeviceID(high: 9, low: 9))
    let answers = try pair.answers()
    guard case .away(let since?) = answers[7] else {
      Issue.record("\(answers)")
      return
    }
    #expect(since >= NotifiedPair.wall + 5_000 && since <= NotifiedPair.wall + 7_000)
    #expect(answers[8] == .away(since: nil))
  }

  @Test func aHostThatLeavesInTheMiddleOwesNothing() throws {
    var pair = try Pair()
    pair.ask(id: 7)
    pair.ask(id: 8)
    pair.pair.scene.drop(pair.pair.hostConnection)
    #expect(try pair.answers() == [7: .unavailable, 8: .unavailable])
    #expect(pair.pair.scene.core.connections.outputs.count == 0)
  }

  @Test func anAskerThatLeavesIsForgotten() throws {
    var pair = try Pair()
    pair.ask()
    let question = try #require(pair.wanted().first)
    pair.pair.scene.drop(pair.pair.phoneConnection)
    #expect(pair.pair.scene.core.connections.outputs.count == 0)
    pair.tell(question.id, "too late")
    #expect(pair.pair.scene.closed[pair.pair.hostConnection] == nil)
  }

  @Test func aSilentDeviceIsAnsweredForInTime() throws {
    var pair = try Pair()
    pair.ask(OutputPart(message: .numbered(1), waitMilliseconds: 20_000), id: 7)
    let question = try #require(pair.wanted().first)
    pair.pair.scene.pass(29_000)
    #expect(try pair.answers().isEmpty)
    pair.pair.scene.pass(1_100)
    #expect(try pair.answers() == [7: .silent])
    pair.tell(question.id, "too late")
    #expect(try pair.answers().isEmpty)
  }

  /// A peer that sends what it was not asked for, twice, or for another's question.
  @Test func piecesThatNobodyAskedForAreDropped() throws {
    var pair = try Pair()
    for id in [0, 1, 2, .max] as [UInt64] { pair.tell(id, "unasked") }
    #expect(try pair.answers().isEmpty)
    pair.ask(id: 7)
    let question = try #require(pair.wanted().first)
    // The asker answers itself.
    let piece = OutputPiece(attempt: 1, runs: false, start: 0, bytes: [1])
    pair.pair.scene.send(
      .output(OutputReply(id: question.id, piece: piece)), on: pair.pair.phoneConnection)
    #expect(try pair.answers().isEmpty)
    pair.tell(question.id, "once")
    pair.tell(question.id, "twice")
    #expect(pair.text(try pair.answers()[7]) == "once")
  }

  @Test func tenThousandQuestionsAreBounded() throws {
    var pair = try Pair { $0.traffic.frames = .init(perSecond: 100_000, burst: 100_000) }
    for id in 1...10_000 as ClosedRange<UInt64> { pair.ask(id: id) }
    let traffic = ServerConfiguration().traffic
    let wanted = pair.wanted()
    #expect(wanted.count == traffic.outputsMax)
    #expect(pair.pair.scene.core.connections.outputs.count == traffic.outputsMax)
    #expect(try pair.answers().values.allSatisfy { $0 == .tooMany })
    for question in wanted { pair.tell(question.id, "x") }
    _ = try pair.answers()
    // Answered at once, the rate bounds them, and recovers.
    var answered = 0
    for id in 20_000..<21_000 as Range<UInt64> {
      pair.ask(id: id)
      for question in pair.wanted() {
        answered += 1
        pair.tell(question.id, "x")
      }
    }
    #expect(wanted.count + answered <= Int(traffic.outputs.burst) + 1)
    pair.pair.scene.pass(1_000)
    pair.ask(id: 30_000)
    #expect(pair.wanted().count == 1)
  }

  @Test func whatADeviceHasToAnswerIsBounded() throws {
    var pair = try Pair {
      $0.traffic.outputsMax = 1_000
      $0.traffic.outputsWantedMax = 5
    }
    for id in 1...9 as ClosedRange<UInt64> { pair.ask(id: id) }
    #expect(pair.wanted().count == 5)
    #expect(try pair.answers().values.count { $0 == .tooMany } == 4)
  }

  @Test func anotherWorkspacesDeviceIsNotAsked() throws {
    var pair = try Pair()
    var stranger = pair.pair.scene.device(9, workspace: ServerScene.otherWorkspace)
    let connection = try pair.pair.scene.join(&stranger)
    _ = pair.pair.scene.take(connection)
    pair.ask(id: 7, of: stranger.id)
    #expect(try pair.answers() == [7: .away(since: nil)])
    #expect(pair.pair.scene.take(connection).isEmpty)
  }
}
