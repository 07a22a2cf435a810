import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Two states without their operations as one.
@Suite struct UnionTests {
  /// Two devices that know prompts 1 to 3 in "main".
  private func devices() throws -> (TestDevice, TestDevice) {
    var one = TestDevice(1)
    var other = TestDevice(2)
    for number in 1...3 as ClosedRange<UInt64> {
      try one.perform(.send("prompt \(number)", as: number, in: "main"))
    }
    try one.merge(other.made)
    try other.merge(one.made)
    return (one, other)
  }

  private func united(_ one: TestDevice, _ other: TestDevice) throws -> Workspace {
    let union = one.workspace.compacted().image()
      .united(with: other.workspace.compacted().image())
    let workspace = try Workspace(image: union)
    try workspace.checkInvariants()
    return workspace
  }

  @Test func whatEitherHoldsIsThereOnce() throws {
    var (one, other) = try devices()
    try one.perform(.send("of the first", as: 8, in: "main"))
    try other.perform(.send("of the second", as: 9, in: "main"))
    try other.perform(.send("in a session of its own", as: 10, in: "other"))
    let both = try united(one, other)
    #expect(both.numbers("main") == [1, 2, 3, 8, 9] || both.numbers("main") == [1, 2, 3, 9, 8])
    #expect(both.numbers("other") == [10])
    #expect(both.digest(of: one.replica) == one.workspace.digest(of: one.replica))
    #expect(both.digest(of: other.replica) == other.workspace.digest(of: other.replica))
  }

  @Test func whatOneTookAwayStaysAway() throws {
    var (one, other) = try devices()
    try one.perform(.cancel([.numbered(1)]))
    try one.perform(.edit(.numbered(2), content: "pmt 2", base: nil))
    try other.perform(.edit(.numbered(2), content: "prompt 2!", base: nil))
    try other.perform(.removeThreads([SessionID("main")]))
    for (mine, theirs) in [(one, other), (other, one)] {
      let both = try united(mine, theirs)
      #expect(both.numbers("main") == [2, 3])
      #expect(both.contents("main") == ["pmt 2!", "prompt 3"])
      #expect(both.threadQueue().threads.isEmpty)
    }
  }

  @Test func laterMovesAndWritesWin() throws {
    var (one, other) = try devices()
    try one.perform(.move([.numbered(3)], to: .position(1)))
    try one.perform(.setPriority(.numbered(2), .urgent))
    other.now = one.now + 10
    try other.perform(.move([.numbered(3)], to: .after(.numbered(1))))
    for (mine, theirs) in [(one, other), (other, one)] {
      #expect(try united(mine, theirs).numbers("main") == [2, 1, 3])
    }
  }

  @Test func unionWithWhatIsKnownIsTheSame() throws {
    var (one, other) = try devices()
    try one.perform(.move([.numbered(3)], to: .position(1)))
    try one.perform(.edit(.numbered(2), content: "pmt 2", base: nil))
    try one.perform(.cancel([.numbered(1)]))
    let base = one.workspace.compacted()
    #expect(try united(one, other).image() == base.image())
    #expect(try united(other, one).dump() == base.dump())
    try other.merge(one.made)
    #expect(try united(one, other).image() == base.image())
  }

  @Test(arguments: TestSeeds.list(standard: 40))
  func unionShowsWhatMergingShows(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var (one, other) = try devices()
    for number in 20..<60 as Range<UInt64> {
      let command = random(number, using: &generator)
      if Bool.random(using: &generator) {
        _ = try? one.perform(command)
      } else {
        _ = try? other.perform(command)
      }
    }
    let both = try united(one, other)
    var merged = one
    try merged.merge(other.made)
    let texts = { (workspace: Workspace) in
      Dictionary(
        workspace.image().sessions.flatMap(\.messages).map { message in
          (
            message.id,
            String(
              (message.additions.first?.text ?? "").unicodeScalars.sorted()
                .map(Character.init))
          )
        }
      ) { first, _ in first }
    }
    #expect(texts(both) == texts(merged.workspace), "seed \(seed)")
    #expect(
      both.numbers("main").sorted() == merged.workspace.numbers("main").sorted(), "seed \(seed)")
    #expect(both.vector == merged.workspace.vector)
  }

  private func random(_ number: UInt64, using generator: inout SeededGenerator) -> Command {
    let target = MessageID.numbered(UInt64.random(in: 1...number, using: &generator))
    return switch Int.random(in: 0..<6, using: &generator) {
    case 0: .send("text \(number)", as: number, in: "main")
    case 1: .move([target], to: .position(1))
    case 2: .cancel([target])
    case 3: .insertText(target, at: 0, text: "\(number)")
    case 4: .deleteText(target, 0..<1)
    default: .restore(target)
    }
  }

  @Test func otherEventsUnderOneIDContradict() throws {
    var one = TestDevice(7)
    var other = TestDevice(7)
    try one.perform(.send("good", as: 1, in: "a"))
    try other.perform(.send("evil", as: 1, in: "a"))
    let image = one.workspace.image()
    let comparison = StateComparison(of: image, with: other.workspace.image())
    let first = try #require(
      one.made.first { if case .insertText = $0.body { true } else { false } })
    #expect(comparison.contradictions == [one.replica: first.id.seq])
    #expect(comparison.firstUnshown == comparison.contradictions)
    try one.perform(.move([.numbered(1)], to: .position(1)))
    let later = StateComparison(of: image, with: one.workspace.compacted().image())
    #expect(later.contradictions.isEmpty)
  }

  @Test func whatOnlyOneShowsIsAnEventOfItsOwnUnlessItCanBeGone() throws {
    var one = TestDevice(7)
    var other = TestDevice(7)
    try one.perform(.send("prompt", as: 1, in: "a"))
    try other.merge(one.made)
    let shared = one.workspace.vector[one.replica]
    try one.perform(.insertText(.numbered(1), at: 0, text: "gone "))
    try one.perform(.send("second", as: 2, in: "a"))
    for round in 1...8 {
      try other.perform(.setPriority(.numbered(1), round % 2 == 1 ? .urgent : .normal))
    }
    let comparison = StateComparison(
      of: one.workspace.image(), with: other.workspace.image())
    #expect(comparison.contradictions == [one.replica: shared + 6])
    #expect(comparison.firstUnshown == [one.replica: shared + 1])
  }

  @Test func renamedStateShowsTheSameUnderOtherIDs() throws {
    var (one, _) = try devices()
    try one.perform(.edit(.numbered(2), content: "pmt 2, and more", base: nil))
    try one.perform(.move([.numbered(3)], to: .position(1)))
    let base = one.workspace.compacted()
    let second = try #require(
      base.image().sessions.flatMap(\.messages).first { $0.id == .numbered(2) })
    let first = try #require(second.additions.first).id.seq
    let successor = ReplicaID(rawValue: 99)
    let succession = WorkspaceImage.Succession(first: first, successor: successor)
    let renamed = try Workspace(image: base.image().renamed([one.replica: succession]))
    try renamed.checkInvariants()
    #expect(renamed.numbers("main") == base.numbers("main"))
    #expect(renamed.contents("main") == base.contents("main"))
    #expect(renamed.vector[one.replica] == first - 1)
    #expect(renamed.vector[successor] == base.vector[one.replica] - first + 2)
    #expect(renamed.device(of: successor) == base.device(of: one.replica))
    let comparison = StateComparison(of: base.image(), with: renamed.image())
    #expect(comparison.contradictions.isEmpty)
  }

  @Test func stampsAheadAreMovedDownInTheirOrder() throws {
    var device = TestDevice(1)
    try device.perform(.send("in time", as: 1, in: "main"))
    let limit = Stamp(milliseconds: device.now)
    device.now += 86_400_000
    try device.perform(.send("late", as: 2, in: "main"))
    try device.perform(.move([.numbered(2)], to: .position(1)))
    try device.perform(.setPriority(.numbered(1), .urgent))
    let lowered = try Workspace(image: device.workspace.image().lowered(to: limit))
    #expect(lowered.latestStamp.milliseconds == limit.milliseconds)
    #expect(lowered.numbers("main") == device.workspace.numbers("main"))
  }
}
