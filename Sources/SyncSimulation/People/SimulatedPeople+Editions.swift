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
        perform(.edit(message.id, content: message.content, base: nil), on: device)
        guard device.process != nil else { return }
      }
    }
  }

  /// A planted bug: a device lets messages start that wait for one that came to nothing.
  func forgetNeeds(on device: SimulatedDevice) {
    guard options.planted.contains(.needsForgotten),
      let workspace = device.process?.core.replica.workspace
    else { return }
    for session in workspace.sessions() {
      for message in (try? workspace.messageQueue(session.id))?.messages ?? []
      where workspace.unmetNeeds(of: message.id).contains(where: { !$0.isPending }) {
        perform(.setNotBefore(message.id, nil), on: device)
        guard device.process != nil else { return }
      }
    }
  }

  /// What a planted bug does.
  private func perform(_ command: Command, on device: SimulatedDevice) {
    _ = try? simulation.clients.run(on: device, synchronizes: true) { core, context, store in
      let done = try core.commandGiven(
        command, recordsUndo: false, waitsForDisk: false, at: context, store: store)
      return (done.outcome, done.actions)
    }
  }
}
