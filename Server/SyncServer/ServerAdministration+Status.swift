import Foundation
import QueueModel
import ServerCore
import ServerStore

/// The command `status`.
extension ServerAdministration {
  /// A workspace's log in printed form.
  package struct Log: Codable, Hashable, Sendable {
    package var workspace: String
    package var workspaceName: String
    /// The number of entries ever logged.
    package var logPosition: UInt64
    /// The kept entries, and their bytes. Entries covered by snapshots are dropped later.
    package var logEntries: Int
    package var logBytes: Int
    /// The latest snapshot covers the log up to here; 0 if there is none yet.
    package var snapshotPosition: UInt64
    package var snapshotBytes: Int
    /// Why the workspace cannot be read.
    package var problem: String?

    /// The text for users.
    package var text: String {
      let log = "\(logPosition) log entries so far, \(logEntries) kept (\(logBytes) bytes)"
      let snapshot =
        snapshotPosition == 0
        ? "no snapshot yet" : "a snapshot of \(snapshotPosition) (\(snapshotBytes) bytes)"
      return
        "\(ShownName.text(workspaceName)): \(log), \(snapshot)\(problem.map { ". \($0)" } ?? "")"
    }
  }

  package struct LogList: Codable, Hashable, Sendable {
    package var workspaces: [Log]
    /// The parts of the command `status` about pushes, and about the server itself.
    package var pushes: PushState?
    /// The devices that have access or had it.
    package var devices: [Device]?
    package var server: State?

    /// The devices of a workspace as text for users, connected ones first.
    ///
    /// - Parameter now: the machine's clock if nil.
    package func devicesText(of workspace: String, now: Int64? = nil) -> String {
      let now = now ?? ProcessClock.wallMilliseconds
      let known = (devices ?? []).filter { $0.workspace == workspace && !$0.revoked }
      guard !known.isEmpty else { return "  no devices" }
      let sorted =
        known.filter { $0.connectedSince != nil }
        + known.filter { $0.connectedSince == nil }
      let lines = sorted.prefix(Self.devicesShown).map { device in
        let state: String
        if let since = device.connectedSince {
          state = "connected for \(ServerAdministration.age(since.milliseconds, now))"
        } else if let seen = device.lastSeenAt {
          state = "away for \(ServerAdministration.age(seen.milliseconds, now))"
        } else {
          state = "never connected"
        }
        return "  \(ShownName.text(device.name)) (\(device.role)): \(state)"
      }
      let more = sorted.count - lines.count
      return (lines + (more > 0 ? ["  and \(more) more: cospool-server devices"] : []))
        .joined(separator: "\n")
    }

    private static let devicesShown = 20

    /// The fault of a workspace; nil if all can be read.
    package var problem: SyncServerError? {
      let damaged = workspaces.filter { $0.problem != nil }.map { ShownName.text($0.workspaceName) }
      guard !damaged.isEmpty else { return nil }
      return SyncServerError(
        .corrupt, "Workspaces that cannot be read: \(damaged.joined(separator: ", ")).")
    }
  }

  /// The logs of one workspace, or of all. A damaged one has a `problem`, and the others are still
  /// shown.
  package func logs(workspaceName: String?) throws(SyncServerError) -> LogList {
    try requireData()
    return try withDatabase { database throws(StorageFault) in
      var logs: [Log] = []
      for listing in try database.logs(ofWorkspaceNamed: workspaceName) {
        var log = Log(listing)
        // Reads it as the serving process does; only that shows whether it is readable.
        do throws(StorageFault) {
          _ = try database.readWorkspace(listing.workspace)
        } catch {
          guard error.code == .corrupt else { throw error }
          log.problem = SyncServerError(error).message
        }
        logs.append(log)
      }
      return LogList(workspaces: logs)
    }
  }
}

extension ServerAdministration {
  /// The age of a time, in its largest unit.
  static func age(_ milliseconds: Int64, _ now: Int64) -> String {
    let minutes = max(0, now - milliseconds) / 60_000
    if minutes < 2 { return minutes < 1 ? "less than a minute" : "1 minute" }
    if minutes < 120 { return "\(minutes) minutes" }
    return minutes < 2_880 ? "\(minutes / 60) hours" : "\(minutes / 1_440) days"
  }
}

extension ServerAdministration.Log {
  fileprivate init(_ listing: LogListing) {
    self.init(
      workspace: listing.workspace.description, workspaceName: listing.workspaceName,
      logPosition: listing.headPosition, logEntries: listing.entries, logBytes: listing.bytes,
      snapshotPosition: listing.snapshotPosition, snapshotBytes: listing.snapshotBytes)
  }
}
