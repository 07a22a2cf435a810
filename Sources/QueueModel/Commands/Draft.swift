/// A prompt that a user began in a session and did not send: kept on this device, not replicated
/// (S2-44).
public struct Draft: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// The text so far, as it was typed; never empty.
  public var text: String
  /// When it was changed, in milliseconds since 1970.
  public var updatedAt: Int64

  /// Puts the parts together.
  public init(session: SessionID, text: String, updatedAt: Int64) {
    self.session = session
    self.text = text
    self.updatedAt = updatedAt
  }
}
