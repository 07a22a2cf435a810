import NetworkAddresses

/// Addresses, ranges of them, and the sources that proxies report for a request.
enum AddressTarget {
  private static let trusted = ["10.0.0.0/8", "::1", "192.0.2.1"].compactMap { AddressRange($0) }

  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let address = InternetAddress(text) {
      try require(
        "\(address) is written as another", InternetAddress(address.description) == address)
      try require("\(address) is not in its network", address.network.contains(address))
    }
    if let range = AddressRange(text) {
      try require("\(range) is written as another", AddressRange(range.description) == range)
      try require("\(range) lacks its beginning", range.contains(range.start))
    }
    let source = ForwardedSource.find(peer: "10.0.0.1", forwarded: [text], trusted: trusted)
    try require("\(source) is not an address", InternetAddress(source)?.description == source)
  }
}
