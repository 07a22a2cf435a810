package import QueueModel

extension Workspace {
  /// What a host may start next when every time that people set has come.
  package func startable(
    in session: SessionID
  ) -> (message: MessageID, state: DispatchState)? {
    startable(in: session, by: .max)
  }
}
