import NetworkAddresses

/// Where the page is served: a numeric address with a port.
public struct WebAddress: Hashable, Sendable, CustomStringConvertible {
  /// `127.0.0.1`, `192.168.1.5`, `::1`.
  public var host: String
  /// 0 lets the system choose.
  public var port: Int

  /// The port if nobody names one.
  public static let portDefault = 7421
  /// What stands for no address.
  public static let off = "off"

  /// The loopback address with a port.
  public init(port: Int = WebAddress.portDefault) {
    host = "127.0.0.1"
    self.port = port
  }

  /// Reads `ADDRESS:PORT`, an IPv6 address in brackets.
  ///
  /// Names are not read: what `localhost` is, a file says that others may write.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    guard let host = WebAddress.host(text[..<colon]) else { return nil }
    self.host = host
    self.port = Int(port)
  }

  /// A numeric address as it stands in a URL, without the brackets.
  static func host(_ text: Substring) -> String? {
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isBracketed ? text.dropFirst().dropLast() : text
    guard let address = InternetAddress(inner), address.isV4 != isBracketed else { return nil }
    return address.description
  }

  /// Whether this machine alone reaches it.
  public var isLoopback: Bool { host == "127.0.0.1" || host == "::1" }

  /// Whether it stands for all addresses of this machine.
  public var isUnspecified: Bool { host == "0.0.0.0" || host == "::" }

  /// As it stands in a URL.
  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// Where browsers of other devices find the page: `https://HOST`, with a port if it is not 443.
public struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  /// As a browser's Host header has it.
  public var authority: String

  /// Reads `https://HOST` or `https://HOST:PORT`, a slash behind it or none.
  public init?(_ text: String) {
    let text = text.lowercased()
    let scheme = "https://"
    guard text.hasPrefix(scheme) else { return nil }
    var rest = text.dropFirst(scheme.count)
    if rest.hasSuffix("/") { rest.removeLast() }
    var port: UInt16 = 443
    if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
      guard let number = UInt16(rest[rest.index(after: colon)...]), number > 0 else { return nil }
      port = number
      rest = rest[..<colon]
    }
    guard WebOrigin.isHost(rest) else { return nil }
    authority = port == 443 ? String(rest) : "\(rest):\(port)"
  }

  private static func isHost(_ text: Substring) -> Bool {
    if text.hasPrefix("[") { return WebAddress.host(text) != nil }
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    return text.utf8.count <= 253
      && labels.allSatisfy { label in
        (1...63).contains(label.utf8.count)
          && label.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
              || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
          }
      }
  }

  /// As it stands in front of a path.
  public var description: String { "https://\(authority)" }
}

/// How the page is served.
public struct WebSettings: Hashable, Sendable {
  /// Where it listens.
  public var address: WebAddress
  /// Where other devices find it, if somebody said so.
  public var origin: WebOrigin?
  /// The certificate and those up to its root, PEM.
  public var certificateFile: String?
  /// Its private key, PEM.
  public var keyFile: String?

  /// Puts the parts together.
  public init(
    address: WebAddress, origin: WebOrigin? = nil, certificateFile: String? = nil,
    keyFile: String? = nil
  ) {
    self.address = address
    self.origin = origin
    self.certificateFile = certificateFile
    self.keyFile = keyFile
  }

  /// The setting without which it cannot be served, and why; nil if nothing is missing.
  public var missing: String? {
    guard !address.isLoopback else { return nil }
    let reach = "other machines can reach \(address), so the page needs TLS there"
    if certificateFile == nil { return "\(reach): set webCertificate" }
    if keyFile == nil { return "\(reach): set webKey" }
    guard address.isUnspecified, origin == nil else { return nil }
    return
      "browsers cannot open \(address): set webURL to the address that they use for this machine"
  }

  /// Where browsers of other devices find it; nil if it is for this machine alone.
  ///
  /// On this machine's own address that is a proxy with TLS in front of it.
  public var elsewhere: WebOrigin? {
    origin ?? (address.isLoopback ? nil : WebOrigin("https://\(address)"))
  }
}
