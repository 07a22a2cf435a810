import Foundation

/// Whose program listens on a port of this machine, according to Linux (proc_net(5)).
enum PortOwner {
  /// The state of a socket that listens.
  private static let listening = "0A"

  /// The users whose programs listen there; empty if the system does not show it.
  static func users(of port: Int) -> Set<uid_t> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].compactMap {
      try? String(contentsOfFile: $0, encoding: .utf8)
    }
    return tables.reduce(into: []) { $0.formUnion(users(of: port, in: $1)) }
  }

  /// The same of one such table.
  static func users(of port: Int, in table: String) -> Set<uid_t> {
    let digits = String(port, radix: 16, uppercase: true)
    let suffix = ":" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    return Set(
      table.split(separator: "\n").compactMap { line in
        let fields = line.split(separator: " ")
        guard fields.count > 7, fields[3] == listening, fields[1].hasSuffix(suffix) else {
          return nil
        }
        return uid_t(fields[7])
      })
  }
}
