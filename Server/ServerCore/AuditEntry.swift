package import QueueModel

/// An event about access, for the operator; it contains no text from clients.
package struct AuditEntry: Hashable, Sendable {
  package enum Event: String, Hashable, Sendable, CaseIterable {
    /// A pairing code was made.
    case code
    case paired
    case joined
    /// A connection or a pairing was refused.
    case refused
    case revoked
    /// A quota was changed.
    case quota
    /// An agent's request was decided.
    case decided
    /// A device offered its state, which was joined with the log.
    case stateJoined
    /// A workspace was deleted.
    case deleted
    /// A workspace got another name.
    case renamed
  }

  /// The maximum number of kept entries of each kind, for each workspace and for entries without
  /// one: the newest.
  package static let keptOfEachKind = 5_000

  /// Milliseconds since 1970.
  package var at: Int64
  package var event: Event
  package var workspace: WorkspaceID?
  package var device: DeviceID?
  /// The source address; nil for commands on the server.
  package var source: String?
  /// Fixed words and numbers.
  package var detail: String

  package init(
    at: Int64, event: Event, workspace: WorkspaceID? = nil, device: DeviceID? = nil,
    source: String? = nil, detail: String = ""
  ) {
    self.at = at
    self.event = event
    self.workspace = workspace
    self.device = device
    self.source = source
    self.detail = detail
  }
}
