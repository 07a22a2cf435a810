import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Forged states, offered for a join, are refused with an error or joined to a state that a
/// workspace accepts. They never end the process.
@Suite struct HostileJoinTests {
  /// Two states from one backup, each with something of every kind that the other lacks.
  private static func divergedStates() throws -> (WorkspaceImage, WorkspaceImage) {
    var founder = TestDevice(50)
    for number in 1...4 as ClosedRange<UInt64> {
      try founder.perform(.send("text \(number)", as: number, in: number < 4 ? "s" : "t"))
    }
    try founder.perform(.pause(.named("t"), reason: "a look first"))
    var devices: [TestDevice] = []
    for replica in [3, 60] as [UInt64] {
      let now = TestDevice.startOfTime + 60_000 * Int64(devices.count + 1)
      var device = TestDevice(replica, now: now)
      try device.merge(founder.made)
      try device.perform(.insertText(.numbered(1), at: 2, text: "by \(replica)"))
      try device.perform(.deleteText(.numbered(2), devices.isEmpty ? 0..<2 : 1..<3))
      try device.perform(.move([.numbered(3)], to: .position(1)))
      try device.perform(.renameSession(.named("s"), name: "by \(replica)"))
      try device.perform(.send("new", as: 10 * replica, in: "s"))
      try device.perform(.send("new", as: 10 * replica + 1, in: "only \(replica)"))
      devices.append(device)
    }
    return (devices[0].workspace.image(), devices[1].workspace.image())
  }

  private static let stranger = OperationID(replica: ReplicaID(rawValue: 77), seq: 1)

  /// Changes of the first state; each contradicts the second, or the rest of the first.
  private static let changes: [(String, @Sendable (inout WorkspaceImage) -> Void)] = [
    ("a replica twice", { $0.replicas.insert($0.replicas[0], at: 0) }),
    ("replicas out of order", { $0.replicas.reverse() }),
    ("replica 0", { $0.replicas[0].id = ReplicaID(rawValue: 0) }),
    ("sequence number past the limit", { $0.replicas[0].seq = .max }),
    ("a known announcement with another name", { $0.replicas[1].announcement?.name = "other" }),
    ("sessions out of order", { $0.sessions.reverse() }),
    ("a session twice", { $0.sessions.append($0.sessions[$0.sessions.count - 1]) }),
    ("a known session missing", { $0.sessions.removeAll { $0.key == .named("t") } }),
    ("a known reference missing", { $0.sessions[1].references = [] }),
    ("a reference to nothing", { $0.sessions[1].references.append(stranger) }),
    ("a tag with another note", { $0.sessions[2].change(.paused) { $0.note = "other" } }),
    ("a tag nobody put", { $0.sessions[2].change(.paused) { $0.id = stranger } }),
    ("a tag twice", { $0.sessions[2].tags[0].tags += $0.sessions[2].tags[0].tags }),
    ("tags out of order", { $0.sessions[2].tags.reverse() }),
    ("two threads at one place", { $0.sessions[0].threadPosition = $0.sessions[2].threadPosition }),
    ("a known message missing", { $0.sessions[2].messages = [] }),
    ("a message twice", { $0.sessions[1].messages.append($0.sessions[1].messages[0]) }),
    ("a message of another session twice", { $0.sessions[1].messages += $0.sessions[2].messages }),
    ("two messages at one place", { $0.sessions[1].messages[3].position = $0.message(1).position }),
    ("a message at no place", { $0.sessions[0].messages[0].position.slot = stranger }),
    ("a known addition missing", { $0.sessions[2].messages[0].additions = [] }),
    (
      "a register with another value",
      { $0.sessions[2].messages[0].registers[0].value = .number(9) }
    ),
    ("registers twice", { $0.sessions[1].registers += $0.sessions[1].registers }),
    ("a known slot missing", { $0.sessions[2].slots = [] }),
    ("a slot with other origins", { $0.sessions[2].slots[0].origins.left = stranger }),
    ("a slot with another time", { $0.sessions[2].slots[0].origins.time += 1 }),
    ("slots twice", { $0.sessions[1].slots += $0.sessions[1].slots }),
    ("a run that is empty", { $0.sessions[1].slots[0].length = 0 }),
    ("a run of the greatest length", { $0.sessions[1].slots[0].length = .max }),
    ("a run of the least length", { $0.sessions[1].slots[0].length = .min }),
    ("a run past what is known", { $0.sessions[1].slots[0].length = 1 << 20 }),
    ("thread slots missing", { $0.threadSlots = [] }),
    ("a known text with other words", { $0.changeAddition(of: 4) { $0.text = "TEXT 4" } }),
    ("a text that is too short", { $0.changeAddition(of: 1) { $0.text = "" } }),
    ("a text with other words inside", { $0.changeAddition(of: 1) { $0.text = "TEby 3xt 1" } }),
    ("scalars that are gone", { $0.changeAddition(of: 1) { $0.runs.removeLast() } }),
    (
      "a scalar beside one that is not there",
      { $0.changeAddition(of: 1) { $0.runs[1].slots.origins.right = stranger } }
    ),
  ]

  /// Changes of the first state that the second repairs, because it has the later values.
  private static let losses: [(String, @Sendable (inout WorkspaceImage) -> Void)] = [
    ("a known announcement missing", { $0.replicas[1].announcement = nil }),
    ("a known place missing", { $0.sessions[2].threadPosition = nil }),
    ("a known place with another time", { $0.sessions[2].threadPosition?.stamp = .zero }),
    ("a known requeue missing", { $0.sessions[2].enqueued = nil }),
    ("an addition at another time", { $0.sessions[2].messages[0].additions[0].stamp = .zero }),
    ("a known write missing", { $0.sessions[2].messages[0].registers = [] }),
  ]

  @Test func theLaterOfTwoWritesCountsIfOneStateLacksIt() throws {
    let (good, other) = try HostileJoinTests.divergedStates()
    let joined = try good.joined(with: other)
    for (name, change) in HostileJoinTests.losses {
      var bad = good
      change(&bad)
      #expect(!bad.isExactlyEqual(to: good), "\(name)")
      #expect(try bad.joined(with: other).isExactlyEqual(to: joined), "\(name)")
      #expect(try other.joined(with: bad).isExactlyEqual(to: joined), "\(name)")
    }
  }

  @Test func statesThatContradictEachOtherAreRefused() throws {
    let (good, other) = try HostileJoinTests.divergedStates()
    let joined = try good.joined(with: other)
    #expect(try other.joined(with: good).isExactlyEqual(to: joined))
    for (name, change) in HostileJoinTests.changes {
      var bad = good
      change(&bad)
      #expect(!bad.isExactlyEqual(to: good), "\(name)")
      for (one, two) in [(bad, other), (other, bad)] {
        let error = #expect(throws: MergeError.self, "\(name)") { try one.joined(with: two) }
        guard let error, case .invalidImage = error else {
          Issue.record("\(name): refused as \(String(describing: error))")
          continue
        }
      }
    }
  }

  /// Each unit's origins are there, and a replica wrote 2 before 1.
  @Test func unitsThatWaitForEachOtherAreRefused() throws {
    let replicas = [ReplicaID(rawValue: 1), ReplicaID(rawValue: 2)]
    func unit(_ replica: Int, _ seq: UInt32) -> OperationID {
      OperationID(replica: replicas[replica], seq: seq)
    }
    func image(_ replica: Int, _ slots: [OperationID]) -> WorkspaceImage {
      var image = WorkspaceImage()
      image.replicas = [.init(id: replicas[replica], seq: 9, announcement: nil)]
      var left: OperationID?
      for slot in slots {
        image.threadSlots.append(
          .init(id: slot, length: 1, origins: .init(left: left, right: nil)))
        left = slot
      }
      return image
    }
    let (turned, straight) = (image(0, [unit(0, 2), unit(0, 1)]), image(1, [unit(1, 1)]))
    _ = try Workspace(image: turned)
    #expect(throws: MergeError.self) { try turned.joined(with: straight) }
    #expect(throws: MergeError.self) { try straight.joined(with: turned) }
    let joined = try image(0, [unit(0, 1), unit(0, 2)]).joined(with: straight)
    #expect(joined.threadSlots.reduce(0) { $0 + $1.length } == 3)
  }

  @Test func moreSessionsThanAWorkspaceHoldsAreRefused() throws {
    func image(_ number: UInt64, sessions count: Int) throws -> WorkspaceImage {
      var image = WorkspaceImage()
      let replica = ReplicaID(rawValue: number)
      image.replicas = [.init(id: replica, seq: UInt32(count), announcement: nil)]
      image.sessions = try (1...count).map { index in
        var session = WorkspaceImage.Session(key: try SessionID("\(number)-\(index)"))
        session.references = [OperationID(replica: replica, seq: UInt32(index))]
        return session
      }
      image.sessions.sort { $0.key < $1.key }
      return image
    }
    let most = try image(1, sessions: Limits.sessionsMax - 1)
    #expect(
      try most.joined(with: image(2, sessions: 1)).sessions.count == Limits.sessionsMax)
    let error = #expect(throws: MergeError.self) {
      try most.joined(with: image(2, sessions: 2))
    }
    guard case .limitReached(_, _, Limits.sessionsMax)? = error else {
      Issue.record("refused as \(String(describing: error))")
      return
    }
  }

  /// Random changes to random states; `COSPOOL_SEEDS=n` tries more of them.
  @Test(arguments: TestSeeds.list(standard: 60))
  func changedStatesAreRefusedOrJoinedToSoundOnes(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let (one, other) = try randomStates(using: &generator)
    var taken = 0
    for _ in 0..<40 {
      var (mine, theirs) = (one, other)
      for _ in 0...generator.below(3) {
        if generator.chance(70) {
          ImageMutation.change(&mine, using: &generator)
        } else {
          ImageMutation.change(&theirs, using: &generator)
        }
      }
      let joined = try? mine.joined(with: theirs)
      let turned = try? theirs.joined(with: mine)
      // Nothing is promised for a state that no workspace accepts, and for two states with one
      // vector.
      guard (try? Workspace(image: mine)) != nil, (try? Workspace(image: theirs)) != nil,
        mine.vector != theirs.vector
      else { continue }
      #expect((joined == nil) == (turned == nil), "COSPOOL_SEED=\(seed)")
      guard let joined, let turned else { continue }
      taken += 1
      #expect(joined.isExactlyEqual(to: turned), "COSPOOL_SEED=\(seed)")
      #expect(throws: Never.self, "COSPOOL_SEED=\(seed)") { try Workspace(image: joined) }
    }
    #expect(taken > 0, "COSPOOL_SEED=\(seed)")
  }

  /// Two devices' states, neither of which includes the other.
  private func randomStates(
    using generator: inout SeededGenerator
  ) throws -> (WorkspaceImage, WorkspaceImage) {
    var commands = CommandGenerator(sessionCount: 3)
    var devices = [TestDevice(1), TestDevice(2)]
    for step in 0..<50 {
      let index = generator.below(2)
      var editors: CommandGenerator.OpenEditors = [:]
      let command = commands.command(
        for: devices[index].workspace, editors: &editors, using: &generator)
      _ = try? devices[index].perform(command)
      if step == 20 {
        try devices[0].merge(devices[1].made)
        try devices[1].merge(devices[0].made)
      }
    }
    for index in devices.indices {
      try devices[index].perform(.send("own", as: 900 + UInt64(index), in: "last"))
    }
    return (devices[0].workspace.image(), devices[1].workspace.image())
  }
}

extension WorkspaceImage.Session {
  fileprivate mutating func change(_ field: TagField, _ body: (inout WorkspaceImage.Tag) -> Void) {
    for index in tags.indices where tags[index].field == field { body(&tags[index].tags[0]) }
  }
}

extension WorkspaceImage {
  /// The second message of the session that both states write to.
  fileprivate func message(_ index: Int) -> Message { sessions[1].messages[index] }

  /// Changes the text of a message by its number.
  fileprivate mutating func changeAddition(of number: UInt64, _ body: (inout Addition) -> Void) {
    for session in sessions.indices {
      for message in sessions[session].messages.indices
      where sessions[session].messages[message].id == .numbered(number) {
        body(&sessions[session].messages[message].additions[0])
      }
    }
  }
}
