import ClientCore
import QueueModel
import QueueOracle

/// Draws events of users and agents at hosts that decide whether messages start.
struct HostWorkload {
  private var generator: SeededGenerator
  /// The frequency of such an event, in percent of the steps; some runs have none.
  private let percent: Int

  init(generator: SeededGenerator) {
    self.generator = generator
    percent = [0, 5, 15][self.generator.below(3)]
  }

  /// An event at a host instead of the next step; nil for none.
  mutating func step(in simulation: Simulation) -> WorldEvent? {
    guard generator.chance(percent),
      let device = generator.pick(Array(simulation.devices)),
      let workspace = device.process?.core.replica.workspace,
      let session = generator.pick(workspace.sessions().map(\.id))
    else { return nil }
    return event(on: device, session).map { .atHost(device: device.index, $0) }
  }

  private mutating func event(on device: SimulatedDevice, _ session: SessionID) -> HostEvent? {
    guard let host = device.process?.host else { return nil }
    switch generator.below(100) {
    case ..<25:
      return .set(
        HostSettings(
          mode: generator.pick(weighted: [(6, .free), (1, .off), (1, .gated)]),
          needsConsent: generator.chance(50)))
    case ..<50: return .chooseHost(session, isHere: generator.chance(75))
    case ..<60:
      let mode: StartMode? = generator.pick([nil, nil, .free, .gated, .off]) ?? nil
      return .chooseAgent(session, mode)
    case ..<75:
      // A session that became busy also becomes idle again.
      let busy = generator.pick(host.busy.sorted())
      return busy.map { .busy($0, false) } ?? .busy(session, true)
    case ..<90:
      let open = generator.pick(host.open.sorted())
      return open.map { .gate($0, isOpen: false) } ?? .gate(session, isOpen: true)
    case ..<96:
      return .stopAgent(generator.pick((device.process?.agents ?? [:]).keys.sorted()) ?? session)
    default: return .drain
    }
  }
}
