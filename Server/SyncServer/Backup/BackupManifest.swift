import Foundation
package import QueueModel

/// What one backup holds: a file `NAME.json` in the folder of backups, written last and never changed.
package struct BackupManifest: Codable, Hashable, Sendable {
  /// One file of the data directory.
  package struct File: Codable, Hashable, Sendable {
    /// Where it belongs, from the data directory on.
    package var path: String
    package var bytes: Int
    /// What it holds; its name among the files of the folder.
    package var sha256: ContentHash
  }

  /// How far a workspace's log was.
  package struct Workspace: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var logPosition: UInt64
  }

  static let formatCurrent = 1

  package var format = BackupManifest.formatCurrent
  /// The time in UTC, as `20261125T133000Z`, with a number behind it if there was one of that name.
  package var name: String
  /// Milliseconds since 1970.
  package var createdAt: Int64
  /// The program that wrote it.
  package var version: String
  package var files: [File]
  package var workspaces: [Workspace]
  /// Attachments that were damaged already, and are left out.
  package var damaged: [String]

  /// What restoring it writes, in bytes; the largest number if that is more.
  package var bytes: Int {
    files.reduce(0) { sum, file in
      let (more, isTooMuch) = sum.addingReportingOverflow(file.bytes)
      return isTooMuch ? .max : more
    }
  }
}

extension BackupManifest {
  /// Reads what stands in a folder of backups, which others may write to.
  ///
  /// - Returns: nil if it is no manifest, is another version's, or names what no backup holds.
  init?(_ data: Data, of name: String) {
    guard let manifest = try? JSONDecoder().decode(BackupManifest.self, from: data),
      manifest.format == BackupManifest.formatCurrent, manifest.name == name,
      manifest.files.allSatisfy({ BackupItem.isKnown($0.path) && $0.bytes >= 0 })
    else { return nil }
    self = manifest
  }
}

/// The files that a backup may hold: where each belongs in a data directory.
///
/// A manifest is read from a disk that others may write to. A path that is not one of these is none.
enum BackupItem {
  static let database = "cospool.sqlite"
  static let revocations = "revocations"
  /// Copies of the files that `push.json` names.
  static let appleKey = "keys/apns.p8"
  static let trustedRoot = "keys/root.pem"
  /// What stands directly in a data directory and is set aside before a backup comes in its place.
  static let topNames = [
    "cospool.sqlite-wal", "cospool.sqlite-shm", database, "blobs", "keys", PushSettings.fileName,
    revocations,
  ]

  static func blob(_ hash: String, in workspace: String) -> String { "blobs/\(workspace)/\(hash)" }

  /// Whether a file may stand at a path from the data directory on.
  static func isKnown(_ path: String) -> Bool {
    if [database, revocations, appleKey, trustedRoot, PushSettings.fileName].contains(path) {
      return true
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    return parts.count == 3 && parts[0] == "blobs" && WorkspaceID(parts[1]) != nil
      && ContentHash(parts[2]) != nil
  }
}
