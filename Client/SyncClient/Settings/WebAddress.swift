/// Where the page is served: an address of this machine alone.
public struct WebAddress: Hashable, Sendable, CustomStringConvertible {
  /// `127.0.0.1` or `::1`.
  public var host: String
  /// 0 lets the system choose.
  public var port: Int

  /// The port where nobody names one.
  public static let portDefault = 7421
  /// What stands for no address.
  public static let off = "off"

  /// The loopback address with a port.
  public init(port: Int = WebAddress.portDefault) {
    host = "127.0.0.1"
    self.port = port
  }

  /// Reads `127.0.0.1:PORT` or `[::1]:PORT`.
  ///
  /// Names are not read: what `localhost` is, a file says that others may write.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    switch text[..<colon] {
    case "127.0.0.1": host = "127.0.0.1"
    case "[::1]": host = "::1"
    default: return nil
    }
    self.port = Int(port)
  }

  /// As it stands in a URL.
  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
