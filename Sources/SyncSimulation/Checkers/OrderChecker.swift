import ClientCore
import QueueModel

/// The messages that one device queued keep their order, unless a user moved them.
final class OrderChecker: SimulationChecker {
  let name = "author order"

  private struct Sent {
    var message: MessageID
    var author: Int
    /// How many times the author's files went back in time, so that it does not know its past.
    var life: Int
    var session: SessionID
    var priority: Priority
  }

  private var sent: [Sent] = []
  private var lives: [Int: Int] = [:]
  /// Messages that a user put first, moved, prioritised or queued again.
  private var disturbed: Set<MessageID> = []

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.device(let index)), .lostCommits(let index):
      lives[index, default: 0] += 1
    case .reauthored(let index):
      // Messages that it queued before may return from another copy of it, and ids decide their
      // order.
      lives[index, default: 0] += 1
      disturbed.formUnion(sent.lazy.filter { $0.author == index }.map(\.message))
    case .performed(let index, .command(let command), _, let outcome):
      learn(command, by: index, outcome)
    case .interrupted(_, .command(let command), _, _):
      disturb(by: command)
    default:
      break
    }
    return []
  }

  private func learn(_ command: Command, by index: Int, _ outcome: CommandOutcome) {
    switch command {
    case .send(let send):
      guard !outcome.operations.isEmpty else { return }
      if send.goesFirst || sent.contains(where: { $0.message == send.id }) {
        disturbed.insert(send.id)
      }
      sent.append(
        Sent(
          message: send.id, author: index, life: lives[index] ?? 0, session: send.session,
          priority: send.priority))
    default: disturb(by: command)
    }
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
    guard let workspace = simulation.devices.first?.process?.core.replica.workspace else {
      return []
    }
    let places = FifoChecker.positions(in: workspace)
    var last: [Line: Sent] = [:]
    for entry in sent where !disturbed.contains(entry.message) {
      guard let place = places[entry.message] else { continue }
      let line = Line(entry)
      if let before = last[line], let earlier = places[before.message], earlier > place {
        return [
          "device \(entry.author) queued \(before.message) before \(entry.message), which stands "
            + "at \(place) before \(earlier)"
        ]
      }
      last[line] = entry
    }
    return []
  }

  /// The messages to compare: of one author, in one queue, with one priority.
  private struct Line: Hashable {
    var author: Int
    var life: Int
    var session: SessionID
    var priority: Priority

    init(_ sent: Sent) {
      author = sent.author
      life = sent.life
      session = sent.session
      priority = sent.priority
    }
  }
}
