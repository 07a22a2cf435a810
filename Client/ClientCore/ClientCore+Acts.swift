package import QueueModel

extension ClientCore {
  /// Notes what a person at this device did that no command of the queues does, such as a setting: undo
  /// names it with the command that reverses it.
  package mutating func actNoted(
    _ label: UndoLabel, reversedBy command: String, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) {
    try connection.replica.noteAct(
      label, reversedBy: command, wall: connection.time(at: context), store: store)
  }
}
