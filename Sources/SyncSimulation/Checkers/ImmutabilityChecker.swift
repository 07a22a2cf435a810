import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// An id names one content in everything that is authored and logged, even after files were
/// restored or copied. Stamps are ignored, because the server may lower them once.
///
/// If memory is cloned, a second content may be authored, but must be detected before it is logged.
final class ImmutabilityChecker: SimulationChecker {
  let name = "immutability"
  /// A hash of the content of each unit, by id.
  private var authored: [OperationID: Int] = [:]
  private var logged: [OperationID: Int] = [:]
  private var hasMemoryClones = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .memoryCloned:
      hasMemoryClones = true
      return []
    case .reauthored(let device):
      return hasMemoryClones
        ? [] : ["device \(device) gives operations other ids, and no memory was copied"]
    case .performed(let device, _, _, let outcome):
      return note(outcome.operations, in: &authored, "device \(device) authors")
    case .committed(let entries, _):
      let operations = entries.flatMap { (try? PackedDelta.unpack($0.content.bytes)) ?? [] }
      return note(operations, in: &logged, "the server logs")
        + note(operations, in: &authored, "the server logs")
    default:
      return []
    }
  }

  private func note(
    _ operations: [Operation], in contents: inout [OperationID: Int], _ what: String
  ) -> [String] {
    guard !hasMemoryClones else { return [] }
    for operation in operations {
      for unit in operation.units {
        let content = unit.withoutStamp.hashValue
        if contents.updateValue(content, forKey: unit.id) ?? content != content {
          return ["\(what) a second content for \(unit.id)"]
        }
      }
    }
    return []
  }
}
