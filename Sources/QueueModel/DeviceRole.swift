/// The rights of a device in its workspace; the pairing code sets them.
public enum DeviceRole: Int64, Hashable, Sendable, CaseIterable {
  /// May read.
  case viewer = 1
  /// May read, queue, edit and answer requests; runs nothing.
  case author = 2
  /// All rights: also runs agents.
  case host = 3

  /// The name that people and scripts use.
  public var name: String {
    switch self {
    case .viewer: "viewer"
    case .author: "author"
    case .host: "host"
    }
  }

  /// The role of that name; nil if there is none.
  public init?(name: String) {
    guard let role = DeviceRole.allCases.first(where: { $0.name == name }) else { return nil }
    self = role
  }
}
