import NetworkAddresses

/// The listening address of the page: a numeric address with a port.
public struct WebAddress: Hashable, Sendable, CustomStringConvertible {
  /// `127.0.0.1`, `192.168.1.5`, `::1`.
  public var host: String
  /// 0 lets the system choose.
  public var port: Int

  /// The default port.
  public static let portDefault = 7421
  /// The text for no address.
  public static let off = "off"

  /// The loopback address with a port.
  public init(port: Int = WebAddress.portDefault) {
    host = "127.0.0.1"
    self.port = port
  }

  /// Parses `ADDRESS:PORT`, with an IPv6 address in brackets.
  ///
  /// Names are not accepted: a file that other accounts may write defines `localhost`.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    guard let host = WebAddress.host(text[..<colon]) else { return nil }
    self.host = host
    self.port = Int(port)
  }

  /// A numeric address as written in a URL, without the brackets.
  static func host(_ text: Substring) -> String? {
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isBracketed ? text.dropFirst().dropLast() : text
    guard let address = InternetAddress(inner), address.isV4 != isBracketed else { return nil }
    return address.description
  }

  /// Whether only this machine can reach it.
  public var isLoopback: Bool { host == "127.0.0.1" || host == "::1" }

  /// Whether it means all addresses of this machine.
  public var isUnspecified: Bool { host == "0.0.0.0" || host == "::" }

  /// The address as written in a URL.
  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// The address of the page for browsers of other devices: `https://HOST`, with a port if it is not
/// 443.
public struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  /// The value of a browser's Host header.
  public var authority: String

  /// Parses `https://HOST` or `https://HOST:PORT`, with or without a final slash.
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

  /// The address as written before a path.
  public var description: String { "https://\(authority)" }
}

/// The settings of the page.
public struct WebSettings: Hashable, Sendable {
  /// The listening address.
  public var address: WebAddress
  /// The address for other devices, if one is set.
  public var origin: WebOrigin?
  /// The certificate chain up to its root, PEM.
  public var certificateFile: String?
  /// Its private key, PEM.
  public var keyFile: String?

  /// Creates settings.
  public init(
    address: WebAddress, origin: WebOrigin? = nil, certificateFile: String? = nil,
    keyFile: String? = nil
  ) {
    self.address = address
    self.origin = origin
    self.certificateFile = certificateFile
    self.keyFile = keyFile
  }

  /// The missing setting without which the page cannot be served, and why; nil if none is missing.
  public var missing: String? {
    guard !address.isLoopback else { return nil }
    let reach = "other machines can reach \(address), so the page needs TLS there"
    if certificateFile == nil { return "\(reach): set webCertificate" }
    if keyFile == nil { return "\(reach): set webKey" }
    guard address.isUnspecified, origin == nil else { return nil }
    return
      "browsers cannot open \(address): set webURL to the address that they use for this machine"
  }

  /// The address for browsers of other devices; nil if the page is only for this machine.
  ///
  /// If the page listens on this machine only, this is the address of a proxy with TLS.
  public var elsewhere: WebOrigin? {
    origin ?? (address.isLoopback ? nil : WebOrigin("https://\(address)"))
  }
}
