/// How far away the owner of an address may be.
package enum AddressReach: Hashable, Sendable {
  /// This machine.
  case loopback
  /// A network with one owner: private addresses, those of carriers, and those of overlay networks.
  case privateNetwork
  /// This link, on which cloud machines also request their secrets.
  case link
  /// Multicast, documentation, unused.
  case special
  case everywhere
}

extension InternetAddress {
  package var reach: AddressReach {
    if let embedded { return embedded.reach }
    return InternetAddress.ranges.first { $0.range.contains(self) }?.reach
      // Addresses that are not assigned yet cannot be reached.
      ?? (isV4 || bytes[0] & 0xE0 == 0x20 ? .everywhere : .special)
  }

  /// The IPv4 address that an IPv6 one contains for a translator or a tunnel.
  private var embedded: InternetAddress? {
    guard !isV4 else { return nil }
    if InternetAddress.translated.contains(self) {
      return InternetAddress(bytes: Array(bytes[12...]))
    }
    if InternetAddress.tunnelled.contains(self) {
      return InternetAddress(bytes: Array(bytes[2..<6]))
    }
    return nil
  }

  private static let translated = range("64:ff9b::/96")
  private static let tunnelled = range("2002::/16")

  private static let ranges = reaches.map { (range: range($0), reach: $1) }

  private static let reaches: [(String, AddressReach)] = [
    ("127.0.0.0/8", .loopback), ("::1", .loopback),
    // The unspecified address reaches this machine.
    ("0.0.0.0/8", .loopback), ("::/128", .loopback),
    ("10.0.0.0/8", .privateNetwork), ("172.16.0.0/12", .privateNetwork),
    ("192.168.0.0/16", .privateNetwork), ("100.64.0.0/10", .privateNetwork),
    ("fc00::/7", .privateNetwork),
    ("169.254.0.0/16", .link), ("fe80::/10", .link),
    ("192.0.0.0/24", .special), ("192.0.2.0/24", .special), ("198.18.0.0/15", .special),
    ("198.51.100.0/24", .special), ("203.0.113.0/24", .special), ("224.0.0.0/3", .special),
    ("2001:db8::/32", .special), ("2001::/23", .special),
  ]

  private static func range(_ text: String) -> AddressRange {
    guard let range = AddressRange(text) else { preconditionFailure("\(text) is not a range") }
    return range
  }
}
