import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Operations that no honest author makes are refused with a typed error, and nothing of their
/// batch is applied.
struct InvalidOperationTests {
  /// A workspace with one session, one message of three scalars and one thread, and names for the
  /// operations that made them.
  private struct Fixture {
    var workspace: Workspace
    var announcement: OperationID
    var session: OperationID
    var message: OperationID
    var text: OperationID
    var thread: OperationID

    init() throws {
      var device = TestDevice(1)
      try device.perform(.send("abc", as: 1, in: "s"))
      workspace = device.workspace
      let ids = device.made.map(\.id)
      try #require(ids.count == 5)
      (announcement, session, message, text, thread) = (ids[0], ids[1], ids[2], ids[3], ids[4])
    }
  }

  private let stamp = Stamp(milliseconds: TestDevice.startOfTime)
  private let nowhere = Operation.Origins(left: nil, right: nil)

  private func next(_ body: Operation.Body) -> Operation {
    Operation(id: OperationID(replica: ReplicaID(rawValue: 2), seq: 1), body: body)
  }

  private func addition(
    _ session: OperationID, _ origins: Operation.Origins, clears: [OperationID] = []
  ) -> Operation.Body {
    .addMessage(
      .init(
        message: .numbered(9), session: session, origins: origins, stamp: stamp,
        priority: .normal, clears: clears))
  }

  /// Merges a good operation, the bad one and another good one: either all or none are applied.
  private func error(
    of bad: Operation, in fixture: Fixture, _ location: SourceLocation = #_sourceLocation
  ) throws -> MergeError? {
    func announcement(_ replica: UInt64) -> Operation {
      Operation(
        id: OperationID(replica: ReplicaID(rawValue: replica), seq: 1),
        body: .announceDevice(device: DeviceID(high: 5, low: 5), name: "good"))
    }
    var workspace = fixture.workspace
    let before = workspace.image()
    let error = #expect(throws: MergeError.self, sourceLocation: location) {
      try workspace.merge([announcement(7), bad, announcement(8)])
    }
    #expect(workspace.image() == before, sourceLocation: location)
    #expect(workspace.pendingOperations == [], sourceLocation: location)
    try workspace.checkInvariants()
    return error
  }

  @Test func referencesToTheWrongKindAreRefused() throws {
    let fixture = try Fixture()
    let wrong: [(Operation.Body, OperationID)] = [
      (addition(fixture.message, nowhere), fixture.message),
      (addition(fixture.announcement, nowhere), fixture.announcement),
      (.insertText(.init(message: fixture.session, origins: nowhere, text: "x")), fixture.session),
      (.deleteText(.init(message: fixture.thread, first: fixture.text, count: 1)), fixture.thread),
      (
        .placeMessage(
          message: fixture.session, session: fixture.session, origins: nowhere, stamp: stamp),
        fixture.session
      ),
      (
        .placeMessage(
          message: fixture.message, session: fixture.message, origins: nowhere, stamp: stamp),
        fixture.message
      ),
      (.placeThread(session: fixture.message, origins: nowhere, stamp: stamp), fixture.message),
      (
        .enqueueThread(
          .init(
            session: fixture.text, origins: nowhere, stamp: stamp, clearsQueued: [], locks: true,
            clearsLocked: [])),
        fixture.text
      ),
      (.addTag(element: fixture.thread, field: .live, clears: [], note: ""), fixture.thread),
      (.clearTags(element: fixture.text, field: .live, clears: []), fixture.text),
      (
        .setRegister(
          element: fixture.announcement, field: .name, value: .text("n"), stamp: stamp),
        fixture.announcement
      ),
    ]
    for (body, reference) in wrong {
      guard case .invalidReference(_, let named, _)? = try error(of: next(body), in: fixture) else {
        Issue.record("\(body) is refused for another reason")
        continue
      }
      #expect(named == reference, "\(body)")
    }
  }

  @Test func originsOutsideTheListAreRefused() throws {
    let fixture = try Fixture()
    let scalar = Operation.Origins(left: fixture.text, right: nil)
    let slot = Operation.Origins(left: nil, right: fixture.message)
    let thread = Operation.Origins(left: fixture.thread, right: nil)
    let wrong: [Operation.Body] = [
      addition(fixture.session, scalar), addition(fixture.session, thread),
      .insertText(.init(message: fixture.message, origins: slot, text: "x")),
      .placeMessage(
        message: fixture.message, session: fixture.session, origins: scalar, stamp: stamp),
      .placeThread(session: fixture.session, origins: slot, stamp: stamp),
      .enqueueThread(
        .init(
          session: fixture.session, origins: scalar, stamp: stamp, clearsQueued: [], locks: false,
          clearsLocked: [])),
      .deleteText(.init(message: fixture.message, first: fixture.message, count: 1)),
      .deleteText(.init(message: fixture.message, first: fixture.text, count: 4)),
    ]
    for body in wrong {
      guard case .invalidReference? = try error(of: next(body), in: fixture) else {
        Issue.record("\(body) is refused for another reason")
        continue
      }
    }
  }

  @Test func originsInTheWrongOrderAreRefused() throws {
    let fixture = try Fixture()
    let second = try #require(fixture.text.advanced(by: 1))
    for origins in [
      Operation.Origins(left: second, right: fixture.text),
      Operation.Origins(left: second, right: second),
    ] {
      let bad = next(.insertText(.init(message: fixture.message, origins: origins, text: "x")))
      #expect(try error(of: bad, in: fixture) == .originsOutOfOrder(operation: bad.id))
    }
  }

  @Test func malformedOperationsAreRefused() throws {
    let fixture = try Fixture()
    let insertion = Operation.Body.insertText(
      .init(message: fixture.message, origins: nowhere, text: ""))
    let tooMany = Int(UInt32.max) + 1
    var malformed = [next(insertion)]
    for count in [0, -1, .min, .max, tooMany] {
      malformed.append(
        next(.deleteText(.init(message: fixture.message, first: fixture.text, count: count))))
    }
    let good = Operation.Body.openSession(session: .named("t"), clears: [])
    for (replica, seq) in [(UInt64(0), UInt32(1)), (2, 0), (2, Limits.sequenceMax + 1), (2, .max)] {
      malformed.append(
        Operation(id: OperationID(replica: ReplicaID(rawValue: replica), seq: seq), body: good))
    }
    malformed.append(
      Operation(
        id: OperationID(replica: ReplicaID(rawValue: 2), seq: Limits.sequenceMax),
        body: .insertText(.init(message: fixture.message, origins: nowhere, text: "two"))))
    for bad in malformed {
      guard case .invalidOperation(let id, _)? = try error(of: bad, in: fixture) else {
        Issue.record("\(bad) is refused for another reason")
        continue
      }
      #expect(id == bad.id)
    }
  }

  @Test func operationsThatNameThemselvesOrLaterOnesAreRefused() throws {
    let fixture = try Fixture()
    let replica = ReplicaID(rawValue: 2)
    for seq in [UInt32(1), 2, .max] {
      let later = OperationID(replica: replica, seq: seq)
      for body in [
        Operation.Body.openSession(session: .named("t"), clears: [later]),
        addition(later, nowhere), addition(fixture.session, .init(left: later, right: nil)),
        .insertText(
          .init(message: fixture.message, origins: .init(left: nil, right: later), text: "x")),
        .addTag(element: fixture.session, field: .paused, clears: [later], note: ""),
      ] {
        guard case .invalidReference? = try error(of: next(body), in: fixture) else {
          Issue.record("\(body) is refused for another reason")
          continue
        }
      }
    }
  }

  @Test func textsBeyondTheirLimitsAreRefusedAndThoseAtTheLimitTaken() throws {
    let fixture = try Fixture()
    let name = String(repeating: "é", count: Limits.nameBytesMax / 2)
    let content = String(repeating: "x", count: Limits.contentBytesMax)
    func bodies(_ extra: String) -> [Operation.Body] {
      [
        .announceDevice(device: DeviceID(high: 1, low: 1), name: name + extra),
        .addTag(element: fixture.session, field: .paused, clears: [], note: name + extra),
        .setRegister(
          element: fixture.session, field: .name, value: .text(name + extra), stamp: stamp),
        .insertText(
          .init(message: fixture.message, origins: nowhere, text: content + extra)),
      ]
    }
    for body in bodies("x") {
      guard case .limitReached? = try error(of: next(body), in: fixture) else {
        Issue.record("a text one byte too long is refused for another reason")
        continue
      }
    }
    for body in bodies("") {
      var workspace = fixture.workspace
      #expect(try workspace.merge([next(body)]).applied.count == 1)
    }
  }

  @Test func clearedTagsAreBounded() throws {
    let fixture = try Fixture()
    func clearing(_ count: Int) -> Operation {
      next(
        .clearTags(
          element: fixture.session, field: .exists,
          clears: Array(repeating: fixture.session, count: count)))
    }
    #expect(
      try error(of: clearing(Limits.clearedTagsMax + 1), in: fixture)
        == .limitReached(
          operation: clearing(1).id, what: "cleared tags", max: Limits.clearedTagsMax))
    var workspace = fixture.workspace
    #expect(try workspace.merge([clearing(Limits.clearedTagsMax)]).applied.count == 1)
  }

  @Test func sessionsAreBoundedLocallyAndRemotely() throws {
    var device = TestDevice(1)
    for number in 1..<Limits.sessionsMax {
      try device.perform(.addSession(.named("session \(number)"), name: nil, project: nil))
    }
    let local = QueueError.limitReached(what: "sessions", max: Limits.sessionsMax)
    let sections = ["one more", "and another"].map { name in
      WorkspaceDocument.Session(
        id: .named(name), name: nil, project: nil, pauses: [], locked: false, messages: [],
        cancelled: [])
    }
    let vector = device.workspace.vector
    #expect(throws: local) {
      try device.perform(.importDocument(WorkspaceDocument(sessions: sections)))
    }
    #expect(device.workspace.vector == vector, "a part was imported")
    let last = "session \(Limits.sessionsMax)"
    try device.perform(.addSession(.named(last), name: nil, project: nil))
    #expect(throws: local) {
      try device.perform(.addSession(.named("one more"), name: nil, project: nil))
    }
    #expect(throws: local) { try device.perform(.send("text", as: 1, in: "one more")) }
    try device.perform(.send("text", as: 1, in: "session 1"))
    let remote = next(.openSession(session: .named("one more"), clears: []))
    #expect(
      throws: MergeError.limitReached(
        operation: remote.id, what: "sessions", max: Limits.sessionsMax)
    ) { try device.merge([remote]) }
    let known = next(.openSession(session: .named("session 2"), clears: []))
    #expect(try device.merge([known]).applied.count == 1)
  }

  @Test func unknownFieldsAreKeptAndPassedOn() throws {
    let fixture = try Fixture()
    var workspace = fixture.workspace
    let replica = ReplicaID(rawValue: 2)
    let field = TagField(rawValue: 200)
    let register = RegisterField(rawValue: 201)
    let tag = OperationID(replica: replica, seq: 1)
    _ = try workspace.merge([
      Operation(
        id: tag,
        body: .addTag(element: fixture.message, field: field, clears: [], note: "future")),
      Operation(
        id: OperationID(replica: replica, seq: 2),
        body: .setRegister(
          element: fixture.session, field: register, value: .number(.max), stamp: stamp)),
    ])
    let copy = try Workspace(image: workspace.image())
    let image = copy.image()
    #expect(
      image.sessions[0].messages[0].tags.contains(
        WorkspaceImage.Tags(field: field, tags: [.init(id: tag, note: "future")])))
    #expect(image.sessions[0].registers.map(\.field).contains(register))
    #expect(image == workspace.image())
  }

  /// A waiting operation that turns out to be invalid must not block the good ones that it waited
  /// for.
  @Test func anInvalidWaitingOperationDoesNotBlockOthers() throws {
    let fixture = try Fixture()
    var workspace = fixture.workspace
    let awaited = Operation(
      id: OperationID(replica: ReplicaID(rawValue: 3), seq: 1),
      body: .announceDevice(device: DeviceID(high: 3, low: 3), name: "good"))
    let poison = next(addition(awaited.id, nowhere))
    #expect(try workspace.merge([poison]).waiting == 1)
    let outcome = try workspace.merge([awaited])
    #expect(outcome.applied == [awaited])
    #expect(outcome.waiting == 0)
    #expect(
      outcome.dropped == [
        .invalidReference(
          operation: poison.id, reference: awaited.id, reason: "it introduced no session")
      ])
    #expect(workspace.vector[awaited.id.replica] == 1)
    #expect(workspace.vector[poison.id.replica] == 0)
    // If it is sent again, its sender's batch is refused.
    #expect(throws: MergeError.self) { try workspace.merge([poison]) }
  }
}
