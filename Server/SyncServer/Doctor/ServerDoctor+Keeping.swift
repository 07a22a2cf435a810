import Basics
import Foundation
import Operations

/// Whether the data can be restored.
extension ServerDoctor {
  static let keepingChecks: [Check] = [.local("backup", backup)]

  /// The packages' timer makes one backup a day: at this age, two were missed.
  static let backupHoursMax: Double = 50

  private static func backup(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let place: BackupPlace
    do {
      guard let known = try BackupPlace.read(directory: context.dataDirectory) else {
        guard context.hasDatabase else { return [] }
        return [
          .warning(
            "backup", "there is no backup yet",
            fix:
              "If a package installed it: systemctl enable --now cospool-backup.timer. "
              + "Otherwise have cron run cospool-server backup create --folder FOLDER, with a "
              + "folder on another disk.")
        ]
      }
      place = known
    } catch {
      return [.error("backup", error.message, fix: "Correct what the error names.")]
    }
    let list: ServerBackup.List
    do {
      list = try ServerBackup(dataDirectory: context.dataDirectory, folder: nil).list()
    } catch {
      return [
        .error(
          "backup", error.message,
          fix: "Mount that disk, or correct what the error names; then: cospool-server backup "
            + "create")
      ]
    }
    var findings = list.unreadable.map {
      DoctorFinding.warning(
        "backupUnreadable", "this version cannot read the backup \(place.folder)/\($0)",
        fix: "If it is damaged, remove it. If a newer version wrote it, update this program.")
    }
    findings += list.backups.filter { $0.missing > 0 }.prefix(5).map {
      DoctorFinding.error(
        "backupNotWhole",
        "backup \($0.name) cannot be restored: \($0.missing) of its files are missing or damaged",
        fix:
          "Check that disk. The next cospool-server backup create saves again what the server "
          + "still has. Then: rm -r \(Shell.quoted("\(place.folder)/\($0.name)"))")
    }
    do {
      // After a fault, a disk becomes read-only.
      try ServerBackup.requireRight(to: place.folder)
    } catch {
      findings.append(
        .error("backupFolder", error.message, fix: "Check that disk, and the owner of the folder.")
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
          "backupPlace", "the backups are on the same disk as the data",
          fix:
            "Copy them elsewhere: set COSPOOL_BACKUP_THEN in /etc/default/cospool-server, or --then"
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
    let ahead = backups.filter { BackupFolder.isAhead($0.createdAt.milliseconds, of: now) }
    var findings = ahead.prefix(5).map {
      DoctorFinding.error(
        "backupTime", "backup \($0.name) is dated ahead of this machine's clock",
        fix:
          "Have the system set the clock: timedatectl set-ntp true. If the backup's date is "
          + "wrong: rm -r \(Shell.quoted("\(folder)/\($0.name)")), then cospool-server "
          + "backup create.")
    }
    guard
      let last = backups.last(where: { !BackupFolder.isAhead($0.createdAt.milliseconds, of: now) })
    else {
      return findings
    }
    let hours = (Double(now) - Double(last.createdAt.milliseconds)) / 3_600_000
    let what = "the last backup, \(last.name), is \(Int(max(0, hours))) hours old"
    findings.append(
      hours > backupHoursMax
        ? .error(
          "backupAge", what,
          fix: "Run cospool-server backup create. Then find out why the timer did not: "
            + "systemctl status cospool-backup.timer")
        : .ok("backupAge", what))
    return findings
  }
}
