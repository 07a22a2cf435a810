/// The path and subprotocol with which devices connect to a server; SPECIFICATION.md, section
/// "Transport".
package enum SyncEndpoint {
  package static let path = "/v1/sync"
  /// The subprotocol (RFC 6455, section 1.9).
  package static let subprotocol = "cospool.v1"

  /// UTF-8 bytes of a folder below which a proxy serves it.
  static let folderBytesMax = 200

  /// The folder of an address's path, below which a proxy serves the server's paths. Empty if the
  /// server has the whole host.
  ///
  /// - Parameter path: of an address: `/cospool`, or with the sync path after it.
  /// - Returns: nil if it is not a path of letters, digits, `-`, `_` and dots, which need no quotes
  ///   in a
  ///   shell and mean the same in all programs.
  package static func folder(ofPath path: String) -> String? {
    var rest = Substring(path)
    if rest.hasSuffix(self.path) { rest.removeLast(self.path.count) }
    if rest.hasSuffix("/") { rest.removeLast() }
    guard !rest.isEmpty else { return "" }
    let names = rest.split(separator: "/", omittingEmptySubsequences: false)
    let isPlain = names.dropFirst().allSatisfy { name in
      !name.isEmpty && name != "." && name != ".."
        && name.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
          default: "-_.".utf8.contains(byte)
          }
        }
    }
    return names[0].isEmpty && isPlain && rest.utf8.count <= folderBytesMax ? String(rest) : nil
  }

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
