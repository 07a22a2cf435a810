import Foundation
package import QueueModel

/// The contents of one backup: the file `manifest.json` in its folder, written last and never
/// changed.
package struct BackupManifest: Codable, Hashable, Sendable {
  /// One file of the data directory.
  package struct File: Codable, Hashable, Sendable {
    /// Its path, relative to the data directory.
    package var path: String
    package var bytes: Int
    /// The hash of its contents.
    package var sha256: ContentHash
  }

  /// The log of a workspace at the time of the backup.
  package struct Workspace: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var logPosition: UInt64
  }

  static let formatCurrent = 1

  package var format = BackupManifest.formatCurrent
  /// The time in UTC, as `20261125T133000Z`, followed by a number if that name existed.
  package var name: String
  /// Milliseconds since 1970.
  package var createdAt: Int64
  /// The program that wrote it.
  package var version: String
  package var files: [File]
  package var workspaces: [Workspace]
  /// Attachments that were already damaged, and are left out.
  package var damaged: [String]

  /// The size of a restore, in bytes; clamped to the largest number.
  package var bytes: Int {
    files.reduce(0) { sum, file in
      let (more, isTooMuch) = sum.addingReportingOverflow(file.bytes)
      return isTooMuch ? .max : more
    }
  }
}

extension BackupManifest {
  /// Reads an entry of a folder of backups, which others may write to.
  ///
  /// - Returns: nil if it is not a manifest, is of another version, or contains a path that no
  ///   backup may have.
  init?(_ data: Data, of name: String) {
    guard let manifest = try? JSONDecoder().decode(BackupManifest.self, from: data),
      manifest.format == BackupManifest.formatCurrent, manifest.name == name,
      manifest.files.allSatisfy({ BackupItem.isKnown($0.path) && $0.bytes >= 0 })
    else { return nil }
    self = manifest
  }
}

/// The paths that a backup may have, relative to a data directory.
///
/// A manifest is read from a disk that others may write to, so all other paths are rejected.
enum BackupItem {
  static let database = "cospool.sqlite"
  static let revocations = "revocations"
  /// Copies of the files that `push.json` names.
  static let appleKey = "keys/apns.p8"
  static let trustedRoot = "keys/root.pem"
  /// The top-level names of a data directory that are set aside before a restore.
  static let topNames = [
    "cospool.sqlite-wal", "cospool.sqlite-shm", database, "blobs", "keys", PushSettings.fileName,
    revocations,
  ]

  static func blob(_ hash: String, in workspace: String) -> String { "blobs/\(workspace)/\(hash)" }

  /// Whether a path, relative to the data directory, is allowed.
  static func isKnown(_ path: String) -> Bool {
    if [database, revocations, appleKey, trustedRoot, PushSettings.fileName].contains(path) {
      return true
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    return parts.count == 3 && parts[0] == "blobs" && WorkspaceID(parts[1]) != nil
      && ContentHash(parts[2]) != nil
  }
}
