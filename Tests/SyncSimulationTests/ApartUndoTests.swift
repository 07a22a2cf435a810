import QueueModel
import SyncSimulation
import SyncTestSupport
import Testing

/// Undo and redo on an offline device, in worlds in which careless ones would cause a start. After
/// the devices synchronize again, nothing starts. Without the care of an offline device, the
/// checker reports a start.
@Suite struct ApartUndoTests {
  /// The events of session `s`, which both devices know.
  struct World: CustomTestStringConvertible {
    var name: String
    /// The commands of device 0 before it is offline.
    var before: [Command] = []
    /// The command of device 0 while it is offline.
    var turn: Command = .undo
    /// The commands of device 1 meanwhile.
    var meanwhile: [Command]
    /// Whether the session has a host from the beginning.
    var isHosted = false
    /// Whether a direct command is named instead.
    var isRefused = false

    var testDescription: String { name }
  }

  private static let session = SessionID.named("s")
  private static let host = Command.setHost(session, DeviceID(high: 0xD, low: 2))
  private static let later = VirtualClock.startOfTime + 900_000_000

  static let worlds = [
    World(
      name: "a pause, and a message that came meanwhile", before: [.pause(session, reason: nil)],
      meanwhile: [.send("theirs", as: 9, in: "s")], isHosted: true, isRefused: true),
    World(
      name: "a cancellation, and a host that came meanwhile",
      before: [.send("text", as: 1, in: "s"), .cancel([.numbered(1)])], meanwhile: [host]),
    World(
      name: "a send that is done again, and a host that came meanwhile",
      before: [.send("text", as: 1, in: "s"), .undo], turn: .redo, meanwhile: [host]),
    World(
      name: "a move to the front, and a host that came meanwhile",
      before: [
        .send("one", as: 1, in: "s"), .send("two", as: 2, in: "s"),
        .setNotBefore(.numbered(2), later), .move([.numbered(1)], to: .position(2)),
      ], meanwhile: [host]),
    World(
      name: "a hold, and a host that came meanwhile",
      before: [.send("text", as: 1, in: "s"), .hold(.numbered(1), until: later)],
      meanwhile: [host]),
    World(
      name: "a time, and a host that came meanwhile",
      before: [.send("text", as: 1, in: "s"), .setNotBefore(.numbered(1), later)],
      meanwhile: [host]),
  ]

  private func perform(_ device: Int, _ command: Command, after: Int64 = 100) -> Step {
    Step(after: after, .perform(device: device, .command(command)))
  }

  private func steps(of world: World) -> [Step] {
    var steps = [perform(1, .addSession(Self.session, name: nil, project: nil), after: 5_000)]
    if world.isHosted { steps.append(perform(1, Self.host)) }
    steps.append(Step(after: 5_000, .settle))
    steps += world.before.map { perform(0, $0) }
    steps.append(Step(after: 5_000, .disconnect(device: 0)))
    steps += world.meanwhile.map { perform(1, $0, after: 2_000) }
    steps.append(perform(0, world.turn, after: 5_000))
    steps.append(Step(after: 1_000, .reconnect(device: 0)))
    steps.append(Step(after: 60_000, .settle))
    return steps
  }

  @Test(arguments: worlds) func nothingStarts(world: World) {
    var options = SimulationOptions(seed: 1, devices: 2)
    options.runsAgents = true
    let run = RecordedRun(options: options, steps: steps(of: world))
    let report = Simulation.replay(run)
    #expect(report.violations == [])
    #expect(report.execution.starts == 0)
    #expect(report.commandsRefused == (world.isRefused ? 1 : 0))
  }

  @Test(arguments: worlds) func carelessnessIsFound(world: World) {
    var options = SimulationOptions(seed: 1, devices: 2)
    options.runsAgents = true
    options.planted = [.undoStartsApart]
    let run = RecordedRun(options: options, steps: steps(of: world))
    #expect(Set(Simulation.replay(run).violations.map(\.checker)) == ["undo"])
  }

  /// An edit and its undo reach the server together: nothing starts by them. The former text, which
  /// the undo saves again, and the text of the other device may be versions of a merged message.
  @Test func anUnsentEditAndItsUndoStartNothing() {
    func edit(_ device: Int, _ text: String) -> Step {
      perform(device, .edit(.numbered(1), content: text, base: nil), after: 2_000)
    }
    var options = SimulationOptions(seed: 1, devices: 2)
    options.runsAgents = true
    let steps = [
      perform(0, .send("text", as: 1, in: "s")),
      perform(0, .setNotBefore(.numbered(1), Self.later)),
      Step(after: 5_000, .settle), perform(1, Self.host), Step(after: 5_000, .settle),
      Step(after: 0, .disconnect(device: 0)), edit(1, "theirs"), edit(0, "mine"),
      perform(0, .undo, after: 1_000), Step(after: 1_000, .reconnect(device: 0)),
      Step(after: 60_000, .settle),
    ]
    let report = Simulation.replay(RecordedRun(options: options, steps: steps))
    #expect(report.violations == [])
    #expect(report.commandsRefused == 0)
  }

  /// Typing in a merged text chooses it once the stretch of typing ends. The undo that ends it takes
  /// that back in the same change.
  @Test func whatWasTypedInAMergedTextAndUndoneWaits() {
    func edit(_ device: Int, _ text: String) -> Step {
      perform(device, .edit(.numbered(1), content: text, base: nil), after: 2_000)
    }
    var options = SimulationOptions(seed: 1, devices: 2)
    options.runsAgents = true
    let steps = [
      perform(0, .send("text", as: 1, in: "s")), Step(after: 5_000, .settle),
      Step(after: 0, .disconnect(device: 0)), edit(0, "mine"), edit(1, "theirs"),
      Step(after: 1_000, .reconnect(device: 0)), Step(after: 5_000, .settle),
      perform(1, Self.host), Step(after: 5_000, .settle),
      Step(after: 0, .disconnect(device: 0)), perform(0, .deleteText(.numbered(1), 0..<1)),
      perform(0, .undo), Step(after: 1_000, .reconnect(device: 0)),
      Step(after: 60_000, .settle),
    ]
    let report = Simulation.replay(RecordedRun(options: options, steps: steps))
    #expect(report.violations == [])
    #expect(report.commandsRefused == 0)
    #expect(report.execution.starts == 0)
  }
}
