import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The rows of the conflict table about sessions and threads, in all delivery orders.
struct SessionConflictTests {
  private func threads(_ names: String...) -> ConflictScenario.Action {
    { device in
      for (index, name) in names.enumerated() {
        try device.perform(.send("start", as: UInt64(index + 1), in: name))
      }
    }
  }

  private func messages(_ sessions: String...) -> ConflictScenario.Action {
    { device in
      for (index, name) in sessions.enumerated() {
        try device.perform(.send("text", as: UInt64(index + 1), in: name, requeues: false))
      }
    }
  }

  @Test(arguments: [true, false])
  func aRequeuedThreadStaysAtTheEndWhenRemovedElsewhere(removalIsLater: Bool) throws {
    let send: ConflictScenario.Action = { try $0.perform(.send("go on", as: 9, in: "x")) }
    let remove: ConflictScenario.Action = { try $0.perform(.removeThreads([.named("x")])) }
    let check: ConflictScenario.Action = {
      #expect($0.workspace.threadNames == ["y", "z", "x"])
    }
    if removalIsLater {
      try ConflictScenario.verify(
        setup: threads("x", "y", "z"), authors: [send, remove], result: check)
    } else {
      try ConflictScenario.verify(
        setup: threads("x", "y", "z"), authors: [remove, send], result: check)
    }
  }

  @Test func twoRequeuesGiveOneEntryAtThePlaceOfTheLater() throws {
    try ConflictScenario.verify(
      setup: threads("x", "y", "z"),
      authors: [
        { try $0.perform(.send("earlier", as: 8, in: "x")) },
        { device in
          try device.perform(.send("later", as: 9, in: "x"))
          try device.perform(.send("last", as: 10, in: "y"))
        },
      ]
    ) { device in
      #expect(device.workspace.threadNames == ["z", "x", "y"])
      let queuedAt = device.workspace.threadQueue().threads[1].queuedAt
      // The second author's clock is two minutes after the start.
      #expect(queuedAt == TestDevice.startOfTime + 120_001)
    }
  }

  @Test func aLaterDragWinsOverARequeue() throws {
    try ConflictScenario.verify(
      setup: threads("x", "y", "z"),
      authors: [
        { try $0.perform(.send("earlier", as: 8, in: "x")) },
        { try $0.perform(.moveThread(.named("x"), to: 2)) },
      ]
    ) { device in
      #expect(device.workspace.threadNames == ["y", "x", "z"])
      #expect(
        device.workspace.threadQueue().threads[1].queuedAt == TestDevice.startOfTime + 60_001)
    }
  }

  @Test func aLaterRequeueWinsOverADrag() throws {
    try ConflictScenario.verify(
      setup: threads("x", "y", "z"),
      authors: [
        { try $0.perform(.moveThread(.named("x"), to: 2)) },
        { try $0.perform(.send("later", as: 8, in: "x")) },
      ]
    ) { #expect($0.workspace.threadNames == ["y", "z", "x"]) }
  }

  @Test func aDragDoesNotBringBackARemovedThread() throws {
    try ConflictScenario.verify(
      setup: threads("x", "y"),
      authors: [
        { try $0.perform(.removeThreads([.named("x")])) },
        { try $0.perform(.moveThread(.named("x"), to: 2)) },
      ]
    ) { #expect($0.workspace.threadNames == ["y"]) }
  }

  @Test func twoRemovalsCountOnce() throws {
    try ConflictScenario.verify(
      setup: threads("x", "y"),
      authors: [
        { try $0.perform(.removeThreads([.named("x")])) },
        { try $0.perform(.removeThreads([.named("x")])) },
      ]
    ) { device in
      #expect(device.workspace.threadNames == ["y"])
      try device.perform(.send("again", as: 9, in: "x"))
      #expect(device.workspace.threadNames == ["y", "x"])
    }
  }

  @Test func clearingTheThreadQueueLeavesTheThreadItDidNotSee() throws {
    try ConflictScenario.verify(
      setup: threads("x", "y"),
      authors: [
        { try $0.perform(.send("new", as: 9, in: "z")) },
        { try $0.perform(.clearThreads) },
      ]
    ) { #expect($0.workspace.threadNames == ["z"]) }
  }

  @Test func oneSessionAddedTwiceIsOneEntry() throws {
    try ConflictScenario.verify(
      setup: { _ in },
      authors: [
        { device in
          try device.perform(.addSession(.named("S"), name: "first", project: "/a"))
          try device.perform(.send("a", as: 1, in: "s"))
        },
        { device in
          try device.perform(.addSession(.named("s"), name: "second", project: nil))
          try device.perform(.send("b", as: 2, in: "s"))
        },
      ]
    ) { device in
      let sessions = device.workspace.sessions()
      #expect(sessions.map(\.name) == ["second"])
      #expect(sessions.map(\.project) == ["/a"])
      #expect(sessions.map(\.waiting) == [2])
      #expect(device.workspace.threadNames == ["s"])
    }
  }

  @Test(arguments: ["rate limit", "old"])
  func anUnseenPauseSurvivesAResume(reason: String) throws {
    try ConflictScenario.verify(
      setup: { device in
        try device.perform(.addSession(.named("s"), name: nil, project: nil))
        try device.perform(.pause(.named("s"), reason: "old"))
      },
      authors: [
        { try $0.perform(.pause(.named("s"), reason: reason)) },
        { try $0.perform(.resume(.named("s"))) },
      ]
    ) { device in
      let queue = try device.workspace.messageQueue(.named("s"))
      #expect(queue.paused)
      #expect(queue.pauseReasons == [reason])
      try device.perform(.resume(.named("s")))
      #expect(try !device.workspace.messageQueue(.named("s")).paused)
    }
  }

  @Test func twoPausesHoldUntilOneResumeThatSawBoth() throws {
    try ConflictScenario.verify(
      setup: messages("s"),
      authors: [
        { try $0.perform(.pause(.named("s"), reason: "a")) },
        { try $0.perform(.pause(.named("s"), reason: "b")) },
      ]
    ) { device in
      let reasons = try device.workspace.messageQueue(.named("s")).pauseReasons
      #expect(Set(reasons) == ["a", "b"])
      try device.perform(.resume(.named("s")))
      #expect(try !device.workspace.messageQueue(.named("s")).paused)
    }
  }

  @Test func aDeletedSessionLivesWithTheMessageSentMeanwhile() throws {
    try ConflictScenario.verify(
      setup: messages("s"),
      authors: [
        { try $0.perform(.send("new", as: 9, in: "s")) },
        { try $0.perform(.deleteSession(.named("s"))) },
      ]
    ) { device in
      #expect(device.workspace.numbers("s") == [9])
      #expect(device.workspace.threadNames == ["s"])
      #expect(device.workspace.status(1) == .cancelled)
    }
  }

  /// Whoever adds to a paused queue expects that nothing starts before somebody resumes it.
  @Test(arguments: ["send", "restore", "move"])
  func aDeletedSessionThatLivesIsStillPaused(by addition: String) throws {
    try ConflictScenario.verify(
      setup: { device in
        try device.perform(.send("one", as: 1, in: "s"))
        try device.perform(.send("two", as: 2, in: "s"))
        try device.perform(.send("three", as: 3, in: "t"))
        try device.perform(.cancel([.numbered(1)]))
        try device.perform(.pause(.named("s"), reason: "freeze"))
      },
      authors: [
        { device in
          switch addition {
          case "send": try device.perform(.send("new", as: 9, in: "s"))
          case "restore": try device.perform(.restore(.numbered(1)))
          default: try device.perform(.move([.numbered(3)], to: .after(.numbered(2))))
          }
        },
        { try $0.perform(.deleteSession(.named("s"))) },
      ]
    ) { device in
      let queue = try device.workspace.messageQueue(.named("s"))
      #expect(queue.messages.count == 1)
      #expect(queue.pauseReasons == ["freeze"])
    }
  }

  @Test func anEditInADeletedSessionIsKeptForRestore() throws {
    try ConflictScenario.verify(
      setup: messages("s"),
      authors: [
        { try $0.perform(.edit(.numbered(1), content: "text, edited", base: nil)) },
        { try $0.perform(.deleteSession(.named("s"))) },
      ]
    ) { device in
      #expect(device.workspace.sessions() == [])
      #expect(try device.workspace.message(.numbered(1)).content == "text, edited")
      try device.perform(.restore(.numbered(1)))
      #expect(device.workspace.contents("s") == ["text, edited"])
    }
  }

  @Test func aDeletedSessionLivesWithTheMessageMovedIntoIt() throws {
    try ConflictScenario.verify(
      setup: messages("s", "t"),
      authors: [
        { try $0.perform(.move([.numbered(1)], to: .after(.numbered(2)))) },
        { try $0.perform(.deleteSession(.named("t"))) },
      ]
    ) { device in
      #expect(device.workspace.numbers("s") == [])
      #expect(device.workspace.numbers("t") == [1])
      #expect(device.workspace.status(2) == .cancelled)
    }
  }

  @Test func aDeletedSessionLivesWithTheMessageRestoredInIt() throws {
    try ConflictScenario.verify(
      setup: { device in
        try device.perform(.send("one", as: 1, in: "s", requeues: false))
        try device.perform(.cancel([.numbered(1)]))
      },
      authors: [
        { try $0.perform(.restore(.numbered(1))) },
        { try $0.perform(.deleteSession(.named("s"))) },
      ]
    ) { #expect($0.workspace.numbers("s") == [1]) }
  }

  @Test func aMoveInsideADeletedSessionDoesNotKeepIt() throws {
    try ConflictScenario.verify(
      setup: messages("s", "s"),
      authors: [
        { try $0.perform(.deleteSession(.named("s"))) },
        { try $0.perform(.move([.numbered(2)], to: .position(1))) },
      ]
    ) { device in
      #expect(device.workspace.sessions() == [])
      #expect(device.workspace.status(2) == .cancelled)
    }
  }

  @Test func aMoveOutOfADeletedSessionDoesNotBringTheMessageBack() throws {
    try ConflictScenario.verify(
      setup: messages("s", "t"),
      authors: [
        { try $0.perform(.deleteSession(.named("s"))) },
        { try $0.perform(.move([.numbered(1)], to: .after(.numbered(2)))) },
      ]
    ) { device in
      #expect(device.workspace.numbers("t") == [2])
      #expect(device.workspace.status(1) == .cancelled)
    }
  }

  @Test func theLaterOfTwoNamesWins() throws {
    try ConflictScenario.verify(
      setup: messages("s"),
      authors: [
        { try $0.perform(.renameSession(.named("s"), name: "earlier")) },
        { try $0.perform(.renameSession(.named("s"), name: "later")) },
      ]
    ) { #expect($0.workspace.sessions().map(\.name) == ["later"]) }
  }

  @Test func anUnseenLockSurvivesAnUnlock() throws {
    try ConflictScenario.verify(
      setup: threads("x"),
      authors: [
        { try $0.perform(.unlockThread(.named("x"))) },
        { try $0.perform(.send("again", as: 9, in: "x")) },
      ]
    ) { #expect($0.workspace.threadQueue().threads.map(\.locked) == [true]) }
  }

  @Test func threeDevicesAgreeOnThreeMovesOfOneThread() throws {
    try ConflictScenario.verify(
      setup: threads("x", "y", "z"),
      authors: [
        { try $0.perform(.moveThread(.named("x"), to: 2)) },
        { try $0.perform(.moveThread(.named("x"), to: 3)) },
        { try $0.perform(.moveThread(.named("z"), to: 1)) },
      ]
    ) { #expect(Set($0.workspace.threadNames) == ["x", "y", "z"]) }
  }

  /// Two spellings of one word are two sessions. If they were one, the order of arrival would
  /// decide which spelling a device keeps.
  @Test func canonicalEquivalentsAreTwoSessions() throws {
    try ConflictScenario.verify(
      setup: { _ in },
      authors: [
        { try $0.perform(.addSession(.named("caf\u{E9}"), name: nil, project: nil)) },
        { try $0.perform(.addSession(.named("cafe\u{301}"), name: nil, project: nil)) },
      ]
    ) { #expect($0.workspace.sessions().map(\.id.rawValue.utf8.count) == [6, 5]) }
  }
}
