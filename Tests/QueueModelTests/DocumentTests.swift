import Foundation
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// A workspace as a document, and back.
struct DocumentTests {
  private func worked(seed: UInt64, commands count: Int = 60) -> TestDevice {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator(executes: false)
    var device = TestDevice(1, queueSizeMax: 6)
    var editors: CommandGenerator.OpenEditors = [:]
    for _ in 0..<count {
      let command = commands.command(
        for: device.workspace, editors: &editors, using: &generator)
      device.now += Int64(generator.below(5_000))
      // A refusal is fine.
      _ = try? device.perform(command)
    }
    return device
  }

  /// What a user sees, without the devices: after an import, they are the importing device.
  private func view(_ workspace: Workspace) throws -> [String] {
    var document = workspace.document()
    for session in document.sessions.indices {
      for index in document.sessions[session].messages.indices {
        document.sessions[session].messages[index].device = nil
        document.sessions[session].messages[index].leaveOutSavers()
      }
      for index in document.sessions[session].cancelled.indices {
        document.sessions[session].cancelled[index].device = nil
        document.sessions[session].cancelled[index].leaveOutSavers()
      }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return [String(decoding: try encoder.encode(document), as: UTF8.self)]
      + workspace.threadQueue().threads.map { "\($0)" } + workspace.sessions().map { "\($0)" }
  }

  private func document(
    _ messages: [(number: UInt64, attempts: Int, error: String?)], pauses: [String] = []
  ) -> WorkspaceDocument {
    WorkspaceDocument(sessions: [
      WorkspaceDocument.Session(
        id: .named("s"), name: nil, project: nil, pauses: pauses, locked: false,
        messages: messages.map { number, attempts, error in
          var message = WorkspaceDocument.Message(
            id: .numbered(number), content: "do \(number)", priority: "normal", createdAt: 1,
            device: nil)
          message.attempts = attempts
          message.lastError = error
          return message
        }, cancelled: [])
    ])
  }

  /// An agent may have done it already: nothing starts before a user has looked.
  @Test func whatWasStartedBeforeWaitsInAPausedSession() throws {
    var device = TestDevice(1)
    try device.perform(.send("mine", as: 9, in: "s", requeues: false))
    try device.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
    #expect(device.workspace.startable(in: .named("s"))?.message == .numbered(9))
    let fresh = document([(1, 0, nil)])
    try device.perform(.importDocument(fresh))
    #expect(device.workspace.session(.named("s"))?.paused == false)
    for started in [document([(1, 1, nil), (2, 1, nil)]), document([(3, 0, "it was stopped")])] {
      let trial = device.workspace.counts(of: started)
      #expect(trial.started == 1 && trial.held == [.named("s")])
      guard case .imported(let counts) = try device.perform(.importDocument(started)).notice else {
        Issue.record("nothing was imported")
        return
      }
      #expect(counts.started == 1 && counts.held == [.named("s")])
      #expect(device.workspace.session(.named("s"))?.paused == true)
      #expect(device.workspace.startable(in: .named("s")) == nil)
      let queue = try device.workspace.messageQueue(.named("s"))
      #expect(queue.pauseReasons == ["imported messages were started before"])
      // An import again, or one of what is known, pauses nothing.
      try device.perform(.resume(.named("s")))
      _ = try device.perform(.importDocument(started))
      #expect(device.workspace.session(.named("s"))?.paused == false)
    }
  }

  @Test func aPauseComesWithTheMessages() throws {
    var device = TestDevice(1)
    try device.perform(.send("mine", as: 9, in: "s", requeues: false))
    try device.perform(.importDocument(document([(1, 0, nil)], pauses: ["production freeze"])))
    #expect(
      try device.workspace.messageQueue(.named("s")).pauseReasons == ["production freeze"])
  }

  /// I-47: another device has resumed the session already.
  @Test func theImportsOwnPauseOutlivesAResumptionElsewhere() throws {
    var device = TestDevice(1)
    try device.perform(.send("mine", as: 9, in: "s", requeues: false))
    try device.perform(.pause(.named("s"), reason: "lunch"))
    var other = TestDevice(2)
    try other.merge(device.made)
    try other.perform(.resume(.named("s")))
    for started in [document([(1, 1, nil)]), document([(3, 0, nil)], pauses: ["freeze"])] {
      var importer = device
      try importer.perform(.importDocument(started))
      try importer.merge(other.made)
      #expect(importer.workspace.session(.named("s"))?.paused == true)
      #expect(importer.workspace.startable(in: .named("s")) == nil)
    }
  }

  /// A large import pauses once.
  @Test func aPauseOfSeveralPartsIsOne() throws {
    let rows = (1...250).map { (UInt64($0), 1, String?.none) }
    for pauses in [[], ["freeze"]] {
      var importer = TestDevice(1)
      for part in document(rows, pauses: pauses).parts {
        try importer.perform(.importDocument(part))
      }
      #expect(importer.workspace.pauses(of: .named("s")).count == 1)
    }
  }

  @Test(arguments: TestSeeds.list(standard: 25, from: 3_000))
  func exportsAreImported(seed: UInt64) throws {
    let device = worked(seed: seed)
    let data = try JSONEncoder().encode(device.workspace.document())
    let document = try JSONDecoder().decode(WorkspaceDocument.self, from: data)
    var other = TestDevice(2, now: device.now + 60_000)
    let counts = other.workspace.counts(of: document)
    for part in document.parts { try other.perform(.importDocument(part)) }
    #expect(try view(other.workspace) == view(device.workspace), "seed \(seed)")
    #expect(counts.messages == document.messageCount && counts.known == 0)
    try other.workspace.checkInvariants()
    // A second import adds nothing.
    let vector = other.workspace.vector
    #expect(try other.perform(.importDocument(document)).notice == .unchanged)
    #expect(other.workspace.vector == vector)
    #expect(other.workspace.counts(of: document).known == document.messageCount)
  }

  @Test func twoDevicesThatImportTheSameAgree() throws {
    let document = worked(seed: 7).workspace.document()
    var one = TestDevice(2)
    var two = TestDevice(3)
    try one.perform(.importDocument(document))
    try two.perform(.importDocument(document))
    try one.merge(two.made)
    try two.merge(one.made)
    #expect(one.workspace.image() == two.workspace.image())
    var messages = 0
    for session in one.workspace.sessions() {
      messages += session.waiting + one.workspace.cancelledMessages(of: session.id).count
    }
    #expect(messages == document.messageCount)
  }

  @Test func existingElementsDoNotChange() throws {
    var device = TestDevice(1)
    try device.perform(.send("mine", as: 1, in: "s"))
    try device.perform(.addSession(.named("s"), name: "My name", project: nil))
    var document = device.workspace.document()
    document.sessions[0].name = "Other name"
    document.sessions[0].messages[0].content = "theirs"
    document.sessions[0].messages.append(
      WorkspaceDocument.Message(
        id: .numbered(2), content: "new", priority: "urgent", createdAt: 5, device: "x"))
    let outcome = try device.perform(.importDocument(document))
    var expected = ImportCounts()
    expected.messages = 1
    expected.known = 1
    #expect(outcome.notice == .imported(expected))
    #expect(device.workspace.contents("s") == ["new", "mine"])
    #expect(device.workspace.session(.named("s"))?.name == "My name")
    #expect(try device.workspace.message(.numbered(2)).createdAt == 5)
    try device.perform(.undo)
    #expect(device.workspace.contents("s") == ["mine"])
    try device.perform(.redo)
    #expect(device.workspace.contents("s") == ["new", "mine"])
  }

  @Test func partsAreCommandsOfABoundedSize() throws {
    var device = TestDevice(1, queueSizeMax: 1_000)
    for number in 1...250 as ClosedRange<UInt64> {
      try device.perform(.send("text \(number)", as: number, in: "s"))
    }
    let long = String(repeating: "x", count: 200 << 10)
    for number in 251...253 as ClosedRange<UInt64> {
      try device.perform(.send(long, as: number, in: "t"))
    }
    let parts = device.workspace.document().parts
    #expect(parts.map(\.messageCount) == [100, 100, 50, 1, 1, 1, 0])
    #expect(parts.last?.threads.count == 2)
  }

  @Test(arguments: [
    (#"format": "cospool-workspace"#, #"format": "other"#, "format: "),
    (
      #"version": 2"#, #"version": 3"#,
      "version: 3 is unknown; this version of Cospool reads 1 and 2"
    ),
    (#"priority": "normal"#, #"priority": "now"#, "sessions[0].messages[0].priority: "),
    (
      #"createdAt": "1970-01-01T00:00:00.002Z""#, #"createdAt": "1969-12-31T23:59:59.999Z""#,
      "sessions[0].messages[0].createdAt: "
    ),
  ])
  func faultsAreNamedByField(_ good: String, _ bad: String, _ words: String) throws {
    var device = TestDevice(1, now: 1)
    try device.perform(.send("text", as: 1, in: "s"))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let text = String(
      decoding: try encoder.encode(device.workspace.document()), as: UTF8.self
    ).replacing(" : ", with: ": ")
    let changed = text.replacing(good, with: bad)
    #expect(changed != text)
    let document = try JSONDecoder().decode(WorkspaceDocument.self, from: Data(changed.utf8))
    let fault = try #require(document.fault)
    #expect(fault.contains(words), "\(fault)")
    let before = device.workspace.vector
    #expect(throws: QueueError.invalidDocument(reason: fault)) {
      try device.perform(.importDocument(document))
    }
    #expect(device.workspace.vector == before)
  }

  private static func readAsOld(_ more: String = "") throws -> WorkspaceDocument {
    let text = #"""
      {"format": "cospool-workspace", "version": 1,
       "sessions": [{"id": "s", "pauses": [], "locked": false,
         "messages": [{"id": "11111111-1111-4111-8111-111111111111", "content": "later",
           "priority": "normal", "createdAt": 5, "later": 1772357400125}],
         "cancelled": []\#(more)}],
       "threads": [{"session": "s", "queuedAt": 7}]}
      """#
    return try JSONDecoder().decode(WorkspaceDocument.self, from: Data(text.utf8))
  }

  /// Version 1, with its times in milliseconds, is imported as it always was.
  @Test func theFirstVersionIsStillRead() throws {
    var device = TestDevice(1, now: 1_000)
    try device.perform(.importDocument(Self.readAsOld()))
    let message = try #require(try device.workspace.messageQueue(.named("s")).messages.first)
    #expect(message.createdAt == 5 && message.later == 1_772_357_400_125)
    #expect(device.workspace.threadQueue().threads.map(\.queuedAt) == [7])
    // It had what an agent did, only for people.
    for task in [#"{"status": "dreaming"}"#, "7", "null"] {
      #expect(try Self.readAsOld(#", "task": \#(task)"#) == Self.readAsOld())
    }
  }

  /// Times are ISO 8601, as in every other answer.
  @Test func theSecondVersionHasTimesAsText() throws {
    var device = TestDevice(1, now: 1_772_357_400_125)
    try device.perform(.importDocument(Self.readAsOld()))
    try device.perform(.setOnLostServer(.named("s"), .stop))
    let text = String(
      decoding: try JSONEncoder().encode(device.workspace.document()), as: UTF8.self)
    for part in [
      #""version":2"#, #""createdAt":"1970-01-01T00:00:00.005Z""#,
      #""later":"2026-03-01T09:30:00.125Z""#, #""queuedAt":"1970-01-01T00:00:00.007Z""#,
      #""onLostServer":"stop""#,
    ] {
      #expect(text.contains(part), "\(text)")
    }
    let document = try JSONDecoder().decode(WorkspaceDocument.self, from: Data(text.utf8))
    #expect(document == device.workspace.document())
    var other = TestDevice(2, now: device.now)
    for part in document.parts { try other.perform(.importDocument(part)) }
    #expect(other.workspace.session(.named("s"))?.onLostServer == .stop)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(
        WorkspaceDocument.self, from: Data(text.replacing(".005Z", with: "").utf8))
    }
  }

  @Test func timesAheadAreTakenAsNow() throws {
    var device = TestDevice(1)
    let message = WorkspaceDocument.Message(
      id: .numbered(1), content: "x", priority: "normal", createdAt: .max, device: nil)
    let document = WorkspaceDocument(
      sessions: [
        WorkspaceDocument.Session(
          id: .named("s"), name: nil, project: nil, pauses: [], locked: false,
          messages: [message], cancelled: [])
      ],
      threads: [WorkspaceDocument.Thread(session: .named("s"), queuedAt: .max)])
    try device.perform(.importDocument(document))
    #expect(try device.workspace.message(.numbered(1)).createdAt == device.now)
    #expect(device.workspace.threadQueue().threads.map(\.queuedAt) == [device.now])
  }
}

extension WorkspaceDocument.Message {
  fileprivate mutating func leaveOutSavers() {
    guard let count = editions?.count else { return }
    for index in 0..<count { editions?[index].device = nil }
  }
}
