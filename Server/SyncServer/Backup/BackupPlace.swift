import Foundation

/// The folder of the latest backup: `backup.json` in the data directory, which is not part of a
/// backup.
///
/// It makes `--folder` optional, and the checks find the backups through it. The account of the
/// data writes it, so root only reads it as that account.
package struct BackupPlace: Codable, Hashable, Sendable {
  static let fileName = "backup.json"

  /// The folder, as an absolute path.
  package var folder: String

  package init(folder: String) {
    self.folder = folder
  }

  /// - Returns: nil if no backup was made.
  /// - Throws: `.disk` if the file cannot be read, `.failed` if it names no folder.
  package static func read(directory: String) throws(SyncServerError) -> BackupPlace? {
    let path = directory + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let place: BackupPlace?
    do {
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      place = try? JSONDecoder().decode(BackupPlace.self, from: data)
    } catch {
      throw .disk(path, "cannot be read", error)
    }
    guard let place, place.folder.hasPrefix("/") else {
      throw SyncServerError(
        .failed,
        "\(path) does not name a backup folder. Remove it, then: cospool-server backup "
          + "create --folder FOLDER."
      )
    }
    return place
  }

  package func write(directory: String) throws(SyncServerError) {
    do {
      try PrivateFile.replace(directory + "/" + BackupPlace.fileName, with: self)
    } catch {
      throw .disk("\(directory)/\(BackupPlace.fileName)", "cannot be written", error)
    }
  }
}
