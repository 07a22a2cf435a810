import ClientCore
import QueueModel
import SyncTestSupport
import Testing

@testable import SyncSimulation

/// Users and agents at hosts decide what starts; and the findings of `StandstillChecker`.
@Suite struct HostEventTests {
  private let session = SessionID.named("s")

  /// A device that runs messages, in a world without faults.
  private func world(isAlone: Bool = false) -> Simulation {
    var options = SimulationOptions(seed: 5, devices: isAlone ? 1 : 2)
    options.runsAgents = true
    options.isAlone = isAlone
    options.hasQuickAgents = true
    return Simulation(options)
  }

  private func starts(_ world: Simulation) -> Int { world.results.execution.starts }

  private func send(_ number: UInt64, in world: Simulation, on device: Int = 0) {
    world.apply(.perform(device: device, .command(.send("do it", as: number, in: "s"))))
    world.advance(milliseconds: 10_000)
  }

  @Test(arguments: [false, true]) func consentDecidesWhatStarts(_ isAlone: Bool) {
    let world = world(isAlone: isAlone)
    let here = world.devices[0].files.device
    world.apply(.atHost(device: 0, .set(HostSettings(needsConsent: true))))
    world.apply(.perform(device: 0, .command(.addSession(session, name: nil, project: nil))))
    world.apply(.perform(device: 0, .command(.setHost(session, here))))
    send(1, in: world)
    #expect(starts(world) == 0)
    world.apply(.atHost(device: 0, .chooseHost(session, isHere: true)))
    world.advance(milliseconds: 10_000)
    #expect(starts(world) == 1)
    world.apply(.crash(device: 0, losesPower: true))
    world.apply(.restart(device: 0))
    send(2, in: world)
    #expect(starts(world) == 2)
    world.apply(.atHost(device: 0, .chooseHost(session, isHere: false)))
    world.apply(.perform(device: 0, .command(.setHost(session, here))))
    send(3, in: world)
    #expect(starts(world) == 2)
    // The repair includes users who let it run.
    world.apply(.settle)
    #expect(starts(world) == 3)
    #expect(world.results.violations == [])
  }

  @Test func aPersonAtThePromptComesFirst() {
    let world = world()
    world.apply(.atHost(device: 0, .chooseHost(session, isHere: true)))
    #expect(starts(world) == 0)
    world.apply(.perform(device: 0, .command(.addSession(session, name: nil, project: nil))))
    world.apply(.atHost(device: 0, .chooseHost(session, isHere: true)))
    world.apply(.atHost(device: 0, .busy(session, true)))
    send(1, in: world)
    #expect(starts(world) == 0)
    world.apply(.atHost(device: 0, .busy(session, false)))
    world.advance(milliseconds: 10_000)
    #expect(starts(world) == 1)
    world.apply(.atHost(device: 0, .chooseAgent(session, .gated)))
    send(2, in: world)
    #expect(starts(world) == 1)
    world.apply(.atHost(device: 0, .gate(session, isOpen: true)))
    world.advance(milliseconds: 10_000)
    #expect(starts(world) == 2)
    world.apply(.settle)
    #expect(world.results.violations == [])
  }

  @Test func aProgramThatIsToEndStartsNothing() {
    let world = world()
    world.apply(.perform(device: 0, .command(.addSession(session, name: nil, project: nil))))
    world.apply(.atHost(device: 0, .chooseHost(session, isHere: true)))
    world.advance(milliseconds: 1_000)
    world.apply(.atHost(device: 0, .drain))
    world.advance(milliseconds: 30_000)
    #expect(!world.devices[0].isRunning)
    send(1, in: world, on: 1)
    world.apply(.restart(device: 0))
    world.advance(milliseconds: 10_000)
    #expect(starts(world) == 1)
    world.apply(.settle)
    #expect(world.results.violations == [])
  }

  /// The run finds a message that could start and does not, and also one that starts against its
  /// users' decision.
  @Test func stuckMessagesAreFound() {
    let world = world(isAlone: true)
    let device = world.devices[0]
    world.apply(.perform(device: 0, .command(.addSession(session, name: nil, project: nil))))
    world.apply(.atHost(device: 0, .chooseHost(session, isHere: true)))
    // The core gets an event that users did not cause.
    world.apply(.atHost(device: 0, .busy(session, true)))
    device.process?.host.busy = []
    send(1, in: world)
    #expect(world.results.violations == [])
    world.advance(milliseconds: 70_000)
    #expect(world.results.violations.map(\.checker) == ["standstill"])
  }

  @Test func aStartWithoutConsentIsFound() {
    let world = world(isAlone: true)
    world.apply(.perform(device: 0, .command(.addSession(session, name: nil, project: nil))))
    world.apply(.atHost(device: 0, .chooseHost(session, isHere: true)))
    world.devices[0].process?.host.settings.needsConsent = true
    world.devices[0].process?.host.choices = SessionChoices()
    send(1, in: world)
    #expect(Set(world.results.violations.map(\.checker)) == ["standstill"])
  }
}
