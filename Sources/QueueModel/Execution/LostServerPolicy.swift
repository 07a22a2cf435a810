/// The action of a host with an agent at work when its server has not answered for 20 seconds; the
/// raw value is the register's. The authority never reads it.
public enum LostServerPolicy: String, Hashable, Sendable, CaseIterable {
  /// The turn continues to its end. Nothing new starts meanwhile.
  case finish
  /// The host stops the agent.
  case stop
}

extension LostServerPolicy: Codable {}
