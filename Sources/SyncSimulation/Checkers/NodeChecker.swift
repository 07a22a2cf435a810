import ServerCore
import WireProtocol

/// Everything that one of several nodes acknowledges is in the store's log at that moment, and only
/// the node that serves the workspace pushes.
final class NodeChecker: SimulationChecker {
  let name = "nodes"

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    let disk = simulation.server.disk
    switch observation {
    case .answered(let node, let bytes):
      guard case .ack(let ack)? = try? FrameCodec.decode(bytes), !disk.holds(ack.prefix) else {
        return []
      }
      return [
        "node \(node) acknowledges log entry \(ack.prefix.position), and the log that the store holds "
          + "up to \(disk.durableHead.position) is another one"
      ]
    case .pushing(let node):
      guard disk.owner != node else { return [] }
      return ["node \(node) pushes, and node \(disk.owner ?? -1) serves the workspace"]
    default: return []
    }
  }
}
