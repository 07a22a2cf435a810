/// Where devices ask a server to speak WebSocket, and in which words; SPECIFICATION.md, section "Transport".
package enum SyncEndpoint {
  package static let path = "/v1/sync"
  /// The subprotocol (RFC 6455, section 1.9).
  package static let subprotocol = "cospool.v1"

  /// Whether a server may be named so in an address: a name or a number, a port that there is.
  ///
  /// Addresses are printed in commands that people paste into a shell, where other signs would end them.
  ///
  /// - Parameter port: nil for the usual one.
  package static func isPlace(host: String, port: Int?) -> Bool {
    !host.isEmpty && port.map { (1...65_535).contains($0) } ?? true
      && host.allSatisfy { $0.isLetter || $0.isNumber || "-._:[]%".contains($0) }
  }
}
