import ClientCore
import QueueModel

extension SimulatedPeople {
  /// A planted bug: a device settles merged texts by itself.
  func settleUnseen(on device: SimulatedDevice) {
    guard options.planted.contains(.mergedUnseen),
      let workspace = device.process?.core.replica.workspace
    else { return }
    for session in workspace.sessions() {
      for message in (try? workspace.messageQueue(session.id))?.messages ?? []
      where message.isMerged {
        let command = Command.edit(message.id, content: message.content, base: nil)
        _ = try? simulation.clients.run(on: device, synchronizes: true) { core, context, store in
          let done = try core.commandGiven(
            command, recordsUndo: false, waitsForDisk: false, at: context, store: store)
          return (done.outcome, done.actions)
        }
        guard device.process != nil else { return }
      }
    }
  }
}
