/// What a host does with an agent at work when its server has not answered for 20 seconds; the raw value
/// is the register's. The authority never reads it.
public enum LostServerPolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// The turn ends by itself. Nothing new starts meanwhile.
  case finish
  /// The host stops the agent.
  case stop
}

extension Workspace {
  /// Whether a session's host stops its agent where its server does not answer.
  package func stopsWithoutServer(_ session: SessionID) -> Bool {
    head(of: session)?.onLostServer == .stop
  }
}
