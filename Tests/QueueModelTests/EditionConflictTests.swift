import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Concurrent changes to one text by two devices, in both orders of arrival: the rows about
/// editions in the table of conflicts. `TypingEditionTests` has the rows about typing.
struct EditionConflictTests {
  static let id = MessageID.numbered(1)

  /// Two devices that know a message and its changes so far, and are offline from then on.
  private struct Pair {
    var one = TestDevice(1)
    var other = TestDevice(2)

    /// - Parameter isMerged: whether its text was merged from two that were saved independently.
    init(isMerged: Bool) throws {
      try one.perform(.send("Use a file", as: 1, in: "s"))
      try one.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
      (other.now, _) = (one.now, try other.merge(one.made))
      if isMerged {
        try one.perform(.edit(id, content: "Use SQLite", base: nil))
        try other.perform(.edit(id, content: "Use MySQL", base: nil))
        try meet()
        #expect(try one.workspace.message(id).isMerged)
      }
    }

    mutating func meet() throws {
      let made = (one.made, other.made)
      try one.merge(made.1)
      try other.merge(made.0)
      (one.now, other.now) = (max(one.now, other.now), max(one.now, other.now))
    }

    func expect(
      _ status: MessageStatus, versions: [String], _ location: SourceLocation = #_sourceLocation
    ) throws {
      #expect(one.workspace.image() == other.workspace.image(), sourceLocation: location)
      for device in [one, other] {
        let message = try device.workspace.message(id)
        #expect(message.status == status, sourceLocation: location)
        #expect(message.versions.map(\.text) == versions, sourceLocation: location)
        let isNext = device.workspace.startable(in: .named("s"))?.message == id
        #expect(isNext == (status == .queued && versions.isEmpty), sourceLocation: location)
      }
    }
  }

  @Test func editAndEdit() throws {
    var pair = try Pair(isMerged: false)
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    try pair.meet()
    try pair.expect(.queued, versions: ["Use SQLite", "Use MySQL"])
  }

  /// If both saved one new text, the message has that text, though its letters are there twice.
  @Test(arguments: ["Run the tests", "Use a file, then stop"])
  func editAndEditToOneText(text: String) throws {
    var pair = try Pair(isMerged: false)
    try pair.one.perform(.edit(Self.id, content: text, base: nil))
    try pair.other.perform(.edit(Self.id, content: text, base: nil))
    try pair.meet()
    try pair.expect(.queued, versions: [])
    #expect(try pair.other.workspace.message(Self.id).content == text)
  }

  /// With one text there is nothing to check; with two, the choice is needed again.
  @Test(arguments: ["Use MySQL", "Use SQLite"])
  func choiceAndChoice(other: String) throws {
    var pair = try Pair(isMerged: true)
    try pair.one.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    try pair.other.perform(.edit(Self.id, content: other, base: nil))
    try pair.meet()
    let isSame = other == "Use MySQL"
    try pair.expect(.queued, versions: isSame ? [] : ["Use MySQL", "Use SQLite"])
    #expect(try !isSame || pair.one.workspace.message(Self.id).content == other)
  }

  @Test func choiceAndEdit() throws {
    var pair = try Pair(isMerged: true)
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Use Postgres", base: nil))
    try pair.meet()
    try pair.expect(.queued, versions: ["Use SQLite", "Use Postgres"])
  }

  /// An earlier edit of a device that knew of no merged text.
  @Test func choiceAndAnEditOfBefore() throws {
    var pair = try Pair(isMerged: false)
    var third = TestDevice(3, now: pair.one.now)
    try third.merge(pair.one.made)
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    try pair.meet()
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    third.now = pair.one.now
    try third.perform(.edit(Self.id, content: "Use Redis", base: nil))
    try pair.one.merge(third.made)
    try pair.other.merge(third.made)
    try pair.meet()
    try pair.expect(.queued, versions: ["Use SQLite", "Use Redis"])
  }

  /// A message that was granted before the other save arrived runs with the granted text. If it
  /// fails, it waits for a check before it is tried again.
  @Test func mergedAndAStart() throws {
    var pair = try Pair(isMerged: false)
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    func report(_ phase: RunPhase) throws {
      try pair.one.perform(
        .reportRun(Self.id, Run(token: 1, attempt: 1, phase: phase, milliseconds: pair.one.now)))
    }
    try report(.running)
    try pair.meet()
    try pair.expect(.running, versions: [])
    try report(.failed)
    try pair.one.perform(.retry(Self.id))
    try pair.meet()
    try pair.expect(.queued, versions: ["Use SQLite", "Use MySQL"])
  }

  /// It is cancelled; after a restore it waits as before.
  @Test func mergedAndACancel() throws {
    var pair = try Pair(isMerged: false)
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    try pair.other.perform(.cancel([Self.id]))
    try pair.meet()
    try pair.expect(.cancelled, versions: ["Use SQLite", "Use MySQL"])
    try pair.one.perform(.restore(Self.id))
    try pair.meet()
    try pair.expect(.queued, versions: ["Use SQLite", "Use MySQL"])
  }

  /// One device chooses and the other cancels: the message is withdrawn, and after a restore it
  /// starts with the choice.
  @Test func choiceAndACancel() throws {
    var pair = try Pair(isMerged: true)
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.cancel([Self.id]))
    try pair.meet()
    try pair.expect(.cancelled, versions: [])
    try pair.other.perform(.restore(Self.id))
    try pair.meet()
    try pair.expect(.queued, versions: [])
    #expect(try pair.one.workspace.message(Self.id).content == "Use SQLite")
  }
}
