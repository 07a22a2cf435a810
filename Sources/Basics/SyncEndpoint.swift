/// The path and subprotocol with which devices connect to a server; SPECIFICATION.md, section
/// "Transport".
package enum SyncEndpoint {
  package static let path = "/v1/sync"
  /// The subprotocol (RFC 6455, section 1.9).
  package static let subprotocol = "cospool.v1"

  /// Whether an address may name a server this way: a host name or number, and a valid port.
  ///
  /// Addresses are printed in commands that users paste into a shell, where other characters could
  /// end the command.
  ///
  /// - Parameter port: nil for the usual one.
  package static func isPlace(host: String, port: Int?) -> Bool {
    !host.isEmpty && port.map { (1...65_535).contains($0) } ?? true
      && host.allSatisfy { $0.isLetter || $0.isNumber || "-._:[]%".contains($0) }
  }
}
