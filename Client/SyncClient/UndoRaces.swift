import ClientCore
import QueueModel
import SequenceCRDT

/// The messages of an undo or a redo that race with their starts.
struct UndoRaces: Sendable {
  /// The workspace before the undo.
  let before: Workspace
  /// The change to undo, if it was looked up.
  let label: UndoLabel?
  /// The request for each message that it withdraws or whose text it changes.
  private(set) var races: [MessageID: StartRace] = [:]
  /// Whether the command would be performed, as far as this device knows.
  private(set) var isPossible = true

  init(
    of operations: [Operation], from before: Workspace, to after: Workspace, label: UndoLabel?
  ) {
    self.before = before
    self.label = label
    let found = UndoTrial.races(of: operations, from: before, to: after)
    for race in StartRace.withdrawing(found.withdrawn, in: before) { races[race.message] = race }
    for id in found.edited {
      races[id] = StartRace(editing: id, from: before, to: after)
    }
  }

  /// The races of a command that has not been given yet.
  init(of command: Command, in core: ClientCore) {
    let replica = core.replica
    let trial = UndoTrial(
      of: command, in: replica.workspace, with: replica.undo, apart: core.apart())
    self.init(
      of: trial?.operations ?? [], from: replica.workspace,
      to: trial?.workspace ?? replica.workspace, label: replica.undo.label(of: command))
    isPossible = trial != nil
  }

  /// The same, or a request that shows whether the authority answers; empty if there is nothing to
  /// do.
  var all: [MessageID: StartRace] {
    guard isPossible, races.isEmpty else { return races }
    return Self.presence(in: before)
  }

  /// A request that shows whether the authority answers.
  static func presence(in workspace: Workspace) -> [MessageID: StartRace] {
    let unknown = MessageID.random()
    return [unknown: StartRace(withdrawing: unknown, in: workspace)]
  }

  /// Why nothing can be undone: agents have received all messages that would be withdrawn or
  /// edited.
  func obstacle(by endings: [MessageID: StartRace.Ending]) -> UndoObstacle? {
    guard !races.isEmpty, races.keys.allSatisfy({ endings[$0] == .tooLate }) else { return nil }
    return races.keys.min().flatMap(started)
  }

  /// The obstacle that an agent has received a message.
  func started(_ id: MessageID) -> UndoObstacle? { .start(of: id, in: before) }
}
