package import QueueModel
import WireProtocol

/// What the server last said about this device's access. It is stored, so that it also counts
/// without a connection.
package enum DeviceAccess: Hashable, Sendable {
  /// The device has a role until a time, in milliseconds since 1970; nil: without an end.
  case given(DeviceRole, until: Int64?)
  /// The server refused the device for this reason.
  case ended(reason: String)

  /// Why the device may not change anything; nil if it may.
  ///
  /// - Parameter now: milliseconds since 1970, by the server's clock if it is known.
  package func obstacle(at now: Int64) -> AccessObstacle? {
    switch self {
    case .given(_, let until?) where until <= now: .expired
    case .given(.viewer, _): .viewer
    case .given: nil
    case .ended(let reason): .ended(reason: reason)
    }
  }
}

/// As a store keeps it.
extension DeviceAccess {
  private static let ending = "ended "

  /// One line: `ROLE`, `ROLE MILLISECONDS` or `ended REASON`.
  package var text: String {
    switch self {
    case .given(let role, nil): role.name
    case .given(let role, let until?): "\(role.name) \(until)"
    case .ended(let reason): Self.ending + reason
    }
  }

  /// - Returns: nil for a text of another form, such as one of a newer version.
  package init?(text: String) {
    if text.hasPrefix(Self.ending) {
      self = .ended(reason: String(text.dropFirst(Self.ending.count)))
      return
    }
    let words = text.split(separator: " ")
    guard let role = words.first.flatMap({ DeviceRole(name: String($0)) }), words.count <= 2 else {
      return nil
    }
    guard words.count == 2 else {
      self = .given(role, until: nil)
      return
    }
    guard let until = Int64(words[1]) else { return nil }
    self = .given(role, until: until)
  }
}

extension ClientCore {
  /// What the server last said about this device's access; nil if it is a host whose access does
  /// not end, if the server does not say, or if there is none.
  package var access: DeviceAccess? {
    connection.credentials == nil ? nil : connection.replica.record.access
  }

  /// Why this device may not change anything; nil if it may, as far as it knows.
  package func accessObstacle(at context: EventContext) -> AccessObstacle? {
    access?.obstacle(at: connection.time(at: context))
  }

  /// Whether no device would ever get what this one changes.
  var isViewer: Bool {
    if case .given(.viewer, _)? = access { true } else { false }
  }

  /// - Throws: `.access` if this device may not change anything: a change must not be stored that
  ///   no other device will ever get.
  package func requireAccess(at context: EventContext) throws(Replica.Fault) {
    if let obstacle = accessObstacle(at: context) { throw .access(obstacle) }
  }
}
