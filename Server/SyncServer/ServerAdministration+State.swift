import Foundation
import HealthChecks
import ServerStore

/// The part of the command `status` that is about the server itself.
extension ServerAdministration {
  /// The server, as it is printed; times are milliseconds since 1970.
  package struct State: Codable, Hashable, Sendable {
    package var dataDirectory: String
    /// Of the process that serves, else of this program.
    package var version: String
    /// Where it listens; nil where none serves.
    package var address: String?
    package var processID: Int32?
    package var startedAt: Int64?
    /// Bytes that are left on the disk.
    package var diskFree: UInt64?
    package var lastBackupAt: Int64?
    /// When the certificate of its port ends; nil without TLS.
    package var certificateEndsAt: Int64?

    /// What a person reads.
    ///
    /// - Parameter now: the machine's clock where nil.
    package func text(now: Int64? = nil) -> String {
      let now = now ?? ProcessClock.wallMilliseconds
      var lines: [String] = []
      if let address, let startedAt, let processID {
        let hours = max(0, now - startedAt) / 3_600_000
        let uptime = hours < 48 ? "\(hours) hours" : "\(hours / 24) days"
        lines.append(
          "server: version \(version), process \(processID), on \(address) for \(uptime)")
      } else {
        lines.append("server: none runs; this program has version \(version)")
      }
      let disk = diskFree.map { "\($0 >> 20) MiB left" } ?? "not known"
      lines.append("data: \(dataDirectory), disk: \(disk)")
      let backup = lastBackupAt.map { "\(max(0, now - $0) / 3_600_000) hours ago" }
      lines.append("last backup: \(backup ?? "none is set up, or none was made")")
      if let certificateEndsAt {
        lines.append("certificate: ends in \((certificateEndsAt - now) / 86_400_000) days")
      }
      return lines.joined(separator: "\n")
    }
  }

  /// Looks at the process, its port, the disk and the backups.
  package func serverState() async -> State {
    let listening = AddressFile(directory: directory).read()
    let backups = try? ServerBackup(dataDirectory: directory, folder: nil).list().backups
    var state = State(
      dataDirectory: directory, version: listening?.version ?? ServerVersion.text,
      address: listening?.url, processID: listening?.processID, startedAt: listening?.startedAt,
      diskFree: FreeSpace(of: directory).bytesLeft, lastBackupAt: backups?.last?.createdAt)
    if let address = listening.flatMap({ ServerDoctor.ownAddress($0.url) }), address.isSecure {
      let reply = try? await ServerProbe(
        address: address, connectSeconds: 2, checksCertificate: false
      ).reply()
      state.certificateEndsAt = reply?.certificateEnds.map { $0 * 1_000 }
    }
    return state
  }
}
