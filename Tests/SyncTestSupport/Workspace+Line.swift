package import QueueModel

extension Workspace {
  /// The message that a host may start next after every time that users set has passed.
  package func startable(
    in session: SessionID
  ) -> (message: MessageID, state: DispatchState)? {
    startable(in: session, by: .max)
  }
}
