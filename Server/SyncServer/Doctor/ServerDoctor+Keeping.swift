import Basics
import Foundation
import HealthChecks

/// Whether what is there can be brought back.
extension ServerDoctor {
  static let keepingChecks: [Check] = [.local("backup", backup)]

  /// The packages' timer makes a backup a day: two were missed.
  static let backupHoursMax: Double = 50

  private static func backup(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let place: BackupPlace
    do {
      guard let known = try BackupPlace.read(directory: context.dataDirectory) else {
        guard context.hasDatabase else { return [] }
        return [
          .warning(
            "backup", "no backup was made yet",
            fix:
              "systemctl enable --now cospool-backup.timer, if a package brought it; else have cron run "
              + "cospool-server backup create --folder FOLDER, on another disk")
        ]
      }
      place = known
    } catch {
      return [.error("backup", error.message, fix: "Do what that says.")]
    }
    let list: ServerBackup.List
    do {
      list = try ServerBackup(dataDirectory: context.dataDirectory, folder: nil).list()
    } catch {
      return [
        .error(
          "backup", error.message,
          fix: "Mount that disk, or do what that says; then: cospool-server backup create")
      ]
    }
    var findings = list.unreadable.map {
      DoctorFinding.warning(
        "backupUnreadable", "\(place.folder)/\($0) is no backup that this version can read",
        fix: "Remove it where it is damaged; update this program where a newer one wrote it.")
    }
    findings += list.backups.filter { $0.missing > 0 }.prefix(5).map {
      DoctorFinding.error(
        "backupNotWhole",
        "backup \($0.name) cannot be restored: \($0.missing) of its files are gone or damaged",
        fix:
          "Look at that disk. cospool-server backup create takes again what the server still has; where it stays: "
          + "rm \(Shell.quoted("\(place.folder)/\($0.name).json"))")
    }
    do {
      // A disk that had faults is read-only from then on.
      try ServerBackup.requireRight(to: place.folder)
    } catch {
      findings.append(
        .error("backupFolder", error.message, fix: "Look at that disk, and at whose the folder is.")
      )
    }
    let now = Int64(context.now.timeIntervalSince1970 * 1_000)
    findings += ages(of: list.backups, in: place.folder, at: now)
    var (data, folder) = (stat(), stat())
    if stat(context.dataDirectory, &data) == 0, stat(place.folder, &folder) == 0,
      data.st_dev == folder.st_dev
    {
      findings.append(
        .info(
          "backupPlace", "the backups lie on the disk that they are for",
          fix:
            "Have them copied elsewhere: COSPOOL_BACKUP_THEN in /etc/default/cospool-server, or --then"
        ))
    }
    return findings
  }
  private static func ages(
    of backups: [ServerBackup.Line], in folder: String, at now: Int64
  ) -> [DoctorFinding] {
    guard !backups.isEmpty else {
      return [
        .error("backup", "there is no backup in \(folder)", fix: "cospool-server backup create")
      ]
    }
    let ahead = backups.filter { BackupFolder.isAhead($0.createdAt, of: now) }
    var findings = ahead.prefix(5).map {
      DoctorFinding.error(
        "backupTime", "backup \($0.name) is dated ahead of this machine's clock",
        fix:
          "Have the system set the clock: timedatectl set-ntp true. Where the backup is wrong: rm "
          + "\(Shell.quoted("\(folder)/\($0.name).json")), then cospool-server backup create.")
    }
    guard let last = backups.last(where: { !BackupFolder.isAhead($0.createdAt, of: now) }) else {
      return findings
    }
    let hours = (Double(now) - Double(last.createdAt)) / 3_600_000
    let what = "the last backup, \(last.name), is \(Int(max(0, hours))) hours old"
    findings.append(
      hours > backupHoursMax
        ? .error(
          "backupAge", what,
          fix: "cospool-server backup create; then see why the timer does not: systemctl status "
            + "cospool-backup.timer")
        : .ok("backupAge", what))
    return findings
  }
}
