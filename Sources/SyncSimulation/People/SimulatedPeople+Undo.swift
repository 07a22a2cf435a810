import ClientCore
import QueueModel
import QueueOracle
import ServerCore

/// Users who undo and redo, also on a device that does not know the server's state.
extension SimulatedPeople {
  /// Whether a device knows that it is offline, or would learn it by a question, like the one of
  /// the client library before an undo.
  func isApart(_ device: SimulatedDevice) -> Bool {
    guard let process = device.process, process.core.hasServer else { return false }
    if process.core.apart() != nil { return true }
    let server = simulation.server
    let answers =
      device.isOnline && device.network.cloggedUntil <= clock.now
      && server.process?.core.isHealthy == true && server.disk.condition == .working
      && process.pipes.values.contains { simulation.isServed($0) }
    return !answers
  }

  /// For a planted bug: the result of an undo without the care of an offline device.
  func careless(_ command: Command, on device: SimulatedDevice) -> Workspace? {
    guard options.planted.contains(.undoStartsApart), command.turnsBack, isApart(device),
      let replica = device.process?.core.replica
    else { return nil }
    return UndoTrial(of: command, in: replica.workspace, with: replica.undo, apart: nil)?.workspace
  }

  /// A planted bug: if an offline device would not undo a pause, the pause is undone anyway.
  func insistent(_ command: Command, careless: Workspace?, _ core: ClientCore) -> Command {
    guard let careless else { return command }
    let (workspace, history) = (core.replica.workspace, core.replica.undo)
    let careful = UndoTrial(
      of: command, in: workspace, with: history, apart: core.apart() ?? Apartness())
    let resumed = workspace.sessions().first {
      $0.paused && careless.session($0.id)?.paused == false
    }
    guard careful == nil, let resumed else { return command }
    return .resume(resumed.id)
  }

  /// Planted bugs: sessions that an undo paused continue, the session of an undo is removed, or its
  /// message has letters that no user typed.
  ///
  /// - Parameter careless: the result of the undo without the care of an offline device.
  func goingTooFar(
    _ outcome: CommandOutcome, careless: Workspace?, core: inout ClientCore,
    at context: EventContext, store: DeviceStore
  ) throws(Replica.Fault) -> [ClientCore.Action] {
    guard let result = outcome.notice.undoResult else { return [] }
    var commands: [Command] = []
    if options.planted.contains(.undoStarts) { commands = result.paused.map { .resume($0) } }
    for session in result.paused where careless?.session(session)?.paused == false {
      commands.append(.resume(session))
    }
    if options.planted.contains(.undoTakesHistory), case .undone = outcome.notice,
      let session = result.label.session, core.replica.workspace.session(session) != nil
    {
      commands.append(.deleteSession(session))
    }
    if options.planted.contains(.undoneUnwritten), let id = result.label.message,
      let message = try? core.replica.workspace.message(id), message.status == .queued,
      message.run == nil
    {
      commands.append(.insertText(id, at: 0, text: "again "))
    }
    var actions: [ClientCore.Action] = []
    for command in commands {
      actions += try core.commandGiven(
        command, recordsUndo: false, waitsForDisk: false, at: context, store: store
      ).actions
    }
    return actions
  }
}
