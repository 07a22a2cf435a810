import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Two servers were set up from one backup and ran separately; their states are joined.
@Suite struct JoinTests {
  typealias Action = @Sendable (inout TestDevice) throws -> Void

  /// Lets a device on either side act on a common state, the second with the later clock, and joins
  /// the two states. The result must equal that of merging the operations.
  private func join(
    _ setup: Action, _ one: @escaping Action, _ other: @escaping Action,
    result check: (Workspace) throws -> Void
  ) throws {
    for replicas in [[3, 60], [60, 3]] as [[UInt64]] {
      var founder = TestDevice(50)
      try setup(&founder)
      var devices: [TestDevice] = []
      for (replica, action) in zip(replicas, [one, other]) {
        let now = TestDevice.startOfTime + 60_000 * Int64(devices.count + 1)
        var device = TestDevice(replica, now: now)
        try device.merge(founder.made)
        try action(&device)
        devices.append(device)
      }
      let images = devices.map { $0.workspace.image() }
      let joined = try images[0].joined(with: images[1])
      let turned = try images[1].joined(with: images[0])
      #expect(joined.isExactlyEqual(to: turned))
      var merged = devices[0]
      try merged.merge(devices[1].made)
      #expect(joined.isExactlyEqual(to: merged.workspace.image()))
      let workspace = try Workspace(image: joined)
      let oracle = SlowWorkspace(founder.made + devices.flatMap(\.made)).state()
      #expect(oracle.differences(from: workspace) == [])
      #expect(oracle.imageDifferences(from: workspace) == [])
      try check(workspace)
    }
  }

  private static let threeMessages: Action = { founder in
    for number in 1...3 as ClosedRange<UInt64> {
      try founder.perform(.send("text \(number)", as: number, in: "s"))
    }
  }

  @Test func tagsClearedOnOneSideStayCleared() throws {
    try join(
      { founder in
        try JoinTests.threeMessages(&founder)
        try founder.perform(.pause(.named("s"), reason: "a look first"))
      },
      { device in
        try device.perform(.cancel([.numbered(1), .numbered(2)]))
        try device.perform(.resume(.named("s")))
      },
      { device in
        // A change that the other side did not see stays.
        try device.perform(.cancel([.numbered(2)]))
        try device.perform(.restore(.numbered(2)))
      },
      result: { workspace in
        #expect(workspace.numbers("s") == [2, 3])
        let queue = try workspace.messageQueue(.named("s"))
        #expect(!queue.paused)
      })
  }

  @Test func theLaterMoveWins() throws {
    try join(
      JoinTests.threeMessages,
      { try $0.perform(.move([.numbered(3)], to: .position(1))) },
      { device in
        try device.perform(.send("elsewhere", as: 4, in: "t"))
        try device.perform(.move([.numbered(3)], to: .before(.numbered(4))))
      },
      result: { workspace in
        #expect(workspace.numbers("s") == [1, 2])
        #expect(workspace.numbers("t") == [3, 4])
        // The losing place exists, but belongs to no element.
        let slots = workspace.image().sessions.first?.slots.reduce(0) { $0 + $1.length }
        #expect(slots == 4)
      })
  }

  @Test func textTypedInsideADeletedTextStays() throws {
    try join(
      { try $0.perform(.send("go through the open comments", as: 1, in: "s")) },
      { try $0.perform(.deleteText(.numbered(1), 3..<27)) },
      { try $0.perform(.insertText(.numbered(1), at: 20, text: " seven")) },
      result: { #expect($0.contents("s") == ["go  sevens"]) })
  }

  @Test func wideTextsOfBothSidesKeepTheirScalars() throws {
    try join(
      { try $0.perform(.send("naïve 👩‍👩‍👧‍👦 e\u{301}té", as: 1, in: "s")) },
      { device in
        try device.perform(.insertText(.numbered(1), at: 6, text: "שלום"))
        try device.perform(.deleteText(.numbered(1), 0..<2))
      },
      { device in
        try device.perform(.deleteText(.numbered(1), 4..<8))
        try device.perform(.insertText(.numbered(1), at: 0, text: "🇩🇪"))
      },
      result: { workspace in
        let scalars = workspace.contents("s").first.map { Array($0.unicodeScalars) }
        #expect(scalars == Array("🇩🇪ïvשלום👩‍👧‍👦 e\u{301}té".unicodeScalars))
      })
  }

  @Test func aMessageUnderOneIDOnBothSidesIsOne() throws {
    try join(
      { try $0.perform(.send("before", as: 1, in: "s")) },
      { try $0.perform(.send("the earlier", as: 2, in: "s")) },
      { try $0.perform(.send("the later", as: 2, in: "t", .urgent)) },
      result: { workspace in
        #expect(workspace.numbers("s") == [1] && workspace.numbers("t") == [2])
        #expect(workspace.contents("t") == ["the earlier"])
        let message = workspace.image().sessions.flatMap(\.messages).first { $0.id.low == 2 }
        #expect(message?.additions.count == 2)
      })
  }

  @Test func aRequeuedThreadIsWhereTheLaterChangePutIt() throws {
    let threads: Action = { founder in
      for (number, name) in zip(1..., ["a", "b", "c"]) {
        try founder.perform(.send("text", as: UInt64(number), in: name))
      }
    }
    try join(
      threads, { try $0.perform(.send("more", as: 4, in: "a")) },
      { device in
        try device.perform(.moveThread(.named("a"), to: 2))
        try device.perform(.removeThreads([.named("b")]))
      },
      result: { #expect($0.threadNames == ["a", "c"]) })
    try join(
      threads, { try $0.perform(.removeThreads([.named("a")])) },
      { try $0.perform(.send("more", as: 4, in: "a")) },
      result: { #expect($0.threadNames == ["b", "c", "a"]) })
  }

  @Test func theLaterLeaseOfARunWinsWhateverTheClock() throws {
    @Sendable func run(_ phase: RunPhase, token: UInt64) -> Command {
      .reportRun(
        .numbered(1), Run(token: token, attempt: 1, phase: phase, milliseconds: 1, note: ""))
    }
    try join(
      JoinTests.threeMessages,
      { device in
        try device.perform(run(.dispatched, token: 2))
        try device.perform(run(.succeeded, token: 2))
      },
      { device in
        try device.perform(run(.running, token: 1))
        try device.perform(run(.failed, token: 1))
      },
      result: { workspace in
        #expect(workspace.status(1) == .succeeded)
        #expect(workspace.numbers("s") == [2, 3])
      })
  }

  @Test func filesOfBothSidesAreThere() throws {
    func file(_ digit: Int) throws -> QueueModel.Attachment {
      let hash = try #require(ContentHash(String(repeating: String(digit), count: 64)))
      return try QueueModel.Attachment(
        hash: hash, name: "file \(digit)", mediaType: "image/png", size: 7)
    }
    let files = try (0..<4).map(file)
    try join(
      { founder in
        try founder.perform(.send("look", as: 1, in: "s"))
        try founder.perform(.attach(.numbered(1), [files[0], files[1]]))
      },
      { device in
        try device.perform(.detach(.numbered(1), [files[0].hash, files[1].hash]))
        try device.perform(.attach(.numbered(1), [files[0], files[2]]))
      },
      { try $0.perform(.attach(.numbered(1), [files[2], files[3]])) },
      result: { workspace in
        let names = try workspace.message(.numbered(1)).attachments.map(\.name)
        #expect(names == ["file 0", "file 2", "file 3"])
      })
  }

  @Test func aSessionThatOneSideDeletedLivesWithWhatTheOtherSent() throws {
    let twoSessions: Action = { founder in
      try founder.perform(.send("of s", as: 1, in: "s"))
      try founder.perform(.send("of t", as: 2, in: "t"))
    }
    try join(
      twoSessions,
      { device in
        try device.perform(.deleteSession(.named("s")))
        try device.perform(.deleteSession(.named("t")))
      },
      { try $0.perform(.send("more", as: 3, in: "s")) },
      result: { workspace in
        #expect(workspace.sessions().map(\.id.rawValue) == ["s"])
        #expect(workspace.numbers("s") == [3])
      })
  }

  /// Each of the two follows the other in turn, whatever the order of their ids.
  @Test func alternatingInsertionsOfOneSideAreJoined() throws {
    var founder = TestDevice(50)
    try founder.perform(.send("[]", as: 1, in: "s"))
    var pair = [TestDevice(3), TestDevice(60)]
    var other = TestDevice(40)
    for index in pair.indices { try pair[index].merge(founder.made) }
    try other.merge(founder.made)
    // More scalars than the two type, so that the insertion is theirs.
    for step in 0..<30 {
      try other.perform(.insertText(.numbered(1), at: step % 2 == 0 ? 0 : 2 + step, text: "-"))
    }
    for step in 0..<20 {
      let (writer, reader) = (step % 2, (step + 1) % 2)
      try pair[writer].perform(.insertText(.numbered(1), at: 1 + step, text: "\(step % 10)"))
      try pair[writer].perform(.send("in turns", as: UInt64(100 + step), in: "t \(step % 4)"))
      try pair[reader].merge(pair[writer].made)
    }
    try pair[0].merge(pair[1].made)
    let (mine, theirs) = (pair[0].workspace.image(), other.workspace.image())
    let joined = try mine.joined(with: theirs)
    let turned = try theirs.joined(with: mine)
    #expect(joined.isExactlyEqual(to: turned))
    let workspace = try Workspace(image: joined)
    let dashes = String(repeating: "-", count: 15)
    #expect(workspace.contents("s") == [dashes + "[01234567890123456789]" + dashes])
    try other.merge(pair.flatMap(\.made))
    #expect(joined.isExactlyEqual(to: other.workspace.image()))
  }

  @Test func aTextOfWhichOneSideKnowsABeginningIsWholeBehindTheOther() throws {
    var author = TestDevice(1)
    try author.perform(.send("text", as: 1, in: "s"))
    let before = author.made.count
    try author.perform(.insertText(.numbered(1), at: 2, text: "abcdef"))
    let typed = author.made[before]
    let begun = try #require(typed.keepingFirst(3))
    var reader = TestDevice(2)
    try reader.merge(Array(author.made[..<before]) + [begun])
    try reader.perform(.insertText(.numbered(1), at: 5, text: "|"))
    try reader.perform(.deleteText(.numbered(1), 3..<4))
    let joined = try author.workspace.image().joined(with: reader.workspace.image())
    #expect(try Workspace(image: joined).contents("s") == ["teacdef|xt"])
    try reader.merge(author.made)
    #expect(joined.isExactlyEqual(to: reader.workspace.image()))
  }

  @Test func aStateThatHoldsTheOtherIsTheResult() throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    let old = device.workspace.image()
    try device.perform(.cancel([.numbered(1)]))
    let new = device.workspace.image()
    for (one, other) in [(old, new), (new, old), (new, new), (WorkspaceImage(), new)] {
      let joined = try one.joined(with: other)
      #expect(joined.isExactlyEqual(to: new))
    }
  }
}
