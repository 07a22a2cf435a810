import QueueModel
import SequenceCRDT
import SyncTestSupport
import WireProtocol

/// The contents of the vectors: a name, a description, and the value.
enum VectorValues {
  static let device = DeviceID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_00D1)
  static let workspace = WorkspaceID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0057)
  static let message = MessageID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0003)
  static let token = (0..<32).map { UInt8($0 * 7) }
  static let alice = ReplicaID(rawValue: 0xA11C_E000_0000_0001)
  static let bob = ReplicaID(rawValue: 0x0B0B_0000_0000_0002)
  static let stamp = Stamp(milliseconds: 1_767_225_600_000)

  static func a(_ seq: UInt32) -> OperationID { OperationID(replica: alice, seq: seq) }
  static func b(_ seq: UInt32) -> OperationID { OperationID(replica: bob, seq: seq) }

  typealias Deltas = [(name: String, description: String, operations: [Operation])]

  /// An operation of the first author, whose clock is this many milliseconds ahead of the stamp.
  static func operation(
    _ seq: UInt32, _ body: Operation.Body, clockAheadOfStamp ahead: Int64 = 0
  ) -> Operation {
    let operation = Operation(id: a(seq), body: body)
    guard let stamp = operation.stamp else { return operation }
    return Operation(id: operation.id, body: body.made(at: stamp.milliseconds + ahead))
  }

  static func insertion(
    _ id: OperationID, _ left: OperationID?, _ right: OperationID?, _ text: String
  ) -> Operation {
    Operation(
      id: id,
      body: .insertText(
        Operation.InsertText(
          message: a(3), origins: .init(left: left, right: right), text: text)))
  }

  static func deletion(
    _ seq: UInt32, _ first: OperationID, _ count: Int, backwards: Bool = false
  ) -> Operation {
    operation(
      seq,
      .deleteText(
        Operation.DeleteText(message: a(3), first: first, count: count, backwards: backwards)))
  }

  static let addition = operation(
    3,
    .addMessage(
      Operation.AddMessage(
        message: message, session: a(2), origins: .init(left: nil, right: nil), stamp: stamp,
        priority: .normal, clears: [a(2)])))

  static let enqueueing = operation(
    20,
    .enqueueThread(
      Operation.EnqueueThread(
        session: a(2), origins: .init(left: b(9), right: nil), stamp: stamp,
        clearsQueued: [a(12)], locks: true, clearsLocked: [a(12)])))

  /// One for each kind of operation.
  static let kinds: Deltas = [
    (
      "announceDevice", "The first operation of a replica.",
      [operation(1, .announceDevice(device: device, name: "laptop"))]
    ),
    (
      "openSession", "A session that was not named before.",
      [operation(2, .openSession(session: .named("api-server"), clears: []))]
    ),
    ("addMessage", "The first message of the session whose number is 2.", [addition]),
    (
      "insertText", "A text of scalars of one to four bytes.",
      [insertion(a(4), nil, nil, "Fix é漢🎉\u{0}")]
    ),
    (
      "deleteText", "Three scalars, forwards.", [deletion(30, a(6), 3)]
    ),
    (
      "placeMessage", "A message moves between two others.",
      [
        operation(
          31,
          .placeMessage(
            message: a(3), session: a(2), origins: .init(left: a(13), right: a(22)), stamp: stamp))
      ]
    ),
    (
      "placeThread", "A thread moves to the front.",
      [
        operation(
          32,
          .placeThread(session: b(2), origins: .init(left: nil, right: a(12)), stamp: stamp))
      ]
    ),
    ("enqueueThread", "A thread is requeued and locked, and loses both old tags.", [enqueueing]),
    (
      "addTag", "A session is paused, with a reason.",
      [operation(33, .addTag(element: a(2), field: .paused, clears: [], note: "rate limit"))]
    ),
    (
      "addTag/edition", "Someone who has seen another text saves one.",
      [
        operation(
          33,
          .addTag(
            element: a(3), field: .edition, clears: [b(9)],
            note: "1767225600000 Fix both tests"))
      ]
    ),
    (
      "addTag/edition/author", "An undo restores a text that another device saved.",
      [
        operation(
          33,
          .addTag(
            element: a(3), field: .edition, clears: [b(9)],
            note: "1767225600000@8:t\u{e9}l\u{e9}f1 Fix both tests"))
      ]
    ),
    (
      "addTag/edition/ran", "A host keeps what the agent of the second attempt got.",
      [
        operation(
          33,
          .addTag(
            element: a(3), field: .edition, clears: [], note: "1767225600000!2 Fix both tests"))
      ]
    ),
    (
      "addTag/edition/long", "A text of more than 64 KiB is saved: its length and FNV-1a.",
      [
        operation(
          33,
          .addTag(
            element: a(3), field: .edition, clears: [],
            note: "1767225600000#70000#8985ffe8b5a9b3c1"))
      ]
    ),
    (
      "clearTags", "A message is cancelled.",
      [operation(34, .clearTags(element: a(3), field: .live, clears: [a(3)]))]
    ),
    (
      "setRegister/text", "A session gets a name.",
      [
        operation(
          35,
          .setRegister(
            element: a(2), field: .name, value: .text("API server"),
            stamp: Stamp(milliseconds: 1_767_225_600_000, counter: 5)))
      ]
    ),
    (
      "setRegister/number", "A message becomes urgent.",
      [
        operation(
          36, .setRegister(element: a(3), field: .priority, value: .number(1), stamp: stamp))
      ]
    ),
  ]

  /// Typical sequences, and the corner cases of the format.
  static let sequences: Deltas = [
    ("nothing", "No operations.", []),
    (
      "enqueue", "A message, its text, and its thread: what one `send` makes; compressed.",
      [
        addition,
        insertion(
          a(4), nil, nil,
          "Please fix the failing test in the parser and add a unit test for the empty line."),
        operation(
          86,
          .enqueueThread(
            Operation.EnqueueThread(
              session: a(2), origins: .init(left: nil, right: nil), stamp: stamp,
              clearsQueued: [], locks: false, clearsLocked: []))),
      ]
    ),
    (
      "stamps ahead of the clock",
      "A message, and a move of it and another one behind it, by a clock that is a second behind the "
        + "stamp of the first and as late as that of the others.",
      [
        operation(3, addition.body, clockAheadOfStamp: -1_000),
        operation(
          4,
          .placeMessage(
            message: a(3), session: a(2), origins: .init(left: b(7), right: nil), stamp: stamp),
          clockAheadOfStamp: -1_000),
        operation(
          5,
          .placeMessage(
            message: b(8), session: a(2), origins: .init(left: a(4), right: nil), stamp: stamp),
          clockAheadOfStamp: -1_000),
        operation(
          6,
          .placeThread(
            session: a(2), origins: .init(left: b(9), right: nil),
            stamp: Stamp(milliseconds: stamp.milliseconds + 5))),
      ]
    ),
    (
      "typing", "Five characters typed one by one, two taken back, one typed: three rows.",
      "hello".unicodeScalars.enumerated().map { offset, scalar in
        insertion(
          a(UInt32(40 + offset)), a(UInt32(39 + offset)), a(5), String(Character(scalar)))
      } + [
        deletion(45, a(44), 1), deletion(46, a(43), 1), insertion(a(47), a(42), a(43), "p"),
      ]
    ),
    (
      "moves", "Three messages move together: one row.",
      (0..<3).map { offset in
        operation(
          50 + offset,
          .placeMessage(
            message: a(3 + 4 * offset), session: b(2),
            origins: .init(left: offset == 0 ? b(7) : a(49 + offset), right: b(8)), stamp: stamp))
      }
    ),
    (
      "two replicas", "Rows of two authors that name each other, with a gap.",
      [
        insertion(b(5), a(9), a(10), "und "), insertion(a(60), b(8), a(10), "then "),
        insertion(a(70), a(64), b(5), "x"), deletion(71, b(5), 4, backwards: true),
      ]
    ),
    (
      "far stamps", "Stamps before 2024 and after 2041, and the largest.",
      [Stamp.zero, Stamp(rawValue: .max), Stamp(milliseconds: 3_000_000_000_000)].enumerated().map {
        operation(
          80 + UInt32($0.offset),
          .setRegister(element: a(2), field: .name, value: .text(""), stamp: $0.element))
      }
    ),
    (
      "unknown fields", "A tag and a register whose numbers have no name yet are kept.",
      [
        operation(90, .addTag(element: a(2), field: TagField(rawValue: 200), clears: [], note: "")),
        operation(
          91,
          .setRegister(
            element: a(2), field: RegisterField(rawValue: 77), value: .number(.max), stamp: stamp)),
      ]
    ),
    (
      "columns", "Thirty single insertions before each other: too many for rows.",
      (0..<30).map { offset in
        insertion(a(100 + offset), nil, offset == 0 ? nil : a(99 + offset), "z")
      }
    ),
  ]

  private static let inboxSession: SessionID = {
    guard let session = try? SessionID("api-server") else {
      preconditionFailure("a plain name is an id")
    }
    return session
  }()

  private static let store = StoreID(rawValue: 0x5702_E000_0000_0001)
  private static let head = LogPrefix(position: 1_235, chain: 0x0123_4567_89AB_CDEF)

  static let commonFrames: [(name: String, description: String, frame: Frame)] = [
    (
      "pair", "A device redeems a code.",
      .pair(PairRequest(versions: 1...1, code: "BCDF-GHJK", device: device, deviceName: "laptop"))
    ),
    (
      "paired", "The token, shown once.",
      .paired(
        PairGrant(workspace: workspace, workspaceName: "home", device: device, token: token))
    ),
    (
      "hello", "A device that has 1234 entries of the log.",
      .hello(
        Hello(
          versions: 1...3, token: token, workspace: workspace, device: device, store: store,
          deviceName: "laptop", prefix: LogPrefix(position: 1_234, chain: 0xFEED_FACE_CAFE_BEEF)))
    ),
    (
      "hello/first", "A device that has nothing yet.",
      .hello(
        Hello(
          versions: 1...3, token: token, workspace: workspace, device: device, store: store,
          deviceName: "laptop", prefix: .empty))
    ),
    (
      "welcome", "The session begins; the log has one entry more than the device.",
      .welcome(
        Welcome(
          version: 1, head: head, nonce: 0x1122_3344_5566_7788,
          serverMilliseconds: 1_767_225_600_123, pingSeconds: 20, backoffMillisecondsMin: 500))
    ),
    (
      "refused", "A batch is refused for now.",
      .refused(
        Refusal(
          code: .storageFailed, message: "the disk is full", batch: 5,
          retryAfterMilliseconds: 2_000, serverMilliseconds: 1_767_225_600_123))
    ),
    (
      "refused/for good", "Trying again is pointless; the code is of a future version.",
      .refused(Refusal(code: RefusalCode(rawValue: 999), message: "no"))
    ),
    (
      "changes", "One typed character, as the 17th batch of a client.",
      .changes(
        Changes(batch: 17, delta: PackedDelta.pack([insertion(a(40), a(39), nil, "x")])))
    ),
    (
      "changes/from the log", "The same as entry 1235, for another device.",
      .changes(
        Changes(
          batch: 0, prefix: head, delta: PackedDelta.pack([insertion(a(40), a(39), nil, "x")])))
    ),
    ("ack", "The 17th batch is entry 1235.", .ack(Ack(batch: 17, prefix: head))),
    (
      "snapshot", "The second of three parts.",
      .snapshot(
        SnapshotPart(
          prefix: LogPrefix(position: 88, chain: 0xFEED_FACE_CAFE_BEEF), index: 1, count: 3,
          bytes: [1, 2, 3]))
    ),
    (
      "snapshot/offered", "A device offers its state.",
      .snapshot(SnapshotPart(index: 0, count: 1, bytes: [4]))
    ),
    (
      "request", "A request of kind 2.", .request(Request(id: 9, kind: 2, payload: [0xAA, 0xBB]))
    ),
    ("response", "Its answer.", .response(Response(id: 9, status: 0, payload: [0xCC]))),
    (
      "presence", "One device is connected, one is away.",
      .presence([
        DevicePresence(
          device: device, name: "laptop", isConnected: true, seenLogPosition: 1_235),
        DevicePresence(
          device: DeviceID(high: 1, low: 2), name: "phone ☎", isConnected: false,
          seenLogPosition: 0, lastSeenAt: 1_767_225_600_123),
      ])
    ),
    (
      "goAway", "The server stops.",
      .goAway(
        GoAway(
          reconnectAfterMillisecondsMin: 500, reconnectAfterMillisecondsMax: 5_000,
          reason: "restart"))
    ),
    ("error", "The peer broke the protocol.", .error(ProtocolFault(code: 3, message: "no hello"))),
    (
      "request/answer", "A device allows what it showed.",
      .request(
        AuthorityRequest.answer(
          AnswerRequest(
            session: .named("api"), request: RequestID(high: 1, low: 2), verdict: .allowed,
            digest: ContentHash(String(repeating: "1f", count: 32)))
        ).request(id: 10))
    ),
    (
      "request/verdict", "The host closes the request.",
      .request(
        AuthorityRequest.verdict(
          VerdictRequest(
            session: .named("api"), request: RequestID(high: 1, low: 2), closes: true)
        ).request(id: 11))
    ),
    (
      "response/answered already", "Another device answered first.",
      .response(
        AuthorityAnswer.answeredAlready(.allowed, by: DeviceID(high: 1, low: 2)).response(id: 10))
    ),
    (
      "response/verdict", "The answer that the request got.",
      .response(
        AuthorityAnswer.verdict(
          GivenVerdict(verdict: .answered, device: DeviceID(high: 1, low: 2), text: "the 2nd")
        ).response(id: 11))
    ),
    (
      "answered", "A device allowed the request.",
      .answered(
        AnsweredNotice(
          session: .named("api"), request: RequestID(high: 1, low: 2),
          given: GivenVerdict(
            verdict: .allowed, device: device, text: "go on",
            digest: ContentHash(String(repeating: "1f", count: 32)))))
    ),
    (
      "notification", "An agent asks for permission; the device was away.",
      .notification(
        InboxNotification(
          position: 41, name: OperationID(replica: alice, seq: 300), category: .approvalRequest,
          isMissed: true, session: inboxSession, request: RequestID(high: 7, low: 8),
          milliseconds: 1_767_225_600_123, title: "Approval Needed: Bash", body: "swift test"))
    ),
    (
      "notification/no request", "A thread needs its user; nothing is asked.",
      .notification(
        InboxNotification(
          position: 42, name: OperationID(replica: bob, seq: 1),
          category: NotificationCategory(rawValue: 5), isMissed: false, session: inboxSession,
          milliseconds: -1, title: "Your turn", body: ""))
    ),
    (
      "notification/merged message",
      "A message waits for a choice; its id takes the place of a request's.",
      .notification(
        InboxNotification(
          position: 43, name: OperationID(replica: bob, seq: 2), category: .messageMerged,
          isMissed: false, session: inboxSession, message: MessageID(high: 9, low: 10),
          milliseconds: 1, title: "Message Merged", body: "Bump the version to 3.0"))
    ),
    ("notified", "Everything up to this point is stored.", .notified(42)),
    (
      "access", "A viewer until the end of 2025.",
      .access(AccessNotice(role: .viewer, expiresAt: 1_767_225_599_999))
    ),
    (
      "access/without end", "An author whose access does not end.",
      .access(AccessNotice(role: .author, expiresAt: nil))
    ),
    ("unknown", "A frame of a future version that may be skipped.", .unknownOptional(type: 100)),
  ]

  /// All operations of a short session on two devices, as a server would send them on.
  static func sessionOfWork() throws -> Deltas.Element {
    (
      "session of work", "All operations of two devices: columns with two replicas.",
      try devices().operations
    )
  }

  /// The state after a short session on two devices.
  static func image() throws -> WorkspaceImage {
    try devices().workspace.image()
  }

  /// Turns "Fix number 2" into "Fix the 2nd number" with the operations of version 0.1.0. Later
  /// versions find other edits for the same change, and these bytes must stay.
  private static let editOfNumberTwo = [
    Operation(
      id: OperationID(replica: bob, seq: 2),
      body: .insertText(
        .init(message: a(18), origins: .init(left: a(22), right: a(23)), text: "the 2nd "))),
    Operation(
      id: OperationID(replica: bob, seq: 10),
      body: .deleteText(.init(message: a(18), first: a(29), count: 2))),
  ]

  private static func devices() throws -> (workspace: Workspace, operations: [Operation]) {
    var laptop = TestDevice(alice.rawValue)
    var phone = TestDevice(bob.rawValue)
    try phone.merge(laptop.made)
    let api = SessionID.named("api-server")
    for number in 1...3 {
      try laptop.perform(
        .send(
          Command.Send(
            session: api, id: .numbered(UInt64(number)), text: "Fix number \(number)",
            priority: number == 3 ? .urgent : .normal, project: "/home/me/api")))
    }
    try phone.merge(laptop.made)
    try phone.merge(editOfNumberTwo)
    // Nothing is paused, so the command changes nothing; it takes the time that the edit took.
    try phone.perform(.resume(api))
    try laptop.perform(.edit(.numbered(2), content: "fix number 2!", base: nil))
    try phone.perform(.move([.numbered(1)], to: .after(.numbered(2))))
    try phone.perform(.pause(api, reason: "lunch"))
    try laptop.perform(.cancel([.numbered(3)]))
    try laptop.perform(.addSession(.named("docs"), name: "Documents", project: nil))
    let ofPhone = (phone.made + editOfNumberTwo).sorted { $0.id < $1.id }
    try laptop.merge(ofPhone)
    return (laptop.workspace, laptop.made + ofPhone)
  }
}
