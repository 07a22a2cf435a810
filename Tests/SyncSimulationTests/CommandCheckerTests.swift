import ClientCore
import QueueModel
import SyncTestSupport
import Testing

@testable import SyncSimulation

/// The findings of `CommandChecker`: the device's state differs from the one that the checker
/// expects.
@Suite struct CommandCheckerTests {
  private let simulation = Simulation.twoDevices()
  private let checker = CommandChecker()

  /// The state before the last command, which is not the command that really happened last.
  init() {
    for number in UInt64(1)...4 { perform(.send("text \(number)", as: number, in: "s")) }
  }

  private func perform(_ command: Command) {
    simulation.apply(.perform(device: 0, .command(command)))
  }

  private var workspace: Workspace {
    get throws { try simulation.devices[0].workspace() }
  }

  private func claim(
    _ action: UserAction, from before: Workspace, _ notice: CommandOutcome.Notice = .done
  ) -> [String] {
    checker.noted(
      .performed(device: 0, action, before: before, CommandOutcome(notice: notice)),
      in: simulation)
  }

  @Test func anEditThatLostACharacterIsFound() throws {
    let before = try workspace
    let edit = UserAction.edit(.numbered(1), content: " another text\n", against: .current)
    simulation.apply(.perform(device: 0, edit))
    #expect(claim(edit, from: before) == [])
    for other in ["another tex", "another text.", "Another text"] {
      let wrong = UserAction.edit(.numbered(1), content: other, against: .current)
      #expect(claim(wrong, from: before).count == 1, "\(other)")
    }
  }

  /// The disk takes the end of an attempt with the consequences of a send.
  @Test func anEndThatIsStoredWithASendIsNotAnotherPlace() throws {
    func report(_ phase: RunPhase) {
      let run = Run(token: 1, attempt: 1, phase: phase, milliseconds: 1, note: "")
      perform(.reportRun(.numbered(1), run))
    }
    report(.running)
    let before = try workspace
    let send = Command.send("text 5", as: 5, in: "s")
    perform(send)
    report(.succeeded)
    func claim(_ position: Int, of count: Int) -> [String] {
      self.claim(
        .command(send), from: before,
        .queued(.numbered(5), position: position, count: count, warning: false))
    }
    #expect(claim(5, of: 5) == [])
    #expect(claim(4, of: 4).count == 1)
  }

  @Test func aMoveToAnotherPlaceIsFound() throws {
    let before = try workspace
    perform(.move([.numbered(4), .numbered(1)], to: .position(2)))
    func claim(
      _ numbers: [UInt64], _ target: MoveTarget, _ position: Int
    ) -> [String] {
      let move = Command.move(numbers.map(MessageID.numbered), to: target)
      return self.claim(.command(move), from: before, .moved(position: position))
    }
    #expect(claim([4, 1], .position(2), 2) == [])
    #expect(claim([4, 1], .after(.numbered(2)), 2) == [])
    #expect(claim([4, 1], .before(.numbered(3)), 2) == [])
    #expect(claim([4, 1], .position(2), 3).count == 1, "another position is answered")
    #expect(claim([4, 1], .position(1), 2).count == 1)
    #expect(claim([4, 1], .after(.numbered(3)), 2).count == 1)
    #expect(claim([1, 4], .position(2), 2).count == 1, "they stand in another order")
    #expect(claim([4], .position(2), 2).count == 1, "one moved too many")
    let nothing = UserAction.command(.move([.numbered(4), .numbered(1)], to: .position(2)))
    #expect(self.claim(nothing, from: before, .unchanged).count == 1)
  }

  @Test func triedAndUrgentMessagesAreFirstWhereverTheyAreMoved() throws {
    let run = Run(token: 1, attempt: 1, phase: .interrupted, milliseconds: 0)
    perform(.reportRun(.numbered(3), run))
    perform(.retry(.numbered(3)))
    perform(.setPriority(.numbered(4), .urgent))
    let before = try workspace
    let move = Command.move([.numbered(3), .numbered(4), .numbered(1)], to: .after(.numbered(2)))
    perform(move)
    #expect(claim(.command(move), from: before, .moved(position: 1)) == [])
  }

  @Test func aThreadMovedToAnotherPlaceIsFound() throws {
    for number in UInt64(5)...6 { perform(.send("text", as: number, in: "s\(number)")) }
    let before = try workspace
    perform(.moveThread(.named("s6"), to: 1))
    func claim(_ position: Int) -> [String] {
      let move = Command.moveThread(.named("s6"), to: position)
      return self.claim(.command(move), from: before, .moved(position: position))
    }
    #expect(claim(1) == [])
    #expect(claim(2).count == 1)
  }

  @Test func invisibleCommandsAreFound() throws {
    let before = try workspace
    let session = SessionID.named("s")
    perform(.setHost(session, DeviceID(high: 0xD, low: 1)))
    #expect(claim(.command(.setHost(session, DeviceID(high: 0xD, low: 1))), from: before) == [])
    #expect(claim(.command(.setHost(session, nil)), from: before).count == 1)
    perform(.hold(.numbered(1), until: 77))
    #expect(claim(.command(.hold(.numbered(1), until: 77)), from: before) == [])
    #expect(claim(.command(.hold(.numbered(1), until: nil)), from: before).count == 1)
    #expect(claim(.command(.setNotBefore(.numbered(1), 77)), from: before).count == 1)
    #expect(claim(.command(.skip(.numbered(1))), from: before).count == 1)
    #expect(claim(.command(.retry(.numbered(9))), from: before).count == 1)
    perform(.requeueThread(session))
    #expect(claim(.command(.requeueThread(session)), from: before) == [])
    perform(.unlockThread(session))
    #expect(claim(.command(.requeueThread(session)), from: before).count == 1)
  }
}
