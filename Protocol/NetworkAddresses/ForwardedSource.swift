/// Finds the source of a request that proxies forwarded.
package enum ForwardedSource {
  /// Each proxy appends the address from which it got the request. So the first address from the
  /// right that is not a trusted proxy is the last one that can be trusted.
  ///
  /// - Parameters:
  ///   - peer: the other side of the connection.
  ///   - forwarded: the fields `X-Forwarded-For`, in order.
  package static func find(
    peer: String, forwarded: [String], trusted: [AddressRange]
  ) -> String {
    func isTrusted(_ address: InternetAddress) -> Bool { trusted.contains { $0.contains(address) } }
    guard var source = InternetAddress(peer), isTrusted(source) else { return peer }
    let hops = forwarded.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
    for hop in hops.reversed() {
      guard let address = address(in: hop) else { break }
      source = address
      guard isTrusted(address) else { break }
    }
    return source.description
  }

  /// Some proxies add the port: `192.0.2.1:80`, `[2001:db8::1]:80`.
  private static func address(in hop: Substring) -> InternetAddress? {
    let text = hop.filter { $0 != " " && $0 != "\t" }
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      return InternetAddress(text[text.index(after: text.startIndex)..<end])
    }
    return InternetAddress(text)
      ?? text.firstIndex(of: ":").flatMap { InternetAddress(text[..<$0]) }
  }
}
