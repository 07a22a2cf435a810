import ArgumentParser
import Foundation
import SyncServer

/// Backups of the data directory.
struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Make, list, check and restore backups, while the server runs.",
    discussion: """
      A backup holds the database as it was at one moment, attachments, push settings with the keys that \
      they name, and who was revoked. It does not hold certificates, which serve is given by name.

      Packages bring a timer that makes one a day: systemctl enable --now cospool-backup.timer. Its options \
      are in \(ServerUnit.optionsFile). Elsewhere, have cron run `cospool-server backup create --folder FOLDER \
      --keep 14`.

      In the folder, each content is a file of its own under its SHA-256, once for all backups. Nothing \
      there is ever changed, so any tool that copies new files takes whole backups elsewhere.

      EXAMPLES
        cospool-server backup create --folder /backup
        cospool-server backup create --keep 14
        cospool-server backup list
        cospool-server backup verify
        cospool-server backup restore 20261125T030000Z
      """,
    subcommands: [
      BackupCreateCommand.self, BackupListCommand.self, BackupVerifyCommand.self,
      BackupRestoreCommand.self,
    ])
}

/// Where backups lie.
struct BackupFolderOptions: ParsableArguments {
  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp(
      "The folder of backups. Default: where the latest one went.", valueName: "folder"))
  var folder: String?

  @Flag(help: "Print JSON; times are milliseconds since 1970.")
  var json = false

  func backup() throws -> ServerBackup {
    try ServerBackup(dataDirectory: data.resolved, folder: folder)
  }
}

struct BackupCreateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make a backup.",
    discussion: """
      Works while the server runs. What no backup had before is copied, so attachments cost their place \
      once.

      A shell runs --then after the backup. If the command fails, this command fails. The shell has no \
      terminal, and its environment holds PATH, HOME, LANG, COSPOOL_BACKUP_FOLDER and COSPOOL_BACKUP_NAME \
      only. Use it to copy backups to a store such as S3. If root runs this command, both steps run as the \
      account that owns the data, and the folder must belong to that account, too.

      EXAMPLES
        cospool-server backup create --folder /backup
        cospool-server backup create --keep 14
        cospool-server backup create --folder /backup --then 'rclone copy "$COSPOOL_BACKUP_FOLDER" s3:me'
      """)

  @OptionGroup var place: BackupFolderOptions

  @Option(
    help: ArgumentHelp(
      "Keep the latest n backups, and remove older ones. Default: keep all.", valueName: "n"))
  var keep: Int?

  @Option(name: .customLong("then"), help: ArgumentHelp("What a shell runs.", valueName: "command"))
  var command: String?

  func validate() throws {
    guard keep.map({ (1...10_000).contains($0) }) ?? true else {
      throw ValidationError("--keep takes 1 to 10000.")
    }
  }

  func run() throws {
    let created = try place.backup().create(keeping: keep)
    if place.json {
      try StandardOutput.write(json: created)
    } else {
      try StandardOutput.write(
        "Backup \(created.backup.text). \(created.newBytes) bytes are new in \(created.folder).")
      for name in created.removed { try StandardOutput.write("Removed \(name).") }
    }
    for path in created.backup.damaged {
      StandardError.write("cospool-server: \(path) is damaged on the server, and left out.\n")
    }
    // The unit passes on what /etc/default says, or nothing.
    if let command, !command.isEmpty {
      try BackupHook.run(
        command, folder: created.folder, backup: created.backup.name,
        home: ServerAccount.homeOfOwner)
    }
  }
}

struct BackupListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the backups, the oldest first.")

  @OptionGroup var place: BackupFolderOptions

  func run() throws {
    let list = try place.backup().list()
    if place.json { return try StandardOutput.write(json: list) }
    for backup in list.backups { try StandardOutput.write(backup.text) }
    for name in list.unreadable {
      StandardError.write("cospool-server: \(name) is no backup that this version can read.\n")
    }
    if list.backups.isEmpty { StandardError.write("No backup in \(list.folder) yet.\n") }
  }
}

struct BackupVerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract:
      "Restore a backup into a folder of its own, compare all of it, and remove that folder.",
    discussion: """
      Compares every file's hash, has SQLite check the database, and reads every workspace as the server \
      does. Where a backup is dated ahead of this machine's clock, name the one that you mean. Exit code 6 says that something is missing or damaged.
      """)

  @OptionGroup var place: BackupFolderOptions

  @Option(
    help: ArgumentHelp(
      "Where there is room for all of it; without, the system's temporary folder.",
      valueName: "folder"))
  var scratch: String?

  @Argument(help: "The backup's name; without, the latest.")
  var name: String?

  func run() throws {
    let verified = try place.backup().verify(name: name, scratch: scratch)
    if place.json {
      try StandardOutput.write(json: verified)
    } else {
      try StandardOutput.write(verified.text + ".")
    }
  }
}

struct BackupRestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Put a backup in the place of what the data directory holds.",
    discussion: """
      Stop the server first. What is there is kept in a folder before-restore-… of the data directory. \
      Devices that were revoked stay out, whatever the backup says. When the server runs again, devices \
      bring back what they have and the backup lacks. Where a backup is dated ahead of this machine's \
      clock, name the one that you mean.

      EXAMPLES
        cospool-server backup restore
        cospool-server backup restore 20261125T030000Z --folder /backup --data /srv/cospool
      """)

  @OptionGroup var place: BackupFolderOptions

  @Argument(help: "The backup's name; without, the latest.")
  var name: String?

  func run() throws {
    let restored = try place.backup().restore(name: name)
    if place.json { return try StandardOutput.write(json: restored) }
    try StandardOutput.write("Restored backup \(restored.backup). Start the server.")
    if let aside = restored.setAside { try StandardOutput.write("What was there is in \(aside).") }
    for note in restored.notes { try StandardOutput.write(note + ".") }
  }
}
