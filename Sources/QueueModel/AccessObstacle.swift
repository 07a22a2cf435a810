/// Why a device may not change anything in its workspace, according to its server's last report.
public enum AccessObstacle: Hashable, Sendable {
  /// It was paired as a viewer.
  case viewer
  /// Its access was limited to a time, which has passed.
  case expired
  /// The server ended its access, for this reason.
  case ended(reason: String)
}

extension AccessObstacle: CustomStringConvertible {
  /// What happened, and what to do.
  public var description: String {
    switch self {
    case .viewer:
      "This device was paired as a viewer, which can read but not change anything, so nothing was "
        + "changed. To let it: print a code on the server with cospool-server pair --role author, or "
        + "host, and pair this device with it."
    case .expired:
      "This device's access has expired, as set when it was paired, so nothing was changed. "
        + AccessObstacle.pairing
    case .ended(let reason):
      "The server accepts nothing from this device (\(reason)), so nothing was changed. "
        + AccessObstacle.pairing
    }
  }

  private static let pairing =
    "It keeps its data. To pair it again: cospool pair URL CODE, with a code that cospool-server pair "
    + "printed. To change the copy here alone: cospool unpair."
}
