import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The rows of the conflict table about messages; each row in all delivery orders.
struct MessageConflictTests {
  private func queue(_ count: UInt64, in session: String = "s") -> ConflictScenario.Action {
    { device in
      for number in 1...count {
        try device.perform(.send("text \(number)", as: number, in: session))
      }
    }
  }

  @Test func theLaterOfTwoMovesWins() throws {
    try ConflictScenario.verify(
      setup: queue(4),
      authors: [
        { try $0.perform(.move([.numbered(1)], to: .position(4))) },
        { try $0.perform(.move([.numbered(1)], to: .after(.numbered(2)))) },
      ]
    ) { #expect($0.workspace.numbers("s") == [2, 1, 3, 4]) }
  }

  @Test func theLaterMoveWinsWhicheverAuthorMakesIt() throws {
    try ConflictScenario.verify(
      setup: queue(4),
      authors: [
        { try $0.perform(.move([.numbered(1)], to: .after(.numbered(2)))) },
        { try $0.perform(.move([.numbered(1)], to: .position(4))) },
      ]
    ) { #expect($0.workspace.numbers("s") == [2, 3, 4, 1]) }
  }

  @Test func movesToTwoQueuesEndInExactlyOne() throws {
    try ConflictScenario.verify(
      setup: { device in
        try device.perform(.send("moved", as: 1, in: "s"))
        try device.perform(.send("in t", as: 2, in: "t"))
        try device.perform(.send("in u", as: 3, in: "u"))
      },
      authors: [
        { try $0.perform(.move([.numbered(1)], to: .before(.numbered(2)))) },
        { try $0.perform(.move([.numbered(1)], to: .before(.numbered(3)))) },
      ]
    ) { device in
      #expect(device.workspace.numbers("s") == [])
      #expect(device.workspace.numbers("t") == [2])
      #expect(device.workspace.numbers("u") == [1, 3])
    }
  }

  @Test(arguments: [true, false])
  func aMoveDoesNotBringBackWhatWasCancelled(moveIsLater: Bool) throws {
    let move: ConflictScenario.Action = {
      try $0.perform(.move([.numbered(1)], to: .position(3)))
    }
    let cancel: ConflictScenario.Action = { try $0.perform(.cancel([.numbered(1)])) }
    let check: ConflictScenario.Action = { device in
      #expect(device.workspace.numbers("s") == [2, 3])
      #expect(device.workspace.status(1) == .cancelled)
    }
    if moveIsLater {
      try ConflictScenario.verify(setup: queue(3), authors: [cancel, move], result: check)
    } else {
      try ConflictScenario.verify(setup: queue(3), authors: [move, cancel], result: check)
    }
  }

  @Test func aMoveToAnotherQueueDoesNotBringBackWhatWasCancelled() throws {
    try ConflictScenario.verify(
      setup: { device in
        try device.perform(.send("moved", as: 1, in: "s"))
        try device.perform(.send("in t", as: 2, in: "t"))
      },
      authors: [
        { try $0.perform(.cancel([.numbered(1)])) },
        { try $0.perform(.move([.numbered(1)], to: .after(.numbered(2)))) },
      ]
    ) { device in
      #expect(device.workspace.numbers("s") == [])
      #expect(device.workspace.numbers("t") == [2])
    }
  }

  @Test func twoEditsMergeCharacterByCharacter() throws {
    try ConflictScenario.verify(
      setup: { try $0.perform(.send("fix the test", as: 1, in: "s")) },
      authors: [
        {
          try $0.perform(.edit(.numbered(1), content: "fix the failing test", base: nil))
        },
        { try $0.perform(.edit(.numbered(1), content: "please fix the test today", base: nil)) },
      ]
    ) { #expect($0.workspace.contents("s") == ["please fix the failing test today"]) }
  }

  @Test func deletionsByTwoEditsOfTheSameWordCountOnce() throws {
    try ConflictScenario.verify(
      setup: { try $0.perform(.send("fix the the test", as: 1, in: "s")) },
      authors: [
        { try $0.perform(.edit(.numbered(1), content: "fix the test", base: nil)) },
        { try $0.perform(.edit(.numbered(1), content: "fix the test", base: nil)) },
      ]
    ) { #expect($0.workspace.contents("s") == ["fix the test"]) }
  }

  @Test func anEditOfACancelledMessageIsKeptForRestore() throws {
    try ConflictScenario.verify(
      setup: queue(2),
      authors: [
        { try $0.perform(.edit(.numbered(1), content: "text 1, edited", base: nil)) },
        { try $0.perform(.cancel([.numbered(1)])) },
      ]
    ) { device in
      #expect(device.workspace.contents("s") == ["text 2"])
      try device.perform(.restore(.numbered(1)))
      #expect(device.workspace.contents("s") == ["text 1, edited", "text 2"])
    }
  }

  @Test func twoCancelsCountOnce() throws {
    try ConflictScenario.verify(
      setup: queue(2),
      authors: [
        { try $0.perform(.cancel([.numbered(1)])) },
        { try $0.perform(.cancel([.numbered(1)])) },
      ]
    ) { device in
      #expect(device.workspace.numbers("s") == [2])
      try device.perform(.restore(.numbered(1)))
      #expect(device.workspace.numbers("s") == [1, 2])
    }
  }

  @Test func aRestoreSurvivesACancelThatDidNotSeeIt() throws {
    try ConflictScenario.verify(
      setup: queue(2),
      authors: [
        { device in
          try device.perform(.cancel([.numbered(1)]))
          try device.perform(.restore(.numbered(1)))
        },
        { try $0.perform(.cancel([.numbered(1)])) },
      ]
    ) { #expect($0.workspace.numbers("s") == [1, 2]) }
  }

  @Test func aRestoreSurvivesARestoreAndCancelElsewhere() throws {
    try ConflictScenario.verify(
      setup: { device in
        try device.perform(.send("one", as: 1, in: "s"))
        try device.perform(.cancel([.numbered(1)]))
      },
      authors: [
        { try $0.perform(.restore(.numbered(1))) },
        { device in
          try device.perform(.restore(.numbered(1)))
          try device.perform(.cancel([.numbered(1)]))
        },
      ]
    ) { #expect($0.workspace.numbers("s") == [1]) }
  }

  @Test func clearTakesWhatItSawAndLeavesTheNewOne() throws {
    try ConflictScenario.verify(
      setup: queue(2),
      authors: [
        { try $0.perform(.send("new", as: 9, in: "s")) },
        { try $0.perform(.clear(.named("s"))) },
      ]
    ) { #expect($0.workspace.numbers("s") == [9]) }
  }

  @Test func theLaterOfTwoPrioritiesWins() throws {
    try ConflictScenario.verify(
      setup: queue(2),
      authors: [
        { try $0.perform(.setPriority(.numbered(2), .urgent)) },
        { device in
          try device.perform(.setPriority(.numbered(2), .urgent))
          try device.perform(.setPriority(.numbered(2), .normal))
        },
      ]
    ) { #expect($0.workspace.numbers("s") == [1, 2]) }
    try ConflictScenario.verify(
      setup: queue(2),
      authors: [
        { device in
          try device.perform(.setPriority(.numbered(2), .urgent))
          try device.perform(.setPriority(.numbered(2), .normal))
        },
        { try $0.perform(.setPriority(.numbered(2), .urgent)) },
      ]
    ) { #expect($0.workspace.numbers("s") == [2, 1]) }
  }

  @Test func priorityAndMoveBothHold() throws {
    try ConflictScenario.verify(
      setup: queue(4),
      authors: [
        { try $0.perform(.setPriority(.numbered(4), .urgent)) },
        { try $0.perform(.move([.numbered(4)], to: .position(1))) },
      ]
    ) { device in
      #expect(device.workspace.numbers("s") == [4, 1, 2, 3])
      try device.perform(.setPriority(.numbered(4), .normal))
      #expect(device.workspace.numbers("s") == [4, 1, 2, 3])
    }
  }

  @Test func beyondTheCapOfflineDevicesKeepEverything() throws {
    try ConflictScenario.verify(
      setup: { device in
        device.queueSizeMax = 3
        for number in 1...UInt64(2) {
          try device.perform(.send("text", as: number, in: "s"))
        }
      },
      authors: [
        { device in
          device.queueSizeMax = 3
          try device.perform(.send("a", as: 10, in: "s"))
        },
        { device in
          device.queueSizeMax = 3
          try device.perform(.send("b", as: 20, in: "s"))
        },
      ]
    ) { device in
      #expect(Set(device.workspace.numbers("s")) == [1, 2, 10, 20])
      device.queueSizeMax = 3
      #expect(throws: QueueError.queueFull(current: 4, max: 3)) {
        try device.perform(.send("c", as: 30, in: "s"))
      }
    }
  }

  @Test func batchesQueuedOfflineStayTogether() throws {
    try ConflictScenario.verify(
      setup: queue(1),
      authors: [
        { device in
          for number in UInt64(10)...12 {
            try device.perform(.send("a", as: number, in: "s", requeues: false))
          }
        },
        { device in
          for number in UInt64(20)...22 {
            try device.perform(.send("b", as: number, in: "s", requeues: false))
          }
        },
      ]
    ) { device in
      let numbers = device.workspace.numbers("s")
      #expect(
        numbers == [1, 10, 11, 12, 20, 21, 22] || numbers == [1, 20, 21, 22, 10, 11, 12])
    }
  }

  @Test func batchesMovedToOnePlaceStayTogether() throws {
    try ConflictScenario.verify(
      setup: queue(6),
      authors: [
        { try $0.perform(.move([.numbered(4), .numbered(3)], to: .position(1))) },
        { try $0.perform(.move([.numbered(6), .numbered(5)], to: .position(1))) },
      ]
    ) { device in
      let numbers = device.workspace.numbers("s")
      #expect(numbers == [4, 3, 6, 5, 1, 2] || numbers == [6, 5, 4, 3, 1, 2])
    }
  }

  @Test func messagesPutInFrontOneByOneStayTogether() throws {
    try ConflictScenario.verify(
      setup: queue(7),
      authors: [
        { device in
          for number in UInt64(2)...4 {
            try device.perform(.move([.numbered(number)], to: .position(1)))
          }
        },
        { device in
          for number in UInt64(5)...7 {
            try device.perform(.move([.numbered(number)], to: .position(1)))
          }
        },
      ]
    ) { device in
      let numbers = device.workspace.numbers("s")
      #expect(numbers == [4, 3, 2, 7, 6, 5, 1] || numbers == [7, 6, 5, 4, 3, 2, 1])
    }
  }

  @Test func oneIdQueuedTwiceIsOneMessageWithTheEarlierText() throws {
    try ConflictScenario.verify(
      setup: queue(1),
      authors: [
        { try $0.perform(.send("earlier", as: 5, in: "s")) },
        { try $0.perform(.send("later", as: 5, in: "t")) },
      ]
    ) { device in
      #expect(device.workspace.contents("s") == ["text 1"])
      #expect(device.workspace.contents("t") == ["earlier"])
      try device.perform(.cancel([.numbered(5)]))
      #expect(device.workspace.contents("t") == [])
    }
  }

  /// Saved from an editor that had opened the text that is no longer visible.
  @Test func anEditOfTheOtherTextOfAnIdQueuedTwiceShows() throws {
    var (first, second) = (TestDevice(1), TestDevice(2))
    try first.perform(.send("earlier", as: 5, in: "s"))
    try second.perform(.send("later", as: 5, in: "s"))
    let base = try second.workspace.editBase(.numbered(5))
    try second.merge(first.made)
    #expect(second.workspace.contents("s") == ["earlier"])
    try second.perform(.edit(.numbered(5), content: "later, corrected", base: base))
    #expect(second.workspace.contents("s") == ["later, corrected"])
  }
}
