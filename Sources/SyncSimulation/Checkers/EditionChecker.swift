import ClientCore
import QueueModel
import SequenceCRDT

/// Texts that were saved independently wait until a user has checked them, unless their session's
/// `onMerge` is `run`; and every version can be read.
///
/// A user wrote the prompt that an agent gets, or it was merged and seen, or its session runs
/// merged texts. Only a user settles a merged text. A version that no user saved or typed would
/// settle it unseen. `ExecutionChecker`, which knows the server's state, checks that no merged
/// message is granted.
final class EditionChecker: SimulationChecker {
  let name = "editions"

  /// Every text that a user saved, or restored by an undo.
  private var saved: Set<[UInt8]> = []
  /// The devices on which a user typed in a message. They save versions of the visible text when
  /// the typing ends.
  private var typed: [MessageID: Set<DeviceID>] = [:]
  /// Whether a process died during an undo or an import, so that its writes are not known.
  private var isUnsure = false
  /// Versions that were not yet saved when an agent started. An edit can start its message in its
  /// own turn, and is recorded after that.
  private var started: [(message: MessageID, device: Int, text: String)] = []
  /// The prompts that agents have got since, to be checked in the same way.
  private var handed: [(device: Int, order: StartOrder)] = []
  /// The texts that users wrote, by message.
  private var written = WrittenTexts()
  /// The prompts that agents got, by the latest attempt that started. If the files of its host went
  /// back, no device knows what its agent got, so it is not judged.
  private var orders: [MessageID: (device: Int, order: StartOrder)] = [:]

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .performed(let index, let action, _, let outcome):
      learn(action, on: simulation.devices[index])
      for operation in outcome.operations {
        guard case .addTag(_, .edition, _, let note) = operation.body,
          let text = Edition(note: note).wholeText
        else { continue }
        saved.insert(Array(text.utf8))
      }
    case .interrupted(let index, let action, _, _):
      learn(action, on: simulation.devices[index])
      switch action {
      case .command(.undo), .command(.redo), .command(.importDocument): isUnsure = true
      default: break
      }
    case .added(let index):
      // A copy of a store with unfinished typing ends the typing at its start, like its original.
      let copy = simulation.devices[index].currentFiles.device
      for message in typed.keys { typed[message]?.insert(copy) }
    case .agentStarted(let index, let order):
      orders[order.message] = (index, order)
      if let workspace = simulation.devices[index].process?.core.replica.workspace {
        started += unseen(order.message, in: workspace).map { (order.message, index, $0) }
      }
      handed.append((index, order))
      return []
    case .rolledBack(.device(let index)):
      orders = orders.filter { $0.value.device != index }
    default:
      return []
    }
    return startedUnseen()
  }

  private func startedUnseen() -> [String] {
    defer { (started, handed) = ([], []) }
    let unwritten = handed.filter { written.lack($0.order) }.map {
      "\($0.order.message) starts on device \($0.device) with a text that no one wrote: "
        + $0.order.text.prefix(60)
    }
    return unwritten
      + started.filter { !isUnsure && !saved.contains(Array($0.text.utf8)) }.map {
        "\($0.message) starts on device \($0.device) with a version that no person saved: "
          + $0.text.prefix(60)
      }
  }

  private func learn(_ action: UserAction, on device: SimulatedDevice) {
    written.learn(action)
    switch action {
    case .command(let command) where command.typedMessage != nil:
      guard let message = command.typedMessage,
        let id = device.currentFiles.database.record?.device
      else { return }
      typed[message, default: []].insert(id)
    case .edit(_, let content, _), .command(.edit(_, let content, _)):
      saved.insert(Array(content.trimmedOfWhitespace().utf8))
    default: break
    }
  }

  private func unseen(_ message: MessageID, in workspace: Workspace) -> [String] {
    guard !isUnsure else { return [] }
    return Edition.shown(of: message, in: workspace)
      .filter { edition in
        let isTyped = edition.device.map { typed[message]?.contains($0) == true } ?? false
        return !isTyped && !saved.contains(Array(edition.text.utf8))
      }
      .map(\.text)
  }

  /// Messages that ran, and have a visible text that their agents did not get.
  private func otherThanRan(in workspace: Workspace) -> [MessageID] {
    orders.values.map(\.order).filter { order in
      guard let message = try? workspace.message(order.message), let run = message.run,
        run.attempt == order.attempt, run.token == order.token,
        run.phase.isInFlight || run.phase == .succeeded,
        order.text.utf8.count <= Limits.editionBytesMax
      else { return false }
      return !message.content.utf8.elementsEqual(order.text.utf8)
    }.map(\.message).sorted()
  }

  func settled(in simulation: Simulation) -> [String] {
    let early = startedUnseen()
    guard early.isEmpty else { return early }
    for (index, device) in simulation.devices.enumerated() {
      guard let workspace = device.process?.core.replica.workspace else { continue }
      if let other = otherThanRan(in: workspace).first {
        return ["device \(index) shows a text of \(other) that its agent did not get"]
      }
      for session in workspace.sessions() {
        for message in (try? workspace.messageQueue(session.id))?.messages ?? [] {
          if let text = unseen(message.id, in: workspace).first {
            return [
              "device \(index) has a version of \(message.id) that no person saved: "
                + text.prefix(60)
            ]
          }
          let hidden = message.versions.first { version in
            version.text == nil && version.bytes <= Limits.editionBytesMax
          }
          if hidden != nil { return ["device \(index) cannot show a version of \(message.id)"] }
          if message.isMerged, session.onMerge != .run, message.status == .queued,
            workspace.dispatchState(of: message.id)?.queueStands == false
          {
            return ["device \(index) would start \(message.id), whose text was merged"]
          }
        }
      }
    }
    return []
  }
}
