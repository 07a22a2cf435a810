import ClientCore
import QueueModel
import ServerCore
import WireProtocol

/// The two sides understand each other: neither reports a fault of the other.
final class ProtocolChecker: SimulationChecker {
  let name = "protocol"
  /// If there are two copies of one memory, the server refuses batches of the later one that do not
  /// follow those of the other. The later copy learns that and stops sending them; otherwise its
  /// outbox would not drain.
  private var hasMemoryClones = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    if case .memoryCloned = observation { hasMemoryClones = true }
    guard case .serverReport(let report) = observation else { return [] }
    switch report {
    case .faulted(_, let message):
      return ["the server faults a client: \(message)"]
    case .refused(let id, .authenticationBudget, _) where simulation.network.isDisturbed(id):
      // The network prevented the `hello` from reaching the server.
      return []
    case .refused(_, .invalidChanges, _) where hasMemoryClones:
      return []
    case .refused(_, .rateLimited, _) where simulation.results.hasStoreFailed:
      // A device that cannot store the state, or whose server cannot, requests it with every
      // connection.
      return []
    case .refused(_, .rateLimited, _) where hasCopies(simulation):
      // The server accepts one state of a device at a time. If two copies have data that its log
      // lacks, the later one waits 30 seconds and offers its state again.
      return []
    case .refused(_, let code, let message) where ProtocolChecker.faultCodes.contains(code):
      return ["the server refuses: \(message)"]
    case .storageFailed(let fault) where fault.code == .corrupt || fault.code == .internalError:
      return ["the server's store: \(fault.message)"]
    default:
      return []
    }
  }

  private func hasCopies(_ simulation: Simulation) -> Bool {
    simulation.devices.contains { simulation.devices.copies(of: $0).count > 1 }
  }

  private static let faultCodes: Set<RefusalCode> = [
    .unsupportedVersion, .unauthorized, .revoked, .wrongWorkspace, .invalidChanges,
    .limitReached, .rateLimited, .authenticationBudget,
  ]
}

/// Everything that can grow is bounded at rest.
final class BoundednessChecker: SimulationChecker {
  let name = "bounds"

  func settled(in simulation: Simulation) -> [String] {
    var found: [String] = []
    for device in simulation.devices {
      guard let process = device.process else { continue }
      if process.pipes.count > 1 {
        found.append("device \(device.index) holds \(process.pipes.count) connections")
      }
      let receipts = process.core.replica.receipts.all.count
      if receipts > BatchReceipts.receiptsMax {
        found.append("device \(device.index) keeps \(receipts) receipts")
      }
    }
    return found
  }
}
