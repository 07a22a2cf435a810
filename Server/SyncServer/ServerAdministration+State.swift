import Basics
import Foundation
import Operations
import ProcessResources
import ServerStore

/// The server's part of the command `status`.
extension ServerAdministration {
  /// The server in printed form.
  package struct State: Codable, Hashable, Sendable {
    package var dataDirectory: String
    /// The version of the serving process, or of this program if none serves.
    package var version: String
    /// Whether a process holds the data directory.
    package var isServed: Bool
    /// Where it listens; nil if none serves, or it left no record.
    package var address: String?
    package var processID: Int32?
    package var startedAt: PrintedTime?
    /// Free bytes on the disk.
    package var diskFree: UInt64?
    package var lastBackupAt: PrintedTime?
    /// Why there is no backup any more, if there was one.
    package var backupProblem: String?
    /// When the certificate of its port expires; nil without TLS.
    package var certificateEndsAt: PrintedTime?

    /// The text for users.
    ///
    /// - Parameter now: the machine's clock if nil.
    package func text(now: Int64? = nil) -> String {
      let now = now ?? ProcessClock.wallMilliseconds
      var lines: [String] = []
      if let address, let startedAt, let processID {
        let uptime = ServerAdministration.age(startedAt.milliseconds, now)
        lines.append(
          "server: version \(version), process \(processID), on \(address) for \(uptime)")
      } else if isServed {
        lines.append("server: \(ServerAdministration.addressUnknown)")
      } else {
        lines.append("server: none is running; this program has version \(version)")
      }
      let disk = diskFree.map { "\($0 >> 20) MiB free" } ?? "unknown"
      lines.append("data: \(dataDirectory), disk: \(disk)")
      let backup = lastBackupAt.map { "\(ServerAdministration.age($0.milliseconds, now)) ago" }
      lines.append("last backup: \(backup ?? backupProblem ?? "none")")
      if let certificateEndsAt {
        let days = (certificateEndsAt.milliseconds - now) / 86_400_000
        lines.append("certificate: ends in \(days) days")
      }
      return lines.joined(separator: "\n")
    }
  }

  /// The text if the file with the address is gone, or does not exist yet.
  private static let addressUnknown =
    "one is running but does not report its address; restart it, unless it is just starting "
    + "or a restore is in progress"

  /// Examines the process, its port, the disk and the backups.
  package func serverState() async -> State {
    let listening = AddressFile(directory: directory).read()
    var state = State(
      dataDirectory: directory, version: listening?.version ?? ServerVersion.text,
      isServed: listening != nil || AddressFile.isServed(directory),
      address: listening?.url, processID: listening?.processID,
      startedAt: (listening?.startedAt).map(PrintedTime.init),
      diskFree: FreeSpace(of: directory).bytesLeft)
    do {
      state.lastBackupAt = try ServerBackup.lastMade(for: directory).map(PrintedTime.init)
    } catch {
      state.backupProblem = error.message
    }
    if let address = listening.flatMap({ ServerDoctor.ownAddress($0.url) }), address.isSecure {
      let reply = try? await ServerProbe(
        address: address, connectSeconds: 2, checksCertificate: false
      ).reply()
      state.certificateEndsAt = reply?.certificateEnds.map { PrintedTime($0 * 1_000) }
    }
    return state
  }
}

/// The condition of the command `pair`.
extension ServerAdministration {
  /// Ensures that a server serves the data: without one, no device could use a code.
  ///
  /// - Parameter startAdvice: how to start or reach the server, if not by hand.
  /// - Throws: `.unreachable` if none serves, or this user may not use the data; creates nothing.
  package func requireServer(startAdvice: String?) throws(SyncServerError) {
    guard !AddressFile.isServed(directory) else { return }
    guard !isForbidden else {
      throw SyncServerError(
        .unreachable,
        "There is no code: this user may not use \(directory). Run the command as the user who "
          + "runs the server, or as root: sudo cospool-server pair")
    }
    try requireRestored()
    let byHand = "Start it: cospool-server serve --data \(Shell.quoted(directory))"
    throw SyncServerError(
      .unreachable,
      "There is no code: no server is running for \(directory). \(startAdvice ?? byHand)")
  }

  /// Whether the system keeps this user from the data directory or its lock.
  private var isForbidden: Bool {
    [(directory, R_OK | W_OK | X_OK), ("\(directory)/\(DirectoryLock.serverName)", R_OK | W_OK)]
      .contains { path, rights in access(path, rights) != 0 && errno == EACCES }
  }
}

/// The command `health`.
extension ServerAdministration {
  /// The serving process's report about itself.
  package enum Health: Hashable, Sendable {
    case well(address: String)
    case ill(address: String)
    case unreachable(reason: String)

    /// The text for users.
    package var text: String {
      switch self {
      case .well(let address): "\(address) is healthy"
      case .ill(let address):
        "\(address) reports that it is unhealthy: look at its log and its disk"
      case .unreachable(let reason): reason
      }
    }
  }

  /// Requests it on its own port, whichever name its certificate is for.
  ///
  /// - Parameter limit: how long to wait for an answer.
  package func health(within limit: Duration = .seconds(5)) async -> Health {
    guard let listening = AddressFile(directory: directory).read(),
      let address = ServerDoctor.ownAddress(listening.url)
    else {
      return .unreachable(
        reason: AddressFile.isServed(directory)
          ? "server for \(directory): \(ServerAdministration.addressUnknown)"
          : "no server is running for \(directory)")
    }
    let late = Health.unreachable(reason: "\(address.text) does not answer within \(limit)")
    return await Deadline.value(within: limit, otherwise: late) {
      do {
        let reply = try await ServerProbe(
          address: address, connectSeconds: 60, checksCertificate: false
        ).reply()
        return reply.status == 200 ? .well(address: address.text) : .ill(address: address.text)
      } catch {
        return .unreachable(reason: (error as? ServerProbe.Failure)?.reason ?? "\(error)")
      }
    }
  }
}
