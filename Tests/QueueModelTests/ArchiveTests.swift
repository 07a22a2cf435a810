import DeltaCodec
import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// A session that a user archived leaves the lists, and nothing is lost; whatever uses it brings it back.
struct ArchiveTests {
  private static let session = SessionID.named("s")
  private static let host = DeviceID(high: 0xD, low: 1)

  /// A device with a session in which a message was done, whose thread waits for its user.
  private static func finished(_ device: inout TestDevice) throws {
    try device.perform(.send("old", as: 1, in: "s"))
    try device.perform(.setHost(session, host))
    try device.perform(report(.processing(operation: nil)))
    for phase in [RunPhase.dispatched, .succeeded] {
      try device.perform(
        .reportRun(
          .numbered(1),
          Run(token: 1, attempt: 1, phase: phase, milliseconds: device.now)))
    }
    try device.perform(report(.completed(.success(summary: "done"))))
    try device.perform(.pause(session, reason: "lunch"))
  }

  private static func report(_ status: TaskStatus) -> Command {
    .reportTask(TaskReport(session: session, status: status, milliseconds: 1_000))
  }

  private static func isArchived(_ device: TestDevice) -> Bool? {
    device.workspace.session(session)?.archived
  }

  @Test func everythingButItsPlaceInTheListsStays() throws {
    var device = TestDevice(1)
    try Self.finished(&device)
    #expect(device.workspace.threadNames == ["s"])
    #expect(try device.perform(.archive(Self.session)).notice == .done)
    #expect(try device.perform(.archive(Self.session)).notice == .unchanged)
    var other = TestDevice(2, now: device.now)
    try other.merge(device.made)
    try other.restoreFromSnapshot()
    for device in [device, other] {
      let session = try #require(device.workspace.session(Self.session))
      #expect(session.archived && session.paused && session.host == Self.host)
      #expect(device.workspace.threadNames == [])
      #expect(device.workspace.finishedMessages(of: Self.session).map(\.content) == ["old"])
    }
    let oracle = SlowWorkspace(device.made + other.made).state()
    #expect(oracle.differences(from: other.workspace) == [])
    #expect(try other.perform(.unarchive(Self.session)).notice == .done)
    #expect(try other.perform(.unarchive(Self.session)).notice == .unchanged)
    try device.merge(other.made)
    #expect(
      Self.isArchived(device) == false && device.workspace.session(Self.session)?.paused == true)
  }

  @Test func aSessionInWhichSomethingWaitsOrWorksIsNotArchived() throws {
    var device = TestDevice(1)
    try device.perform(.send("first", as: 1, in: "s"))
    try device.perform(.send("second", as: 2, in: "s"))
    let error = #expect(throws: QueueError.sessionInUse(session: "s", waiting: 2)) {
      try device.perform(.archive(Self.session))
    }
    #expect(
      error?.description.hasPrefix("2 messages wait in s, so it cannot be archived. ") == true)
    try device.perform(.clear(Self.session))
    for status in [
      TaskStatus.processing(operation: nil),
      .awaitingAnswer(
        UserQuestion(id: RequestID(high: 1, low: 3), question: "Which?", options: [])),
    ] {
      try device.perform(Self.report(status))
      #expect(throws: QueueError.sessionInUse(session: "s", waiting: 0)) {
        try device.perform(.archive(Self.session))
      }
    }
    try device.perform(Self.report(.completed(.cancelled)))
    try device.perform(.archive(Self.session))
    #expect(Self.isArchived(device) == true)
    #expect(throws: QueueError.sessionNotFound(id: "none")) {
      try device.perform(.archive(.named("none")))
    }
  }

  /// What a user or an agent does in an archived session, and whether it brings it back.
  private static let uses: [(command: Command, bringsBack: Bool)] = [
    (.send("next", as: 9, in: "s"), true), (.restore(.numbered(2)), true),
    (.addThreads([session]), true), (.requeueThread(session), true),
    (.setHost(session, nil), false),
    (.setHost(session, DeviceID(high: 0xD, low: 7)), true),
    (report(.processing(operation: nil)), true),
    (.addSession(session, name: nil, project: nil), true),
    (.renameSession(session, name: "S"), false),
    (.resume(session), false), (.pause(session, reason: nil), false),
  ]

  @Test(arguments: uses.indices)
  func aUseBringsItBack(index: Int) throws {
    var device = TestDevice(1)
    try Self.finished(&device)
    try device.perform(.send("cancelled", as: 2, in: "s"))
    try device.perform(.cancel([.numbered(2)]))
    try device.perform(.archive(Self.session))
    let (command, bringsBack) = Self.uses[index]
    try device.perform(command)
    #expect(Self.isArchived(device) == !bringsBack)
  }

  /// Both orders of arrival give the same, and whoever is later by the clock does not matter.
  @Test(arguments: uses.indices, [true, false])
  func aUseThatTheArchiveDidNotSeeKeepsItListed(index: Int, archiveIsLater: Bool) throws {
    let (command, bringsBack) = Self.uses[index]
    let archive: ConflictScenario.Action = { try $0.perform(.archive(Self.session)) }
    let use: ConflictScenario.Action = { try $0.perform(command) }
    // To add a session that exists writes nothing.
    let isKept = bringsBack && command != .addSession(Self.session, name: nil, project: nil)
    try ConflictScenario.verify(
      setup: { device in
        try Self.finished(&device)
        try device.perform(.send("cancelled", as: 2, in: "s"))
        try device.perform(.cancel([.numbered(2)]))
      }, authors: archiveIsLater ? [use, archive] : [archive, use]
    ) { #expect(Self.isArchived($0) == !isKept) }
  }

  /// The archive did not see the whole turn: its end is not hidden.
  @Test func aTurnThatTheArchiveDidNotSeeKeepsItListedUntilItIsRead() throws {
    try ConflictScenario.verify(
      setup: { try $0.perform(.addSession(Self.session, name: nil, project: nil)) },
      authors: [
        { try $0.perform(.archive(Self.session)) },
        { try Self.finished(&$0) },
      ]
    ) { device in
      #expect(Self.isArchived(device) == false)
      try device.perform(.removeThreads([Self.session]))
      #expect(Self.isArchived(device) == false)
    }
  }

  @Test func archivingMeets() throws {
    let setup: ConflictScenario.Action = { try Self.finished(&$0) }
    let archive: ConflictScenario.Action = { try $0.perform(.archive(Self.session)) }
    try ConflictScenario.verify(setup: setup, authors: [archive, archive]) {
      #expect(Self.isArchived($0) == true)
      try $0.perform(.unarchive(Self.session))
      #expect(Self.isArchived($0) == false)
    }
    // The deletion did not see it: nothing that was put away is lost.
    try ConflictScenario.verify(
      setup: setup, authors: [archive, { try $0.perform(.deleteSession(Self.session)) }]
    ) { #expect(Self.isArchived($0) == true) }
    try ConflictScenario.verify(
      setup: { device in
        try setup(&device)
        try device.perform(.archive(Self.session))
      },
      authors: [
        { try $0.perform(.unarchive(Self.session)) },
        { device in
          try device.perform(.unarchive(Self.session))
          try device.perform(.archive(Self.session))
        },
      ]
    ) { #expect(Self.isArchived($0) == false) }
  }

  @Test func undoAndRedoOfAnArchive() throws {
    var device = TestDevice(1)
    try Self.finished(&device)
    try device.perform(.archive(Self.session))
    try device.perform(.undo)
    #expect(Self.isArchived(device) == false && device.workspace.threadNames == ["s"])
    try device.perform(.redo)
    #expect(Self.isArchived(device) == true && device.workspace.threadNames == [])
    try device.perform(.unarchive(Self.session))
    try device.perform(.undo)
    #expect(Self.isArchived(device) == true)
    try device.restart()
    // A send into it brought it back; without the send it is archived as before.
    try device.perform(.send("next", as: 9, in: "s"))
    #expect(Self.isArchived(device) == false)
    try device.perform(.undo)
    #expect(Self.isArchived(device) == true && device.workspace.status(9) == .cancelled)
    try device.perform(.redo)
    #expect(Self.isArchived(device) == false && device.workspace.numbers("s") == [9])
  }

  /// Without a connection, too, an undo of an archive pauses nothing: it starts nothing.
  @Test func anUndoneArchiveIsNotPaused() throws {
    var device = TestDevice(1)
    try Self.finished(&device)
    try device.perform(.resume(Self.session))
    try device.perform(.archive(Self.session))
    device.apart = Apartness()
    let done = try device.perform(.undo).notice.undoResult
    #expect(done?.paused == [] && Self.isArchived(device) == false)
  }

  /// What another device sent meanwhile stays in the lists.
  @Test func anUndoDoesNotArchiveWhatOthersUse() throws {
    var one = TestDevice(1)
    try Self.finished(&one)
    try one.perform(.archive(Self.session))
    try one.perform(.send("mine", as: 8, in: "s"))
    var other = TestDevice(2, now: one.now)
    try other.merge(one.made)
    try other.perform(.send("yours", as: 9, in: "s"))
    try one.merge(other.made)
    try one.perform(.undo)
    #expect(one.workspace.numbers("s") == [9] && Self.isArchived(one) == false)
    try one.perform(.cancel([.numbered(9)]))
    #expect(Self.isArchived(one) == false)
  }

  @Test func exportAndImportCarryIt() throws {
    var device = TestDevice(1)
    try Self.finished(&device)
    try device.perform(.archive(Self.session))
    let document = device.workspace.document()
    #expect(document.sessions.map(\.archived) == [true])
    var elsewhere = TestDevice(3)
    try elsewhere.perform(.importDocument(document))
    #expect(Self.isArchived(elsewhere) == true)
    // Where it is used, it stays listed.
    var used = TestDevice(4)
    try used.perform(.send("waits", as: 7, in: "s"))
    try used.perform(.importDocument(document))
    #expect(Self.isArchived(used) == false)
  }

  @Test func theLogNamesIt() throws {
    var device = TestDevice(1)
    try Self.finished(&device)
    let before = device.made.count
    try device.perform(.archive(Self.session))
    try device.perform(.unarchive(Self.session))
    try device.perform(.archive(Self.session))
    try device.perform(.send("next", as: 9, in: "s"))
    let log = device.workspace.history(of: Array(device.made.dropFirst(before)))
    #expect(log.map(\.action.name) == ["archived", "unarchived", "archived", "queued"])
    #expect(log.allSatisfy { $0.session == Self.session })
  }
}
