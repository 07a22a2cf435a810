import ArgumentParser
import Foundation
import SyncServer

/// Backups of the data directory.
struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Make, list, check and restore backups, while the server runs.",
    discussion: """
      A backup contains the database as it was at one moment, the attachments, the push \
      settings with their keys, and the list of revoked devices. It does not contain the \
      certificates, which you pass to serve.

      The packages contain a timer for daily backups: systemctl enable --now \
      cospool-backup.timer. Its options are in \(ServerUnit.optionsFile). Without a package, \
      have cron run `cospool-server backup create --folder FOLDER --keep 14`.

      Each backup is a folder with a date, of the shape of a data directory. Attachments that \
      the backup before has are hard links. Files never change. To copy backups elsewhere, use \
      a tool that stores each content once, such as restic, or keeps hard links, such as rsync \
      -aH.

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

/// Names the folder of backups.
struct BackupFolderOptions: ParsableArguments {
  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp(
      "The folder of backups. Default: the folder of the latest one.", valueName: "folder"))
  var folder: String?

  @Flag(help: "Print JSON.")
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
      It works while the server runs. Attachments that the latest backup has take no space \
      again, if the disk has hard links.

      A shell runs --then after the backup. If the command fails, this command fails. The shell has no \
      terminal, and its environment holds PATH, HOME, LANG, COSPOOL_BACKUP_FOLDER and COSPOOL_BACKUP_NAME \
      only. Use it to copy backups to a store such as S3. If root runs this command, both steps run as the \
      account that owns the data, and the folder must belong to that account, too.

      EXAMPLES
        cospool-server backup create --folder /backup
        cospool-server backup create --keep 14
        cospool-server backup create --folder /backup --then 'restic backup "$COSPOOL_BACKUP_FOLDER"'
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
      throw ValidationError("--keep: give 1 to 10000.")
    }
  }

  func run() throws {
    let created = try place.backup().create(keeping: keep)
    if place.json {
      try StandardOutput.write(json: created)
    } else {
      try StandardOutput.write(
        "Backup \(created.backup.text). \(created.newBytes) bytes are new in \(created.folder).")
      if created.isNewFolder {
        try StandardOutput.write(
          "The folder is new. If it belongs on another disk, check that the disk is mounted.")
      }
      for name in created.removed { try StandardOutput.write("Removed \(name).") }
    }
    for path in created.backup.damaged where !place.json {
      StandardError.write(
        "cospool-server: \(path) is damaged on the server, so the backup does not contain it.\n")
    }
    // The unit passes the setting of /etc/default/cospool-server, which may be empty.
    if let command, !command.isEmpty {
      try BackupHook.run(
        command, folder: created.folder, backup: created.backup.name,
        home: ServerAccount.homeOfOwner)
    }
  }
}

struct BackupListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the backups, oldest first.")

  @OptionGroup var place: BackupFolderOptions

  func run() throws {
    let list = try place.backup().list()
    if place.json { return try StandardOutput.write(json: list) }
    for backup in list.backups { try StandardOutput.write(backup.text) }
    for name in list.unreadable {
      StandardError.write("cospool-server: this version cannot read the backup \(name).\n")
    }
    if list.backups.isEmpty { StandardError.write("No backup in \(list.folder) yet.\n") }
  }
}

struct BackupVerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check all of a backup.",
    discussion: """
      It compares the hash of every file, has SQLite check the database, and reads every \
      workspace as the server does. If a backup's date is ahead of this machine's clock, name \
      the backup that you mean. Exit code 6: something is missing or damaged.
      """)

  @OptionGroup var place: BackupFolderOptions

  @Argument(help: "The backup's name. Default: the latest.")
  var name: String?

  func run() throws {
    let verified = try place.backup().verify(name: name)
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
    abstract: "Replace the contents of the data directory with a backup.",
    discussion: """
      Stop the server first. The current contents move into a folder before-restore-… in the \
      data directory. Revoked devices stay revoked, even if they had access at the time of the \
      backup. When the server runs again, devices send it what the backup lacks. If a backup's \
      date is ahead of this machine's clock, name the backup that you mean.

      EXAMPLES
        cospool-server backup restore
        cospool-server backup restore 20261125T030000Z --folder /backup --data /srv/cospool
      """)

  @OptionGroup var place: BackupFolderOptions

  @Argument(help: "The backup's name. Default: the latest.")
  var name: String?

  func run() throws {
    let restored = try place.backup().restore(name: name)
    if place.json { return try StandardOutput.write(json: restored) }
    try StandardOutput.write("Restored backup \(restored.backup). Start the server.")
    if let aside = restored.setAside {
      try StandardOutput.write("The previous data is in \(aside).")
    }
    for note in restored.notes { try StandardOutput.write(note + ".") }
  }
}
