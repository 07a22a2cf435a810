import ClientCore
import QueueModel
import SyncTestSupport
import Testing

@testable import SyncSimulation

/// The guarantees of the simulated network.
@Suite struct NetworkTests {
  private func options(devices: Int) -> SimulationOptions {
    var options = SimulationOptions(seed: 3, devices: devices)
    options.network.latencyMilliseconds = 20...20
    options.network.splitPercent = 0
    return options
  }

  @Test func laneThatBreaksTwiceStillSaysThatItBroke() {
    var lane = Pipe.Lane()
    _ = lane.put(.message([1, 2, 3, 4], bytes: 8), at: 5)
    lane.cut(afterBytes: 8)
    _ = lane.put(.end("the first break"), at: 6)
    lane.cut(afterBytes: 3)
    #expect(lane.isEmpty && !lane.isEnded && lane.waitingBytes == 0)
    _ = lane.put(.end("the second break"), at: 7)
    #expect(lane.isEnded && lane.carriesNews)
    guard case .end("the second break") = lane.take() else {
      Issue.record("no one is notified")
      return
    }
    #expect(lane.put(.ping, at: 8) == nil)
  }

  @Test func breakThatIsUnderWayIsNews() {
    var lane = Pipe.Lane()
    _ = lane.put(.ping, at: 1)
    #expect(!lane.carriesNews)
    _ = lane.put(.end("broken"), at: 2)
    #expect(lane.carriesNews)
  }

  /// The other end must not consider a connection open that broke on its way.
  @Test func connectionThatBreaksWhileItOpensIsOpenedAgain() {
    let world = Simulation(options(devices: 1))
    world.advance(milliseconds: 1)
    world.apply(.cut(device: 0))
    let first = world.network.pipes[0]
    world.advance(milliseconds: 2_000)
    #expect(first.serverID == nil && !first.clientHolds)
    #expect(world.devices[0].process?.core.isSynced == true)
    world.advance(milliseconds: 20_000)
    #expect(world.results.violations.isEmpty)
  }

  @Test func wakingEndsTheWaitOfAConnectionThatOpens() {
    let world = Simulation(options(devices: 1))
    world.apply(.sleep(device: 0, milliseconds: 100_000))
    world.advance(milliseconds: 1_000)
    #expect(world.network.pipes.map(\.serverID) == [nil])
    world.devices.wake(world.devices[0])
    world.advance(milliseconds: 200)
    #expect(world.devices[0].process?.core.isSynced == true)
    world.advance(milliseconds: 200_000)
    #expect(world.network.pipes.count == 1 && world.results.violations.isEmpty)
  }

  /// If half a connection is cut, nothing more arrives; a device that does not know yet is not at
  /// rest.
  @Test func deviceWithABrokenConnectionIsNotQuiet() {
    let world = Simulation(options(devices: 2))
    #expect(world.quiescence.settle())
    world.apply(.partition(device: 1, .both))
    world.apply(.cut(device: 1))
    world.apply(.perform(device: 0, .command(.send("text", as: 1, in: "s"))))
    world.apply(.heal(device: 1))
    #expect(world.quiescence.settle())
    world.check()
    #expect(world.results.violations.isEmpty)
  }

  @Test func serverWaitsForAGreetingThatTheNetworkKeeps() {
    let world = Simulation(options(devices: 1))
    // `hello` leaves as the connection opens, and never arrives.
    while world.network.pipes.first?.serverID == nil { world.advance(milliseconds: 1) }
    world.apply(.partition(device: 0, .toServer))
    world.advance(milliseconds: 12_000)
    #expect(world.results.violations.isEmpty)
    #expect(world.network.pipes.allSatisfy { !$0.isAuthenticated })
  }
}
