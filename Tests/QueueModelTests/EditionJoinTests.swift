import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// Joins of states with editions give the result of both sides' operations, and that of the oracle.
///
/// `COSPOOL_SEED=s` joins the states of one seed again.
struct EditionJoinTests {
  static let id = MessageID.numbered(1)

  /// Saves on two sides of one backup, typing among them, so that editions are live on both, cleared on one
  /// side only, or on both.
  @Test(arguments: TestSeeds.list(standard: 100, from: 4_300))
  func joinedEditionsAreThoseOfTheUnion(seed: UInt64) throws {
    try Run(seed: seed).check()
  }

  /// Checks that the random states contain every case.
  @Test func everyCaseComesUp() throws {
    var cases: Set<Run.Case> = []
    for seed in 4_300..<4_400 as Range<UInt64> { cases.formUnion(try Run(seed: seed).cases()) }
    #expect(cases == Set(Run.Case.allCases))
  }

  /// An edition that one side cleared stays cleared, and an edition that the other side does not
  /// know stays.
  @Test func aLookOnOneSideCountsForBoth() throws {
    var one = TestDevice(1)
    try one.perform(.send("Use a file", as: 1, in: "s"))
    var other = TestDevice(2)
    try other.merge(one.made)
    try one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    let (first, second) = (one.workspace.image(), other.workspace.image())
    let merged = try Workspace(image: first.joined(with: second))
    #expect(
      try Set(merged.message(Self.id).versions.map(\.text)) == ["Use SQLite", "Use MySQL"])
    try other.merge(one.made)
    try other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    // The first state still has the edition that was cleared elsewhere.
    for image in [
      try first.joined(with: other.workspace.image()),
      try other.workspace.image().joined(with: first),
    ] {
      let message = try Workspace(image: image).message(Self.id)
      #expect(message.content == "Use MySQL" && !message.isMerged)
    }
  }

  /// Two sides of one backup.
  private struct Run {
    /// On which sides an edition is live, and on which it was cleared.
    enum Case: CaseIterable {
      case liveOnBoth, ofOneSide, clearedOnOne, clearedOnBoth
    }

    let seed: UInt64
    private var generator: SeededGenerator
    private var sides: [TestDevice] = []
    private var merged = Workspace()

    init(seed: UInt64) throws {
      self.seed = seed
      generator = SeededGenerator(seed: seed)
      var first = TestDevice(1)
      try first.perform(.send("Deploy the old build", as: 1, in: "s"))
      var second = TestDevice(2, now: first.now)
      try second.merge(first.made)
      for _ in 0..<generator.below(3) { try save(&first) }
      if generator.chance(50) { try save(&second) }
      // Both know all of it: the backup.
      let backup = (first.made, second.made)
      try first.merge(backup.1)
      try second.merge(backup.0)
      if generator.chance(30) { try first.restart() }
      for _ in 0..<generator.below(4) { try save(&first) }
      for _ in 0..<generator.below(4) { try save(&second) }
      for index in 0..<generator.below(3) where index == 0 || generator.chance(50) {
        // One side gets some operations of the other.
        try second.merge(Array(first.made.prefix(generator.below(first.made.count + 1))))
      }
      if generator.chance(50) { try first.endTyping() }
      try second.endTyping()
      sides = [first, second]
      _ = try merged.merge(first.made + second.made)
    }

    private mutating func save(_ device: inout TestDevice) throws {
      let content = try device.workspace.message(EditionJoinTests.id).content
      let words = content.split(separator: " ")
      let word = ["now", "later", "build", "Deploy"][generator.below(4)]
      device.connection = generator.chance(50) ? 1 : nil
      switch generator.below(6) {
      case 0:
        try device.perform(
          .insertText(EditionJoinTests.id, at: generator.below(content.count + 1), text: word))
      case 1 where content.count > 3:
        try device.perform(.deleteText(EditionJoinTests.id, 0..<1 + generator.below(2)))
      case 2:
        // The send stays.
        if device.history.undoLabel?.kind == .edited { try device.perform(.undo) }
      case 3:
        // A user checked the text and left it unchanged.
        try device.perform(.edit(EditionJoinTests.id, content: content, base: nil))
      default:
        let edited = words.dropLast(generator.below(2)) + [Substring(word)]
        try device.perform(
          .edit(EditionJoinTests.id, content: edited.joined(separator: " "), base: nil))
      }
    }

    func check() throws {
      let images = sides.map { $0.workspace.image() }
      let operations = sides.flatMap(\.made)
      for (one, other) in [(0, 1), (1, 0), (0, 0)] {
        let image = try images[one].joined(with: images[other])
        let workspace = try Workspace(image: image)
        try workspace.checkInvariants()
        let expected = one == other ? sides[one].workspace : merged
        #expect(image.isExactlyEqual(to: expected.image()), "seed \(seed)")
        #expect(
          try workspace.message(EditionJoinTests.id) == expected.message(EditionJoinTests.id),
          "seed \(seed)")
        guard one != other else { continue }
        let oracle = SlowWorkspace(operations).state()
        let differences =
          oracle.differences(from: workspace) + oracle.imageDifferences(from: workspace)
        #expect(differences == [], "seed \(seed)")
        // Its content changes nothing, and the test continues.
        #expect(try image.joined(with: images[one]).isExactlyEqual(to: image), "seed \(seed)")
        var grown = try Workspace(image: images[one])
        _ = try grown.merge(sides[other].made)
        #expect(grown.image().isExactlyEqual(to: image), "seed \(seed)")
      }
    }

    /// The cases of the editions that either side made.
    func cases() throws -> Set<Case> {
      let made = sides.flatMap(\.made).filter {
        if case .addTag(_, .edition, _, _) = $0.body { true } else { false }
      }
      let live = try sides.map { Set(try $0.workspace.editBase(EditionJoinTests.id).editions) }
      return Set(
        made.map { edition in
          let id = edition.id
          let known = sides.map { $0.workspace.vector.contains(id) }
          let lives = live.map { $0.contains(id) }
          if known != [true, true] { return .ofOneSide }
          if lives == [true, true] { return .liveOnBoth }
          return lives == [false, false] ? .clearedOnBoth : .clearedOnOne
        })
    }
  }
}
