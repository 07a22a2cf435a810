import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Every stretch of typing ends with an edition. Text that is typed without seeing the others'
/// waits for a check, like a save; text that is typed together does not.
struct TypingEditionTests {
  static let id = MessageID.numbered(1)

  /// Two devices that know the same message, which has a host.
  struct Pair {
    var one = TestDevice(1)
    var other: TestDevice
    /// How many operations of each the other one has.
    private var passed = (0, 0)

    init(_ text: String = "Deploy", saved: String? = nil) throws {
      try one.perform(.send(text, as: 1, in: "s", requeues: false))
      try one.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
      if let saved { try one.perform(.edit(id, content: saved, base: nil)) }
      other = TestDevice(2, now: one.now)
      try meet()
      #expect(one.startable == id && other.startable == id)
    }

    /// From now on, both are connected to each other.
    mutating func connect() { (one.connection, other.connection) = (1, 1) }

    mutating func meet() throws {
      let made = (one.made, other.made)
      try one.merge(Array(made.1[passed.1...]))
      try other.merge(Array(made.0[passed.0...]))
      passed = (made.0.count, made.1.count)
      (one.now, other.now) = (max(one.now, other.now), max(one.now, other.now))
    }

    func expect(
      _ content: String, versions: [String], _ location: SourceLocation = #_sourceLocation
    ) throws {
      for device in [one, other] {
        #expect(try device.message.content == content, sourceLocation: location)
        let shown = try device.message.versions.compactMap(\.text)
        #expect(Set(shown) == Set(versions), sourceLocation: location)
        #expect((device.startable == nil) == !versions.isEmpty, sourceLocation: location)
        try device.workspace.checkInvariants()
      }
    }
  }

  // MARK: - Offline and together

  @Test func typingOfflineAndAnEditAreMarked() throws {
    for saved in [nil, "Deploy it"] {
      var pair = try Pair(saved: saved)
      let base = saved ?? "Deploy"
      try pair.one.type(" on Monday")
      try pair.other.perform(.edit(Self.id, content: base + " to staging", base: nil))
      // A stretch that was typed offline ends before it is sent.
      try pair.one.endTyping()
      try pair.meet()
      let content = try pair.one.message.content
      try pair.expect(content, versions: [base + " on Monday", base + " to staging"])
      // After a check, it starts.
      try pair.other.perform(.edit(Self.id, content: base + " on Monday", base: nil))
      try pair.meet()
      try pair.expect(base + " on Monday", versions: [])
    }
  }

  @Test func typingApartIsMarked() throws {
    var pair = try Pair(saved: "Deploy it")
    try pair.one.type(" now")
    try pair.other.type(" later")
    try pair.one.endTyping()
    try pair.other.endTyping()
    try pair.meet()
    try pair.expect(
      pair.one.message.content, versions: ["Deploy it now", "Deploy it later"])
  }

  /// They see each other's letters, so these merge letter by letter, whichever device ends first.
  @Test(arguments: [true, false])
  func typingTogetherIsNotMarked(theOneEndsFirst: Bool) throws {
    var pair = try Pair(saved: "Deploy")
    pair.connect()
    for (mine, its) in zip(" today", " noted") {
      try pair.one.type(String(mine))
      try pair.meet()
      try pair.other.type(String(its), at: 0)
      try pair.meet()
    }
    if theOneEndsFirst {
      try pair.one.endTyping()
      try pair.meet()
      try pair.other.endTyping()
    } else {
      try pair.other.endTyping()
      try pair.meet()
      try pair.one.endTyping()
    }
    try pair.meet()
    try pair.expect(pair.one.message.content, versions: [])
    #expect(try pair.one.workspace.editBase(Self.id).editionCount == 1)
  }

  /// Two pauses at the same moment: both editions hold all letters, and there is nothing to check.
  @Test func twoPausesAtOnceAreNotMarked() throws {
    var pair = try Pair()
    pair.connect()
    try pair.one.type(" now")
    try pair.other.type("Please: ", at: 0)
    try pair.meet()
    try pair.one.endTyping()
    try pair.other.endTyping()
    try pair.meet()
    try pair.expect("Please: Deploy now", versions: [])
    // Further typing needs no check.
    try pair.one.type("!")
    try pair.one.endTyping()
    try pair.meet()
    try pair.expect("Please: Deploy now!", versions: [])
  }

  /// A save that arrives while a connected user types is seen; a save that arrives after the pause
  /// is not known.
  @Test(arguments: [true, false])
  func anEditMeetsTypingThatIsConnected(isDuring: Bool) throws {
    var pair = try Pair(saved: "Deploy it")
    pair.one.connection = 1
    try pair.other.perform(.edit(Self.id, content: "Deploy it to staging", base: nil))
    try pair.one.type(" now")
    if isDuring { try pair.meet() }
    try pair.one.endTyping()
    try pair.meet()
    try pair.expect(
      pair.one.message.content,
      versions: isDuring ? [] : ["Deploy it to staging", "Deploy it now"])
  }

  /// A user who was offline for one letter of a stretch has not seen what arrived meanwhile.
  @Test(arguments: [[1, nil], [nil, 1], [1, 2]] as [[UInt64?]])
  func aStretchThatWasApartOnceClearsWhatItSaw(_ connections: [UInt64?]) throws {
    var pair = try Pair(saved: "Deploy it")
    try pair.other.perform(.edit(Self.id, content: "Deploy it to staging", base: nil))
    for (letters, connection) in zip([" n", "ow"], connections) {
      pair.one.connection = connection
      try pair.one.type(letters)
    }
    let typed = try pair.one.message.content
    try pair.meet()
    try pair.one.endTyping()
    try pair.meet()
    #expect(typed == "Deploy it now")
    #expect(try pair.one.message.isMerged && pair.other.message.isMerged)
  }

  // MARK: - Where a stretch ends

  /// A stretch ends with a pause, a command or a different text; not with the next letter.
  @Test func anotherCommandEndsAStretch() throws {
    var one = TestDevice(1)
    try one.perform(.send("a", as: 1, in: "s"))
    try one.perform(.send("b", as: 2, in: "s"))
    try one.type("b")
    try one.type("c")
    #expect(one.editionNotes == [])
    try one.perform(.insertText(.numbered(2), at: 0, text: "x"))
    #expect(one.editionNotes == ["abc"])
    try one.perform(.pause(.named("s"), reason: nil))
    #expect(one.editionNotes == ["abc", "xb"])
    try one.type("d")
    one.now += Limits.typingPauseMillisecondsMax + 1
    try one.type("e")
    #expect(one.editionNotes == ["abc", "xb", "abcd"])
    try one.perform(.edit(Self.id, content: "abcdef", base: nil))
    #expect(one.editionNotes == ["abc", "xb", "abcd", "abcde", "abcdef"])
    #expect(try one.workspace.editBase(Self.id).editionCount == 1)
    // Nothing is open, so nothing ends.
    try one.endTyping()
    #expect(one.editionNotes.count == 5)
    // A refused command ends nothing.
    try one.type("g")
    #expect(throws: QueueError.self) { try one.perform(.cancel([.numbered(9)])) }
    #expect(one.editionNotes.count == 5 && one.history.openTyping != nil)
    // A change that no user made ends nothing.
    var context = CommandContext(
      replica: one.replica, stamp: one.workspace.latestStamp, recordsUndo: false)
    context.connection = nil
    var (workspace, history) = (one.workspace, one.history)
    _ = try workspace.perform(.pause(.named("s"), reason: "x"), in: context, history: &history)
    #expect(history.openTyping != nil)
  }

  /// A user who never pauses gets a version each minute, and one after a number of characters.
  @Test(arguments: [1, 40])
  func typingWithoutAPauseIsSavedNowAndThen(atOnce: Int) throws {
    var one = TestDevice(1)
    try one.perform(.send("a", as: 1, in: "s"))
    let start = one.now
    var typed = 0
    while one.now < start + 125_000 {
      try one.type(String(repeating: "x", count: atOnce))
      typed += atOnce
      one.now += 900
    }
    let byTime = 2
    let bySize = typed / 2_000
    #expect(
      one.editionNotes.count >= max(byTime, bySize) && one.editionNotes.count <= byTime + bySize)
    #expect(one.history.openTyping != nil)
    #expect(one.liveEditions.count == 1)
  }

  /// If a process ends in the middle of a stretch, the next one ends the stretch.
  @Test func aCrashInAStretchIsMarked() throws {
    for sendsBefore in [false, true] {
      var pair = try Pair(saved: "Deploy it")
      pair.one.connection = 1
      try pair.one.type(" now")
      // Its letters may have been sent.
      if sendsBefore {
        try pair.other.merge(pair.one.made)
        #expect(try pair.other.message.content == "Deploy it now")
      }
      try pair.other.perform(.edit(Self.id, content: "Deploy it to staging", base: nil))
      try pair.one.restart()
      #expect(
        pair.one.history.openTyping
          == TypingStretch(seen: pair.one.liveEditions, connection: nil))
      try pair.one.endTyping()
      try pair.meet()
      #expect(pair.one.history.openTyping == nil)
      #expect(try pair.one.message.isMerged && pair.other.message.isMerged)
      #expect(try pair.one.message.versions.map(\.text).contains("Deploy it now"))
    }
  }

  /// A user who types in a merged text has checked it.
  @Test func typingInAMergedTextSettlesIt() throws {
    var pair = try Pair("Use a file")
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    try pair.meet()
    try pair.one.type("!")
    #expect(pair.one.startable == nil)
    try pair.one.endTyping()
    try pair.meet()
    try pair.expect(pair.one.message.content, versions: [])
    try pair.one.perform(.undo)
    try pair.meet()
    #expect(try pair.one.message.versions.map(\.text) == ["Use SQLite", "Use MySQL"])
    #expect(pair.one.startable == nil && pair.other.startable == nil)
  }

  /// A finished message gets an edition, since the letters may be too late. A forgotten message
  /// gets none, but the stretch still ends.
  @Test(arguments: [false, true])
  func forgottenMessagesGetNoEdition(isForgotten: Bool) throws {
    var one = TestDevice(1)
    try one.perform(.send("Deploy", as: 1, in: "s"))
    try one.type(" now")
    _ = try one.author { workspace, context throws(QueueError) in
      try workspace.perform(
        .reportRun(
          Self.id, Run(token: 1, attempt: 1, phase: .succeeded, milliseconds: context.time)),
        in: context)
    }
    if isForgotten {
      _ = try one.author { workspace, context throws(QueueError) in
        try workspace.forget([Self.id], in: context)
      }
    }
    try one.endTyping()
    #expect(one.editionNotes == (isForgotten ? [] : ["Deploy now"]))
    #expect(try one.history.openTyping == nil && one.message.lateVersions == [])
  }

  // MARK: - Undo

  /// An undo of typing adds an edition, too, and clears that of the typing.
  @Test(arguments: [true, false])
  func undoneTypingMeetsAnEdit(hasPaused: Bool) throws {
    var pair = try Pair()
    try pair.one.type(" now")
    if hasPaused { try pair.one.endTyping() }
    try pair.one.perform(.undo)
    #expect(try pair.one.message.content == "Deploy")
    try pair.other.perform(.edit(Self.id, content: "Deploy to staging", base: nil))
    try pair.meet()
    try pair.expect("Deploy to staging", versions: ["Deploy", "Deploy to staging"])
  }

  /// A long stretch has more than one undo change; the rest of it is a version.
  @Test(arguments: [nil, "Deploy"] as [String?])
  func theRestOfALongStretchIsAVersion(saved: String?) throws {
    var one = TestDevice(1)
    try one.perform(.send("Deploy it", as: 1, in: "s"))
    if let saved { try one.perform(.edit(Self.id, content: saved, base: nil)) }
    let before = try one.message.content
    for _ in 0..<12 { try one.type(String(repeating: "x", count: 50)) }
    try one.endTyping()
    try one.perform(.undo)
    let rest = try one.message.content
    #expect(rest.count > before.count && rest.count < before.count + 600)
    #expect(one.liveEditions.count == 1 && one.editionNotes.last == rest)
    try one.perform(.undo)
    #expect(try one.message.content == before)
    #expect(one.liveEditions.count == 1 && one.editionNotes.last == before)
    for _ in 0..<2 { try one.perform(.redo) }
    #expect(try one.message.content.count == before.count + 600)
    #expect(try one.editionNotes.last == one.message.content)
    #expect(one.liveEditions.count == 1)
  }

  /// Others' typing keeps the undo changes apart. The last one has the edition, and undoing an
  /// earlier one adds an edition of its own.
  @Test func everyUndoOfAStretchIsAnEdition() throws {
    var pair = try Pair("Deploy")
    pair.connect()
    try pair.one.type(" n")
    try pair.meet()
    try pair.other.type("x", at: 0)
    try pair.meet()
    try pair.one.type("ow")
    #expect(pair.one.history.undoable.suffix(2).map { $0.change.typing != nil } == [false, true])
    for _ in 0..<2 { try pair.one.perform(.undo) }
    #expect(try pair.one.message.content == "xDeploy")
    #expect(try pair.one.workspace.editBase(Self.id).editionCount == 1)
    #expect(pair.one.editionNotes.last == "xDeploy")
  }
}

extension TestDevice {
  fileprivate var message: MessageView {
    get throws { try workspace.message(TypingEditionTests.id) }
  }
  fileprivate var startable: MessageID? { workspace.startable(in: .named("s"))?.message }
  fileprivate var liveEditions: [OperationID] {
    (try? workspace.editBase(TypingEditionTests.id).editions) ?? []
  }

  /// Types at the end of the message, or at a place.
  fileprivate mutating func type(_ text: String, at place: Int? = nil) throws {
    let end = try message.content.unicodeScalars.count
    try perform(.insertText(TypingEditionTests.id, at: place ?? end, text: text))
  }

  /// The texts of the editions that it made, in order.
  fileprivate var editionNotes: [String] {
    made.compactMap {
      guard case .addTag(_, .edition, _, let note) = $0.body else { return nil }
      return Edition(note: note).wholeText
    }
  }
}

extension EditBase {
  fileprivate var editionCount: Int { editions.count }
}
