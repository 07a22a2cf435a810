import Foundation
import Systemd

/// Where backups go and which are kept, as `backup schedule` wrote it: `backup.json` of the data
/// directory. It is no part of a backup.
package struct BackupSettings: Codable, Hashable, Sendable {
  /// The folder, with a path from the root on.
  package var folder: String
  package var keep: BackupRule
  /// When the timer runs, as systemd's `OnCalendar` has it.
  package var calendar: String

  static let fileName = "backup.json"

  package init(folder: String, keep: BackupRule = .standard, calendar: String) {
    self.folder = folder
    self.keep = keep
    self.calendar = calendar
  }

  /// What comes into units of root's. The account of the data writes it, and a second line would be a setting of
  /// its own.
  private var unitTexts: [String] { [folder, calendar] }

  /// Looks whether units can hold all that comes into them.
  ///
  /// - Throws: `.usage` where something holds a control character.
  package func requireUnitTexts(and others: [String] = []) throws(SyncServerError) {
    for text in unitTexts + others where !UnitText.canHold(text) {
      throw SyncServerError(
        .usage,
        "\(ShownName.text(text)) holds a control character, which no unit can. Name another.")
    }
  }

  /// nil where none were written.
  package static func read(directory: String) throws(SyncServerError) -> BackupSettings? {
    let path = directory + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let settings: BackupSettings?
    do {
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      settings = try? JSONDecoder().decode(BackupSettings.self, from: data)
    } catch {
      throw .disk(path, "cannot be read", error)
    }
    guard let settings, settings.folder.hasPrefix("/"),
      settings.unitTexts.allSatisfy(UnitText.canHold)
    else {
      throw SyncServerError(
        .failed,
        "\(path) holds no settings of backups. Remove it and write it anew: cospool-server backup "
          + "schedule --off, then cospool-server backup schedule --folder FOLDER.")
    }
    return settings
  }

  package func write(directory: String) throws(SyncServerError) {
    do {
      try PrivateFile.replace(directory + "/" + BackupSettings.fileName, with: self)
    } catch {
      throw .disk("\(directory)/\(BackupSettings.fileName)", "cannot be written", error)
    }
  }

  package static func remove(directory: String) throws(SyncServerError) {
    let path = directory + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return }
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw .disk(path, "cannot be removed", error)
    }
  }
}
