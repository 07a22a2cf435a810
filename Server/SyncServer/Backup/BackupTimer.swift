import Foundation
import Systemd

/// The units that have systemd make a backup at its time.
package struct BackupTimer: Sendable {
  /// The program and the data directory, with paths from the root on.
  package var program: String
  package var dataDirectory: String
  package var settings: BackupSettings

  package static let name = "cospool-backup"

  package init(program: String, dataDirectory: String, settings: BackupSettings) {
    self.program = program
    self.dataDirectory = dataDirectory
    self.settings = settings
  }

  /// The file's name, and what stands in it.
  package var units: [(name: String, text: String)] {
    let words = [program, "backup", "create", "--data", dataDirectory].map(UnitText.word)
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
    try settings.requireUnitTexts(and: [program, dataDirectory])
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

/// What a shell runs after a backup: to copy it elsewhere, or to tell a monitor.
package enum BackupHook {
  /// Runs it, and waits for its end. What it writes goes where this process writes.
  ///
  /// - Parameter home: of the account that runs it, where that is another's than the environment's.
  /// - Throws: `.failed` where it does not end with 0.
  package static func run(
    _ command: String, folder: String, backup: String, home: String? = nil
  ) throws(SyncServerError) {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    var variables = ProcessInfo.processInfo.environment
    variables["COSPOOL_BACKUP_FOLDER"] = folder
    variables["COSPOOL_BACKUP_NAME"] = backup
    if let home { variables["HOME"] = home }
    process.environment = variables
    // Scripts read what this prints: it says nothing but its own.
    process.standardOutput = FileHandle.standardError
    do { try process.run() } catch {
      throw SyncServerError(.failed, "No shell can be started: \(error.localizedDescription)")
    }
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw SyncServerError(
        .failed,
        "Backup \(backup) was made, but the command after it ended with \(process.terminationStatus): "
          + command)
    }
  }
}
