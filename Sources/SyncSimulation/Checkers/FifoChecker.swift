import ClientCore
import QueueModel
import SequenceCRDT

/// If devices with correct clocks sent two messages to one place of a queue, the earlier one comes
/// first on every device. Moved messages are left out.
final class FifoChecker: SimulationChecker {
  let name = "fifo"

  /// The place to which a message was sent, next to others that were sent there.
  private struct Place: Hashable {
    var session: SessionID
    var left: OperationID?
    var right: OperationID?
    var priority: Priority
  }

  private struct Sent {
    var message: MessageID
    /// True time in milliseconds.
    var time: Int64
  }

  private var sent: [Place: [Sent]] = [:]
  private var places: [MessageID: Place] = [:]
  /// Messages that a user put first, moved, prioritised or queued again.
  private var disturbed: Set<MessageID> = []
  /// If two memories use one replica, an id may name two places.
  private var hasMemoryClones = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .memoryCloned:
      hasMemoryClones = true
    case .performed(let index, .command(.send(let send)), _, let outcome):
      if send.goesFirst { disturbed.insert(send.id) }
      guard let origins = outcome.operations.lazy.compactMap(\.origins).first else { break }
      let place = Place(
        session: send.session, left: origins.left, right: origins.right, priority: send.priority)
      guard places.updateValue(place, forKey: send.id) == nil else {
        disturbed.insert(send.id)
        break
      }
      guard simulation.devices[index].clockOffset == 0 else { break }
      sent[place, default: []].append(Sent(message: send.id, time: simulation.clock.wall))
    case .performed(_, .command(let command), _, _), .interrupted(_, .command(let command), _, _):
      disturb(by: command)
    default:
      break
    }
    return []
  }

  private func disturb(by command: Command) {
    switch command {
    case .move(let messages, _): disturbed.formUnion(messages)
    case .setPriority(let message, _): disturbed.insert(message)
    // The device died during the command. The message may exist, and another device may have sent
    // the same one.
    case .send(let send): disturbed.insert(send.id)
    default: break
    }
  }

  func settled(in simulation: Simulation) -> [String] {
    guard !hasMemoryClones else { return [] }
    // Messages are recorded in the order of true time.
    let groups = sent.values.map { $0.filter { !disturbed.contains($0.message) } }
      .filter { $0.count > 1 }
    guard !groups.isEmpty else { return [] }
    for (index, device) in simulation.devices.enumerated() {
      guard let workspace = device.process?.core.replica.workspace else { continue }
      let positions = FifoChecker.positions(in: workspace)
      for group in groups {
        let standing = group.filter { positions[$0.message] != nil }
        for (earlier, later) in zip(standing, standing.dropFirst())
        where earlier.time < later.time
          && positions[earlier.message, default: 0] > positions[later.message, default: 0]
        {
          return [
            "device \(index) shows \(later.message) before \(earlier.message), which was sent "
              + "\(later.time - earlier.time) ms earlier to the same place"
          ]
        }
      }
    }
    return []
  }

  /// The positions of waiting messages. Messages that were tried come first, whichever device sent
  /// them, at whatever time.
  static func positions(in workspace: Workspace) -> [MessageID: Int] {
    var positions: [MessageID: Int] = [:]
    for session in workspace.sessions() {
      for message in (try? workspace.messageQueue(session.id))?.messages ?? []
      where message.status == .queued && message.run == nil {
        positions[message.id] = message.position
      }
    }
    return positions
  }
}
