package import QueueModel

extension ClientCore {
  /// Notes what a person at this device did that no command of the queues does, such as a setting, and what
  /// that was before: undo names it with the command that reverses it.
  package mutating func actNoted(
    _ label: UndoLabel, former: String?, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) {
    try connection.replica.noteAct(
      label, former: former, wall: connection.time(at: context), store: store)
  }

  /// What is certain here while the device does not know the server's state; nil while it does, or if there
  /// is no server.
  ///
  /// - Parameter isSilent: whether the server has not answered, whatever the connection seems to be.
  package func apart(isSilent: Bool = false) -> Apartness? { connection.apart(isSilent: isSilent) }
}
