import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Change events: the fewest steps, and a mirror that follows them equals the view.
struct QueueChangeTests {
  private struct Item: PositionedView {
    var id: Int
    var position: Int
    var text = ""
  }

  private func items(_ ids: [Int]) -> [Item] {
    ids.enumerated().map { Item(id: $1, position: $0 + 1) }
  }

  private func mirrored(_ old: [Item], _ steps: [QueueChange<Item>]) -> [Item] {
    var mirror = old
    for step in steps { step.apply(to: &mirror) }
    return mirror
  }

  /// Every pair of lists over four items: correct, and with the fewest steps.
  @Test func allSmallChangesAreRightAndMinimal() {
    let lists = (0..<16).flatMap { mask in
      Permutations.all(of: (0..<4).filter { mask & 1 << $0 != 0 })
    }
    for old in lists {
      for new in lists {
        let steps = QueueChange.changes(from: items(old), to: items(new))
        #expect(mirrored(items(old), steps) == items(new), "\(old) to \(new)")
        #expect(steps.count == fewestSteps(from: old, to: new), "\(old) to \(new): \(steps)")
      }
    }
  }

  @Test(arguments: TestSeeds.list(standard: 40, from: 600))
  func randomChangesAreRightAndMinimal(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let old = Array((0..<30).shuffled(using: &generator).prefix(generator.below(30)))
    let new = Array((5..<35).shuffled(using: &generator).prefix(generator.below(30)))
    let steps = QueueChange.changes(from: items(old), to: items(new))
    #expect(mirrored(items(old), steps) == items(new), "seed \(seed)")
    #expect(steps.count == fewestSteps(from: old, to: new), "seed \(seed)")
  }

  /// Removals and insertions are fixed; of the rest, all but a longest common order must move.
  private func fewestSteps(from old: [Int], to new: [Int]) -> Int {
    let kept = old.filter(new.contains).compactMap { new.firstIndex(of: $0) }
    var longest = Array(repeating: 1, count: kept.count)
    for index in kept.indices {
      for earlier in 0..<index where kept[earlier] < kept[index] {
        longest[index] = max(longest[index], longest[earlier] + 1)
      }
    }
    return old.count + new.count - 2 * kept.count + kept.count - (longest.max() ?? 0)
  }

  @Test func oneMoveOfManyIsOneStep() {
    let old = items(Array(0..<1_000))
    var moved = Array(1..<1_000)
    moved.insert(0, at: 700)
    #expect(
      QueueChange.changes(from: old, to: items(moved)) == [.move(0, from: 0, to: 700)])
  }

  @Test func aChangedValueIsAnUpdateAndAShiftedPositionIsNone() {
    let old = items([1, 2, 3])
    var new = items([2, 3])
    new[1].text = "changed"
    let steps = QueueChange.changes(from: old, to: new)
    #expect(steps == [.remove(1, at: 0), .update(new[1], at: 1)])
    #expect(mirrored(old, steps) == new)
  }

  @Test func anUnchangedViewHasNoSteps() {
    #expect(QueueChange.changes(from: items([1, 2]), to: items([1, 2])) == [])
    #expect(QueueChange.changes(from: items([]), to: items([])) == [])
  }
}

/// The changes that observers of a whole workspace receive. The random runs follow mirrors, too.
struct ChangeTrackerTests {
  @Test func aSendTellsOfTheMessageTheSessionAndTheThread() throws {
    var device = TestDevice(1)
    try device.perform(.send("one", as: 1, in: "a"))
    var tracker = ChangeTracker(workspace: device.workspace)
    let outcome = try device.perform(.send("two", as: 2, in: "b"))
    let changes = tracker.changes(in: device.workspace, touched: outcome.touched)
    let session = try #require(device.workspace.sessions().last)
    let message = try device.workspace.message(.numbered(2))
    let thread = try #require(device.workspace.threadQueue().threads.last)
    #expect(
      Set(changes) == [
        .session(session), .messages(.named("b"), [.insert(message, at: 0)]),
        .threads([.insert(thread, at: 1)]),
      ])
  }

  @Test func aRemovedThreadIsOneStepHoweverManyFollowIt() throws {
    var device = TestDevice(1)
    for number in 1...20 {
      try device.perform(.send("text", as: UInt64(number), in: "s\(number)"))
    }
    var mirror = QueueMirror(workspace: device.workspace)
    var tracker = ChangeTracker(workspace: device.workspace)
    let outcome = try device.perform(.removeThreads([.named("s1")]))
    let changes = tracker.changes(in: device.workspace, touched: outcome.touched)
    #expect(changes == [.threads([.remove(.named("s1"), at: 0)])])
    mirror.follow(device.workspace, touched: outcome.touched)
    #expect(mirror.differences(from: device.workspace) == [])
  }

  @Test func aThreadThatIsRequeuedMoves() throws {
    var device = TestDevice(1)
    for number in 1...20 {
      try device.perform(.send("text", as: UInt64(number), in: "s\(number)"))
    }
    var tracker = ChangeTracker(workspace: device.workspace)
    let outcome = try device.perform(.moveThread(.named("s1"), to: 20))
    let changes = tracker.changes(in: device.workspace, touched: outcome.touched)
    #expect(changes == [.threads([.move(.named("s1"), from: 0, to: 19)])])
  }

  @Test func aMessageThatChangesQueuesIsOneStepInEach() throws {
    var device = TestDevice(1)
    for number in 1...3 { try device.perform(.send("text", as: UInt64(number), in: "a")) }
    try device.perform(.send("text", as: 4, in: "b"))
    var mirror = QueueMirror(workspace: device.workspace)
    var tracker = ChangeTracker(workspace: device.workspace)
    let outcome = try device.perform(.move([.numbered(2)], to: .after(.numbered(4))))
    let changes = tracker.changes(in: device.workspace, touched: outcome.touched)
    let steps = changes.filter { if case .messages = $0 { true } else { false } }
    let moved = try device.workspace.message(.numbered(2))
    #expect(
      steps == [
        .messages(.named("a"), [.remove(.numbered(2), at: 1)]),
        .messages(.named("b"), [.insert(moved, at: 1)]),
      ])
    mirror.follow(device.workspace, touched: outcome.touched)
    #expect(mirror.differences(from: device.workspace) == [])
  }

  @Test func messagesThatChangePlacesAreNeverInTwoQueues() throws {
    var device = TestDevice(1)
    for (number, session) in zip(1..., ["a", "b", "a", "b"]) {
      try device.perform(.send("text", as: UInt64(number), in: session))
    }
    var mirror = QueueMirror(workspace: device.workspace)
    var tracker = ChangeTracker(workspace: device.workspace)
    var touched = try device.perform(.move([.numbered(1)], to: .after(.numbered(4)))).touched
    touched.formUnion(try device.perform(.move([.numbered(2)], to: .after(.numbered(3)))).touched)
    let steps = tracker.changes(in: device.workspace, touched: touched)
      .filter { if case .messages = $0 { true } else { false } }
    let (first, second) = (
      try device.workspace.message(.numbered(1)), try device.workspace.message(.numbered(2))
    )
    #expect(
      steps == [
        .messages(.named("a"), [.remove(.numbered(1), at: 0)]),
        .messages(.named("b"), [.remove(.numbered(2), at: 0)]),
        .messages(.named("a"), [.insert(second, at: 1)]),
        .messages(.named("b"), [.insert(first, at: 1)]),
      ])
    mirror.follow(device.workspace, touched: touched)
    #expect(mirror.differences(from: device.workspace) == [])
  }

  @Test func aDeletedSessionsMessagesLeaveTheMirror() throws {
    var device = TestDevice(1)
    try device.perform(.send("one", as: 1, in: "a", requeues: false))
    var tracker = ChangeTracker(workspace: device.workspace)
    let outcome = try device.perform(.deleteSession(.named("a")))
    #expect(
      tracker.changes(in: device.workspace, touched: outcome.touched) == [
        .sessionDeleted(.named("a")),
        .messages(.named("a"), [.remove(.numbered(1), at: 0)]),
      ])
  }

  @Test func aChangeWithoutEffectReportsNothing() throws {
    var device = TestDevice(1)
    try device.perform(.send("one", as: 1, in: "a"))
    var tracker = ChangeTracker(workspace: device.workspace)
    let outcome = try device.perform(.send("one", as: 1, in: "a"))
    #expect(outcome.touched.isEmpty)
    #expect(tracker.changes(in: device.workspace, touched: outcome.touched) == [])
    let merged = try device.merge(device.made)
    #expect(merged.touched.isEmpty)
    #expect(merged.applied == [])
    #expect(merged.duplicates == device.made.count)
  }
}
