import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// An undo or a redo of a text change never makes an unmarked text that no user wrote. If another
/// user saved or chose a text over it, it is refused.
struct UndoneTextTests {
  private static let id = MessageID.numbered(1)

  /// Devices that know one message, whose session has no host among them.
  private struct Devices {
    var all: [TestDevice]
    /// Operations of each that the others have.
    private var passed: [Int]

    init(_ count: Int, _ text: String, saved: String? = nil) throws {
      all = (1...count).map { TestDevice(UInt64($0)) }
      passed = all.map { _ in 0 }
      try all[0].perform(.send(text, as: 1, in: "s", requeues: false))
      try all[0].perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 9)))
      if let saved { try all[0].perform(.edit(id, content: saved, base: nil)) }
      try meet()
    }

    mutating func meet() throws {
      let made = all.map(\.made)
      let now = all.map(\.now).max() ?? 0
      for index in all.indices {
        for other in all.indices where other != index {
          try all[index].merge(Array(made[other][passed[other]...]))
        }
        // No two devices save in the same millisecond.
        all[index].now = now + Int64(100 * index)
      }
      passed = made.map(\.count)
      for device in all {
        #expect(device.workspace.image() == all[0].workspace.image())
        try device.workspace.checkInvariants()
      }
    }

    mutating func edit(_ index: Int, _ text: String) throws {
      try all[index].perform(.edit(id, content: text, base: nil))
    }

    func content(_ index: Int = 0) throws -> String {
      try all[index].workspace.message(id).content
    }

    /// It is refused, with a sentence and the command for a different text, and nothing changes.
    mutating func expectRefused(
      _ index: Int, _ command: Command = .undo, _ location: SourceLocation = #_sourceLocation
    ) throws {
      let before = all[index].workspace.image()
      let next = all[index].workspace.next(of: all[index].history, isUndone: command == .redo)
      do {
        _ = try all[index].perform(command)
        Issue.record("it was done: \(try content(index))", sourceLocation: location)
      } catch QueueError.notUndoable(_, let obstacle) {
        let word = UndoneTextTests.id.description.prefix(8)
        let wanted = UndoObstacle.overtaken(remedy: "cospool queue edit \(word)")
        #expect(obstacle == wanted, sourceLocation: location)
        #expect(next?.obstacle == obstacle, sourceLocation: location)
      }
      #expect(all[index].workspace.image() == before, sourceLocation: location)
    }
  }

  // MARK: - Saved over

  @Test(arguments: [
    ["alpha beta", "gamma delta", "one two"],
    ["fix the test now", "fix the bug now", "fix the docs now"],
  ])
  func textsReplacedByAnotherSaveAreNotUndone(_ texts: [String]) throws {
    var devices = try Devices(2, texts[0])
    try devices.edit(0, texts[1])
    try devices.meet()
    try devices.edit(1, texts[2])
    try devices.meet()
    try devices.expectRefused(0)
    #expect(try devices.content() == texts[2])
    // The user who saved last can undo that.
    try devices.all[1].perform(.undo)
    try devices.meet()
    #expect(try devices.content() == texts[1])
    // The user's own text is there again.
    try devices.all[0].perform(.undo)
    try devices.meet()
    #expect(try devices.content() == texts[0])
  }

  @Test func textsReplacedByAnotherSaveAreNotRedone() throws {
    var devices = try Devices(2, "alpha beta")
    try devices.edit(0, "gamma delta")
    try devices.all[0].perform(.undo)
    try devices.meet()
    try devices.edit(1, "one two")
    try devices.meet()
    try devices.expectRefused(0, .redo)
    #expect(try devices.content() == "one two")
  }

  /// The user whose text was not chosen, whichever text was chosen.
  @Test(arguments: ["bump to 1.3", "merged"])
  func textsReplacedByAnothersChoiceAreNotUndone(choice: String) throws {
    var devices = try Devices(2, "bump to 1.2")
    try devices.edit(0, "bump to 1.3")
    try devices.edit(1, "bump to 2.0")
    try devices.meet()
    let chosen = choice == "merged" ? try devices.content() : choice
    try devices.edit(0, chosen)
    try devices.meet()
    try devices.expectRefused(1)
    #expect(try devices.content(1) == chosen)
    // The user who made the choice undoes it; then each version belongs to its author again.
    try devices.all[0].perform(.undo)
    try devices.meet()
    #expect(try devices.all[1].workspace.message(Self.id).isMerged)
    try devices.all[1].perform(.undo)
    try devices.meet()
    #expect(try devices.content() == "bump to 1.3")
    #expect(try !devices.all[0].workspace.message(Self.id).isMerged)
  }

  @Test func aTextThatSomebodyElseChoseIsTheirs() throws {
    var devices = try Devices(2, "deploy to staging only")
    try devices.edit(0, "deploy to production")
    try devices.edit(1, "do not deploy")
    try devices.meet()
    try devices.edit(1, "deploy to production")
    try devices.meet()
    try devices.expectRefused(0)
    #expect(try devices.content() == "deploy to production")
  }

  @Test func undoesOfBothOverAChoiceMakeNoOtherText() throws {
    var devices = try Devices(2, "alpha beta")
    try devices.edit(0, "gamma delta")
    try devices.edit(1, "one two")
    try devices.meet()
    try devices.edit(0, "one two")
    try devices.meet()
    try devices.expectRefused(1)
    try devices.all[0].perform(.undo)
    #expect(try devices.all[0].workspace.message(Self.id).isMerged)
    try devices.all[0].perform(.undo)
    #expect(try devices.content() == "one two")
    try devices.meet()
    try devices.expectRefused(1)
    #expect(try devices.content(1) == "one two")
  }

  @Test func anEditBeforeACancelIsOvertakenAsWell() throws {
    var devices = try Devices(2, "alpha beta")
    try devices.edit(0, "gamma")
    try devices.all[0].perform(.cancel([Self.id]))
    try devices.meet()
    try devices.all[1].perform(.restore(Self.id))
    try devices.edit(1, "delta")
    try devices.meet()
    try devices.all[0].perform(.undo(change: nil, skip: true))
    try devices.expectRefused(0)
    #expect(try devices.content() == "delta")
  }

  /// An older change of one's own is refused as well, by its number, and so is one before a skipped
  /// change.
  @Test(arguments: [false, true])
  func anOlderTextOfOnesOwnIsOvertaken(isSkipped: Bool) throws {
    var devices = try Devices(1, "alpha beta")
    try devices.edit(0, "gamma delta")
    let number = try #require(devices.all[0].history.undoable.last?.number)
    try devices.edit(0, "one two")
    if isSkipped { try devices.all[0].perform(.undo(change: nil, skip: true)) }
    #expect(throws: QueueError.self) {
      try devices.all[0].perform(.undo(change: number, skip: false))
    }
    #expect(try devices.content() == "one two")
  }

  /// A stretch of typing has more than one change; the last one has the edition.
  @Test func aPartOfAStretchThatSomebodySavedOverStays() throws {
    var devices = try Devices(2, "alpha beta")
    for _ in 0..<12 {
      let end = try devices.content().unicodeScalars.count
      try devices.all[0].perform(
        .insertText(Self.id, at: end, text: String(repeating: "x", count: 50)))
    }
    try devices.all[0].endTyping()
    try devices.all[0].perform(.undo)
    try devices.meet()
    try devices.edit(1, "one two")
    try devices.meet()
    try devices.expectRefused(0)
    try devices.expectRefused(0, .redo)
    #expect(try devices.content() == "one two")
  }

  // MARK: - Undone by all

  @Test(arguments: [2, 3])
  func aTextThatAllSavedCannotBeUndone(count: Int) throws {
    var devices = try Devices(count, "alpha beta")
    for index in 0..<count { try devices.edit(index, "gamma delta") }
    try devices.meet()
    for index in 0..<count {
      try devices.expectRefused(index)
      #expect(try devices.content(index) == "gamma delta")
    }
  }

  /// the last one gets the report that its undo takes nothing back.
  @Test(arguments: [nil, "the base"] as [String?])
  func undoesOneBehindTheOtherSayWhatTheyDo(saved: String?) throws {
    var devices = try Devices(2, "alpha beta", saved: saved)
    try devices.edit(0, "gamma delta")
    try devices.edit(1, "one two")
    try devices.meet()
    try devices.all[0].perform(.undo)
    try devices.meet()
    guard let saved else {
      #expect(try devices.content() == "one two")
      return try devices.expectRefused(1)
    }
    #expect(try devices.all[1].workspace.message(Self.id).isMerged)
    try devices.all[1].perform(.undo)
    try devices.meet()
    #expect(try devices.content() == saved)
    #expect(try !devices.all[0].workspace.message(Self.id).isMerged)
  }

  @Test func theOthersOfThreeTextsWaitForAChoice() throws {
    var devices = try Devices(3, "alpha beta")
    for (index, text) in ["gamma delta", "one two", "red green"].enumerated() {
      try devices.edit(index, text)
    }
    try devices.meet()
    try devices.expectRefused(0)
    #expect(try devices.all[0].workspace.message(Self.id).isMerged)
    // Two users who saved one text count as one.
    devices = try Devices(3, "alpha beta")
    for (index, text) in ["gamma delta", "one two", "one two"].enumerated() {
      try devices.edit(index, text)
    }
    try devices.meet()
    try devices.all[0].perform(.undo)
    try devices.meet()
    #expect(try devices.content() == "one two")
    #expect(try !devices.all[2].workspace.message(Self.id).isMerged)
  }

  /// An undo adds an edition, even if the other's saved letters are left: a concurrent choice then
  /// conflicts with it.
  @Test(arguments: [
    ["Use a file", "Use a file and a cache", "Now use a file"],
    ["the quick fox", "the slow fox", "the red fox"],
  ])
  func anUndoAndAChoiceThatDoNotKnowOfEachOtherAreMarked(_ texts: [String]) throws {
    var devices = try Devices(2, texts[0])
    try devices.edit(0, texts[1])
    try devices.edit(1, texts[2])
    try devices.meet()
    try devices.all[0].perform(.undo)
    try devices.edit(1, texts[1])
    try devices.meet()
    let message = try devices.all[0].workspace.message(Self.id)
    #expect(message.isMerged || texts.contains(message.content), "\(message.content)")
    #expect(Set(message.versions.compactMap(\.text)) == Set(texts[1...]))
  }

  // MARK: - Names

  /// The name of a message that ran is the text that its agent got.
  @Test(arguments: [RunPhase.running, .succeeded, .failed])
  func aMessageThatRanIsNamedByTheTextOfItsAttempt(phase: RunPhase) throws {
    var devices = try Devices(2, "orig two")
    func report(_ phase: RunPhase) throws {
      let now = devices.all[1].now
      try devices.all[1].perform(
        .reportRun(Self.id, Run(token: 1, attempt: 1, phase: phase, milliseconds: now)))
    }
    try devices.edit(0, "late two")
    try report(.running)
    let before = devices.all[1].workspace
    try devices.all[1].merge(devices.all[0].made)
    let ran = RanText.changed(
      from: before, to: devices.all[1].workspace, among: [Self.id],
      on: DeviceID(high: 0xD, low: 2))
    try #require(ran.count == 1)
    _ = try devices.all[1].author { workspace, context throws(QueueError) in
      try RanText.keep(ran, in: &workspace, context)
    }
    if phase != .running { try report(phase) }
    try devices.all[0].merge(devices.all[1].made)
    let next = devices.all[0].workspace.next(of: devices.all[0].history, isUndone: false)
    let said = "\(next?.obstacle?.description ?? "")"
    #expect(said.contains("\"orig two\"") && !said.contains("late"), "\(said)")
  }

  /// The name of a change is the visible text.
  @Test func aChangeOfOneTextIsCalledByIt() throws {
    var devices = try Devices(3, "alpha beta")
    let text = "gamma delta epsilon"
    for index in 0..<3 { try devices.edit(index, text) }
    try devices.meet()
    try devices.all[0].perform(.cancel([Self.id]))
    try devices.all[0].perform(.restore(Self.id))
    let label = devices.all[0].workspace.next(of: devices.all[0].history, isUndone: false)?.label
    #expect(label?.description == "restoring \"\(text)\" in s")
  }
}
