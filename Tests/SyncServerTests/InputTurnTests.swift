import NIOCore
import QueueModel
import Testing

@testable import SyncServer

/// The order in which input is processed, for any amount from each device.
@Suite struct InputTurnTests {
  /// A connection whose input is a number of pieces.
  private final class Sender: TurnTaker {
    let name: String
    var group: TurnGroup
    var pieces: Int
    let served: (String) -> Void

    init(
      _ name: String, _ pieces: Int, in group: TurnGroup, served: @escaping (String) -> Void
    ) {
      (self.name, self.pieces, self.group, self.served) = (name, pieces, group, served)
    }

    func takeTurn() -> Bool {
      pieces -= 1
      served(name)
      return pieces > 0
    }
  }

  /// Turns with a clock of the test's own.
  private final class Scene {
    var time = NIODeadline.uptimeNanoseconds(0)
    var order: [String] = []
    var calls: [Bool] = []
    /// The length of a turn.
    var turn = TimeAmount.microseconds(1)
    lazy var turns = InputTurns(clock: { [unowned self] in time }) { [unowned self] in
      calls.append($0)
    }

    @discardableResult
    func send(_ name: String, _ pieces: Int, in group: TurnGroup) -> Sender {
      let sender = Sender(name, pieces, in: group) { [unowned self] name in
        order.append(name)
        time = time + turn
      }
      turns.wait(sender)
      return sender
    }
  }

  private let busy = TurnGroup.workspace(WorkspaceID(high: 1, low: 1))
  private let quiet = TurnGroup.workspace(WorkspaceID(high: 1, low: 2))

  @Test func workspacesTakeTurnsAndConnectionsWithinThem() {
    let scene = Scene()
    scene.send("a1", 3, in: busy)
    scene.send("a2", 2, in: busy)
    for index in 1...3 { scene.send("s\(index)", 1, in: .strangers) }
    scene.send("b", 2, in: quiet)
    scene.turns.giveTurns()
    #expect(
      scene.order == ["a1", "s1", "b", "a2", "s2", "b", "a1", "s3", "a2", "a1"])
    #expect(scene.calls == [false])
  }

  /// The sockets are polled while one connection has much waiting, and a new arrival gets the turn
  /// after the next.
  @Test func aNewcomerWaitsForOnePieceOfEach() {
    let scene = Scene()
    scene.turn = .milliseconds(5)
    scene.send("a", 100, in: busy)
    scene.turns.giveTurns()
    #expect(scene.order == ["a"])
    #expect(scene.calls == [false, true])
    scene.send("b", 1, in: quiet)
    #expect(scene.calls == [false, true])
    scene.turns.giveTurns()
    scene.turns.giveTurns()
    #expect(scene.order == ["a", "a", "b"])
    scene.turn = .microseconds(1)
    scene.turns.giveTurns()
    #expect(scene.order.count == 101)
    #expect(scene.calls.last == true)
  }

  /// A device that joins while its input waits uses the turns of its workspace from then on.
  @Test func aJoinedDeviceIsNoLongerAStranger() {
    let scene = Scene()
    for index in 1...3 { scene.send("s\(index)", 3, in: .strangers) }
    scene.turn = .milliseconds(5)
    scene.turns.giveTurns()
    let joining = scene.send("j", 3, in: .strangers)
    for _ in 1...3 { scene.turns.giveTurns() }
    #expect(scene.order == ["s1", "s2", "s3", "s1"])
    joining.group = quiet
    scene.turn = .microseconds(1)
    scene.turns.giveTurns()
    #expect(scene.order.dropFirst(4) == ["j", "s2", "j", "s3", "j", "s1", "s2", "s3"])
  }
}
