import Foundation
import QueueModel
import SyncTestSupport
import Testing

/// The text of the register `task`.
struct TaskTextTests {
  private static let snippets = [
    "a", "two\nlines", "\r\n", "\\", "\\n", " lead", "e\u{301}", "👩‍👩‍👧‍👦", "\u{0}", "status idle",
    "\noption x",
  ]

  private static func text(_ generator: inout SeededGenerator) -> String {
    (0...generator.below(4)).map { _ in generator.pick(snippets) ?? "" }.joined()
  }

  private static func status(_ generator: inout SeededGenerator) -> TaskStatus {
    let id = RequestID(high: generator.next(), low: generator.next())
    let expiry = generator.chance(50) ? Int64(generator.below(1_000_000)) : nil
    switch generator.below(8) {
    case 0: return .idle
    case 1: return .processing(operation: generator.chance(50) ? text(&generator) : nil)
    case 2:
      return .awaitingApproval(
        ApprovalRequest(
          id: id, toolName: text(&generator), summary: text(&generator),
          details: generator.chance(50) ? text(&generator) : nil, expiresAt: expiry))
    case 3:
      return .awaitingAnswer(
        UserQuestion(
          id: id, question: text(&generator),
          options: (0..<generator.below(4)).map { _ in text(&generator) }, expiresAt: expiry))
    case 4: return .completed(.success(summary: generator.chance(50) ? text(&generator) : nil))
    case 5: return .completed(.failure(error: text(&generator)))
    case 6: return .completed(.cancelled)
    default: return .error(message: text(&generator))
    }
  }

  private static func requests(_ generator: inout SeededGenerator) -> [TaskRequest] {
    (0..<40).compactMap { _ in status(&generator).request }
      .prefix(generator.below(Limits.taskRequestsMax)).map { $0 }
  }

  @Test(arguments: TestSeeds.list(standard: 3)) func writtenTimesAreReadAgain(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<400 {
      let status = Self.status(&generator)
      let awaits = status.request != nil
      let written = TaskText(
        status: status, start: Int64(generator.below(1_000)),
        milliseconds: Int64(generator.below(10_000)),
        todo: generator.chance(50)
          ? TodoProgress(
            completed: generator.below(9), total: 9,
            currentTask: generator.chance(50) ? Self.text(&generator) : nil) : nil,
        outcome: generator.chance(50)
          ? AskOutcome(
            request: RequestID(high: 1, low: generator.next()), ending: .answered,
            device: DeviceID(high: 2, low: 3)) : nil,
        alsoAwaits: awaits ? Self.requests(&generator) : [],
        moreRequests: awaits ? generator.below(3) : 0)
      #expect(TaskText(text: written.text) == written, "seed \(seed): \(written.text)")
      let state = TaskState(
        written, session: try SessionID("s"), project: "/p")
      let data = try JSONEncoder().encode(state)
      #expect(try JSONDecoder().decode(TaskState.self, from: data) == state)
    }
  }

  @Test(arguments: TestSeeds.list(standard: 3)) func anyTextCanBeRead(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let names = [
      "status", "start", "at", "operation", "request", "tool", "summary", "details", "question",
      "option", "expires", "result", "error", "todo", "outcome", "also", "more", "cut", "later",
    ]
    for _ in 0..<400 {
      var text = ""
      for _ in 0..<generator.below(12) {
        text += "\(generator.pick(names) ?? "") "
        text +=
          generator.chance(30)
          ? generator.pick(TaskStatus.Kind.allCases)?.rawValue ?? "" : Self.text(&generator)
        text += generator.chance(80) ? "\n" : ""
      }
      let read = TaskText(text: text)
      // A text that was read can be written again without a change.
      #expect(TaskText(text: read.text) == TaskText(text: TaskText(text: read.text).text))
    }
  }

  @Test func unknownLinesAreSkippedAndADoubtfulStatusIsWork() {
    #expect(TaskText(text: "").status == .processing(operation: nil))
    #expect(TaskText(text: "status dreaming\noperation x").status == .processing(operation: "x"))
    #expect(TaskText(text: "status awaitingApproval\nrequest 12").status.kind == .processing)
    #expect(TaskText(text: "status idle\nstatus error\nweather fine").status == .idle)
    #expect(TaskText(text: "status completed\nresult odd").status.kind == .completed)
    #expect(
      TaskText(text: "status completed\nresult odd").status != .completed(.success(summary: nil)))
    let huge = TaskText(text: "at 99999999999999999999\ntodo 1 x\ntodo 1 2\noutcome a b c d")
    #expect(huge.milliseconds == 0 && huge.todo == nil && huge.outcome == nil)
    #expect(TaskText(.number(7)).status.kind == .processing)
  }

  @Test func longTaskTextsAreCut() {
    let long = String(repeating: "x", count: 9_000)
    let text = TaskText(
      status: .awaitingAnswer(
        UserQuestion(
          id: RequestID(high: 0, low: 1), question: long,
          options: (0..<12).map { "\($0)" + long })),
      start: 0, milliseconds: 0)
    guard case .awaitingAnswer(let question) = TaskText(text: text.text).status else {
      Issue.record("\(text.text.prefix(80))")
      return
    }
    #expect(question.question.utf8.count == Limits.taskQuestionBytesMax)
    #expect(question.options.count == Limits.taskOptionsMax)
    #expect(question.options.allSatisfy { $0.utf8.count == Limits.taskNameBytesMax })
    let escaped = TaskText(
      status: .awaitingApproval(
        ApprovalRequest(
          id: RequestID(high: 0, low: 1), toolName: "t", summary: "s",
          details: String(repeating: "\\", count: 4_000))), start: 0, milliseconds: 0)
    #expect(escaped.pieces.count == 8)
    #expect(
      escaped.pieces.allSatisfy { piece in
        if case .text(let text) = piece { text.utf8.count <= Limits.nameBytesMax } else { false }
      })
  }

  @Test func truncatedTextsAreMarked() throws {
    let long = String(repeating: "\n", count: 9_000)
    func approval(_ number: UInt64, details: String?) -> TaskRequest {
      .approval(
        ApprovalRequest(
          id: RequestID(high: 0, low: number), toolName: long, summary: long, details: details))
    }
    let short = ApprovalRequest(id: RequestID(high: 1, low: 1), toolName: "Bash", summary: "make")
    let others = (2...12).map { approval($0, details: long) }
    let text = TaskText(
      status: approval(1, details: long).status, start: 0, milliseconds: 0,
      alsoAwaits: [.approval(short)] + others, moreRequests: 4)
    var joined = ""
    for case .text(let piece) in text.pieces { joined += piece }
    let read = TaskText(text: joined)
    // Everything that may be shown fits, no matter how many characters are escaped.
    #expect(joined == text.text && read.moreRequests == 4)
    #expect(read.requests.map(\.id) == text.requests.prefix(Limits.taskRequestsMax).map(\.id))
    #expect(read.requests.map(\.isCut) == [true, false] + Array(repeating: true, count: 6))
    #expect(read.alsoAwaits.first == .approval(short))
  }

  /// A request carries the digest that an approval names, and the text that a user reads is made
  /// from the same parts.
  @Test func aRequestKeepsItsDigest() throws {
    let digest = ContentHash(bytes: Array(repeating: 0xAB, count: 32))
    let requests = (1...2).map {
      ApprovalRequest(
        id: RequestID(high: 0, low: $0), toolName: "a\nb", summary: "c\rd", details: "e\nf",
        digest: digest)
    }
    let text = TaskText(
      status: .awaitingApproval(requests[0]), start: 0, milliseconds: 0,
      alsoAwaits: [.approval(requests[1])]
    ).text
    #expect(TaskText(text: text).requests.map(\.digest) == [digest, digest])
    #expect(
      TaskText(text: text.replacing("digest ab", with: "digest zz")).requests[0].digest == nil)
    #expect(requests[0].text == "a b\nc d\ne\nf")
    let whole = try #require(requests[1].whole("t\ns\n\nx\ny"))
    #expect((whole.toolName, whole.summary, whole.details) == ("t", "s", "\nx\ny"))
    #expect(requests[1].whole("t\ns") == nil)
    // No host makes such a text: the text that a device shows would not match the digest.
    #expect(requests[1].whole("t\rx\ns\nd") == nil)
    #expect(requests[1].whole("t\ns\r\nd") == nil)
    let long = try #require(
      TaskText(
        text: TaskText(
          status: .awaitingApproval(
            ApprovalRequest(
              id: RequestID(high: 0, low: 1), toolName: "t", summary: "s",
              details: String(repeating: "x", count: 4_001))), start: 0, milliseconds: 0
        ).text
      ).requests.first)
    guard case .approval(let cut) = long else { return }
    #expect(cut.isCut && cut.details?.hasSuffix("bytes more]") == true)
  }

  @Test func aRequestIsAwaitedOnceAndBesideAnother() {
    let lines = "request 00000000-0000-0000-0000-000000000001\\ntool x"
    let other = "status awaitingApproval\\nrequest 00000000-0000-0000-0000-000000000002"
    let first = "status awaitingApproval\n" + lines.replacingOccurrences(of: "\\n", with: "\n")
    let read = TaskText(
      text: first + "\nalso status awaitingApproval\\n\(lines)\nalso \(other)\nalso \(other)"
        + "\nalso status idle\nmore -3")
    #expect(read.requests.map(\.id) == [RequestID(high: 0, low: 1), RequestID(high: 0, low: 2)])
    #expect(read.moreRequests == 0)
    let idle = TaskText(text: "status processing\nalso \(other)\nmore 2")
    #expect(idle.requests.isEmpty && idle.moreRequests == 0)
  }
}
