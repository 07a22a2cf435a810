import Foundation
import Systemd

/// The units that have systemd make a backup at its time.
package struct BackupTimer: Sendable {
  /// The program and the data directory, with paths from the root on.
  package var program: String
  package var dataDirectory: String
  package var settings: BackupSettings
  /// What a shell runs after each backup; nil for nothing. The unit is root's, the data are not.
  package var command: String?

  package static let name = "cospool-backup"

  package init(
    program: String, dataDirectory: String, settings: BackupSettings, command: String? = nil
  ) {
    self.program = program
    self.dataDirectory = dataDirectory
    self.settings = settings
    self.command = command
  }

  /// The file's name, and what stands in it.
  package var units: [(name: String, text: String)] {
    let hook = command.map { ["--then", $0] } ?? []
    let words = ([program, "backup", "create", "--data", dataDirectory] + hook).map(UnitText.word)
    return [
      (
        "\(BackupTimer.name).service",
        """
        [Unit]
        Description=Backup of Cospool's server
        Documentation=man:cospool-server(1)
        RequiresMountsFor=\(UnitText.quoted(settings.folder))

        [Service]
        Type=oneshot
        ExecStart=\(words.joined(separator: " "))
        UMask=0077
        Nice=10
        IOSchedulingClass=idle

        """
      ),
      (
        "\(BackupTimer.name).timer",
        """
        [Unit]
        Description=Backup of Cospool's server, at its time

        [Timer]
        OnCalendar=\(settings.calendar)
        RandomizedDelaySec=300
        Persistent=true

        [Install]
        WantedBy=timers.target

        """
      ),
    ]
  }

  /// Writes both into a folder.
  ///
  /// - Throws: `.usage` where something holds what no unit can.
  package func write(to folder: String) throws(SyncServerError) {
    try settings.requireUnitTexts(and: [program, dataDirectory, command ?? ""])
    for unit in units {
      let path = "\(folder)/\(unit.name)"
      do {
        try Data(unit.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        // systemd reads them as root, and complains of files that only some may read.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      } catch {
        guard !SystemFault.isForbidden(error) else {
          throw SyncServerError(
            .disk, "\(path) may be written by another account alone: say it as root.")
        }
        throw .file("\(path) cannot be written", error)
      }
    }
  }
}
