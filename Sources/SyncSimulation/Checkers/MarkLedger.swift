import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// Typed text is never lost or duplicated, whichever ids it has.
///
/// Each typed text begins with a mark, a scalar that no other text has. In the end, every mark must
/// be found once, unless a user deleted it or restored an older text with it, or the only place
/// that held it went back in time.
final class MarkLedger: SimulationChecker {
  let name = "loss"

  private struct Fact {
    /// nil if an undo inserted it.
    var message: MessageID?
    /// Whether a user may have deleted it.
    var isExcused = false
    /// Whether several operations inserted it.
    var isRepeated = false
  }

  private var facts: [Unicode.Scalar: Fact] = [:]
  private var messages: Set<MessageID> = []
  /// If two copies of one memory wrote under one id, both texts are visible, and some of them
  /// twice.
  private var hasMemoryClones = false
  private var wasServerRestored = false
  /// If a server was restored to a point between the writes of two copies of one memory, and a
  /// device had one of each, texts return under other ids.
  private var haveIDsChanged = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .performed(let index, let action, let before, let outcome):
      learn(action, outcome)
      if let after = simulation.devices[index].process?.core.replica.workspace {
        excuseRemoved(by: action, before: before, after: after)
      }
    case .interrupted(let index, let action, let before, let reached):
      if let after = reached ?? (try? simulation.devices[index].workspace()) {
        excuseRemoved(by: action, before: before, after: after)
      }
    case .memoryCloned:
      hasMemoryClones = true
    case .reauthored:
      if hasMemoryClones, wasServerRestored { haveIDsChanged = true }
    case .rolledBack, .lostCommits:
      if case .rolledBack(.server) = observation { wasServerRestored = true }
      excuseLost(simulation)
    default:
      break
    }
    return []
  }

  private func learn(_ action: UserAction, _ outcome: CommandOutcome) {
    var introduced: [OperationID: MessageID] = [:]
    for operation in outcome.operations {
      switch operation.body {
      case .addMessage(let addition):
        introduced[operation.id] = addition.message
        messages.insert(addition.message)
      case .insertText(let insertion):
        let message = introduced[insertion.message] ?? action.message
        for scalar in insertion.text.unicodeScalars where Workload.isMark(scalar) {
          let isRepeated = facts[scalar] != nil
          facts[scalar, default: Fact(message: message)].isRepeated = isRepeated
        }
      default: break
      }
    }
  }

  /// Text that a user deleted may be gone.
  private func excuseRemoved(by action: UserAction, before: Workspace, after: Workspace) {
    switch action {
    case .command(.cancel(let messages)):
      excuse(messages)
    case .command(.clear(let session)), .command(.deleteSession(let session)):
      excuse(((try? before.messageQueue(session))?.messages ?? []).map(\.id))
    case .command(.undo), .command(.redo):
      for session in before.sessions() {
        for message in (try? before.messageQueue(session.id))?.messages ?? []
        where (try? after.message(message.id))?.status != .queued {
          excuse([message.id])
        }
      }
      // Withdrawn messages and deleted sessions are included.
      let left = Self.contents(of: after).counts
      for scalar in Self.contents(of: before).counts.keys where left[scalar] == nil {
        facts[scalar]?.isExcused = true
      }
    default:
      guard let message = action.message else { return }
      let left = Self.marks(of: message, in: after)
      for scalar in Self.marks(of: message, in: before) where !left.contains(scalar) {
        facts[scalar]?.isExcused = true
      }
    }
  }

  private static func marks(of message: MessageID, in workspace: Workspace) -> Set<Unicode.Scalar> {
    let content = (try? workspace.message(message).content) ?? ""
    return Set(content.unicodeScalars.filter(Workload.isMark))
  }

  private func excuse(_ removed: [MessageID]) {
    messages.subtract(removed)
    for (scalar, fact) in facts where fact.message.map(removed.contains) ?? false {
      facts[scalar]?.isExcused = true
    }
  }

  /// Text may be gone if it was only on a disk that went back in time, or never reached the disk.
  private func excuseLost(_ simulation: Simulation) {
    var held: Set<Unicode.Scalar> = []
    var heldMessages: Set<MessageID> = []
    var holders: [Workspace] = []
    for device in simulation.devices {
      if let workspace = try? device.workspace() { holders.append(workspace) }
    }
    if let server = try? simulation.server.disk.storedWorkspace() { holders.append(server) }
    for workspace in holders {
      let found = Self.contents(of: workspace)
      held.formUnion(found.counts.keys)
      heldMessages.formUnion(found.messages)
    }
    for scalar in facts.keys where !held.contains(scalar) { facts[scalar]?.isExcused = true }
    messages.formIntersection(heldMessages)
  }

  func settled(in simulation: Simulation) -> [String] {
    guard let workspace = simulation.devices.first?.process?.core.replica.workspace else {
      return []
    }
    let held = Self.contents(of: workspace)
    let lostMessages = messages.subtracting(held.messages).sorted()
    let lost = facts.filter { !$0.value.isExcused && held.counts[$0.key] == nil }.keys.sorted()
    let repeated =
      facts.filter { !$0.value.isRepeated && (held.counts[$0.key] ?? 0) > 1 }.keys.sorted()
    var found: [String] = []
    if !lostMessages.isEmpty, !haveIDsChanged {
      found.append("lost messages \(lostMessages.prefix(4))")
    }
    if !lost.isEmpty { found.append("lost texts \(describe(lost))") }
    if !repeated.isEmpty, !hasMemoryClones {
      found.append("texts that came twice \(describe(repeated))")
    }
    return found
  }

  private func describe(_ marks: [Unicode.Scalar]) -> String {
    marks.prefix(4).map { mark in
      "\(String(mark.value, radix: 16)) of \(facts[mark]?.message?.description ?? "?")"
    }.joined(separator: ", ")
  }

  /// All messages, and the number of times that each mark is in the texts of all their additions.
  private static func contents(
    of workspace: Workspace
  ) -> (messages: Set<MessageID>, counts: [Unicode.Scalar: Int]) {
    var messages: Set<MessageID> = []
    var counts: [Unicode.Scalar: Int] = [:]
    for message in workspace.image().sessions.flatMap(\.messages) {
      messages.insert(message.id)
      for addition in message.additions {
        for scalar in addition.text.unicodeScalars where Workload.isMark(scalar) {
          counts[scalar, default: 0] += 1
        }
      }
    }
    return (messages, counts)
  }
}

extension UserAction {
  /// The message whose text it changes.
  var message: MessageID? {
    switch self {
    case .open(let message), .edit(let message, _, _): message
    case .command(.edit(let message, _, _)), .command(.insertText(let message, _, _)),
      .command(.deleteText(let message, _)):
      message
    case .command(.send(let send)): send.id
    case .command: nil
    }
  }
}
