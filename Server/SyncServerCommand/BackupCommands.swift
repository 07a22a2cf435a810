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

      In the folder, each content is a file of its own under its SHA-256, once for all backups. Nothing \
      there is ever changed, so any tool that copies new files takes whole backups elsewhere.

      EXAMPLES
        cospool-server backup schedule --folder /backup --write /etc/systemd/system
        cospool-server backup create
        cospool-server backup list
        cospool-server backup verify
        cospool-server backup restore 20261125T030000Z
      """,
    subcommands: [
      BackupCreateCommand.self, BackupListCommand.self, BackupVerifyCommand.self,
      BackupRestoreCommand.self, BackupScheduleCommand.self,
    ])
}

/// Where backups lie; shared by all but `schedule`.
struct BackupFolderOptions: ParsableArguments {
  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp(
      "The folder of backups; without, that of backup schedule.", valueName: "folder"))
  var folder: String?

  @Flag(help: "Print JSON; times are milliseconds since 1970.")
  var json = false

  func backup() throws -> ServerBackup {
    try ServerBackup(dataDirectory: data.resolved, folder: folder)
  }
}

/// Which backups are kept; shared by `create` and `schedule`.
struct BackupRuleOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Of each of so many days that have one, keep the last.", valueName: "n"))
  var keepDays: Int?

  @Option(help: ArgumentHelp("Of each of so many weeks.", valueName: "n"))
  var keepWeeks: Int?

  @Option(help: ArgumentHelp("Of each of so many months.", valueName: "n"))
  var keepMonths: Int?

  func validate() throws {
    for count in [keepDays, keepWeeks, keepMonths].compactMap({ $0 })
    where !(0...BackupRule.countMax).contains(count) {
      throw ValidationError(
        "--keep-days, --keep-weeks and --keep-months take 0 to \(BackupRule.countMax).")
    }
  }

  /// nil where none is given.
  func rule(_ known: BackupRule) -> BackupRule? {
    guard [keepDays, keepWeeks, keepMonths].contains(where: { $0 != nil }) else { return nil }
    return BackupRule(
      days: keepDays ?? known.days, weeks: keepWeeks ?? known.weeks,
      months: keepMonths ?? known.months)
  }
}

struct BackupCreateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make a backup, and remove those that the rule does not keep.",
    discussion: """
      Works while the server runs. What no backup had before is copied, so attachments cost their place \
      once.

      A shell runs --then after the backup. If the command fails, this command fails. The shell has no \
      terminal, and its environment holds PATH, HOME, LANG, COSPOOL_BACKUP_FOLDER and COSPOOL_BACKUP_NAME \
      only. Use it to copy backups to a store such as S3. If root runs this command, both steps run as the \
      account that owns the data, and the folder must belong to that account, too.

      EXAMPLES
        cospool-server backup create --folder /backup
        cospool-server backup create --folder /backup --then 'rclone copy "$COSPOOL_BACKUP_FOLDER" s3:me'
      """)

  @OptionGroup var place: BackupFolderOptions
  @OptionGroup var keep: BackupRuleOptions

  @Option(name: .customLong("then"), help: ArgumentHelp("What a shell runs.", valueName: "command"))
  var command: String?

  func run() throws {
    let settings = try BackupSettings.read(directory: place.data.resolved)
    let created = try place.backup().create(keeping: keep.rule(settings?.keep ?? .standard))
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
    if let command {
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

struct BackupScheduleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schedule",
    abstract: "Say once where backups go, which are kept, and when they are made.",
    discussion: """
      Stored in backup.json of the data directory; what is not given stays as it is. --write writes a \
      service and a timer for systemd into a folder; elsewhere, have cron run \
      `cospool-server backup create`. Without options it shows what is set. A folder that is not there is made, \
      for the account that the data belong to.

      EXAMPLES
        cospool-server backup schedule --folder /backup --write /etc/systemd/system
        cospool-server backup schedule --at '*-*-* 03:00' --keep-days 14
        cospool-server backup schedule --off
      """)

  @OptionGroup var data: DataOptions
  @OptionGroup var keep: BackupRuleOptions

  @Option(help: ArgumentHelp("The folder of backups, on another disk.", valueName: "folder"))
  var folder: String?

  @Option(help: ArgumentHelp("When, as systemd's OnCalendar has it.", valueName: "time"))
  var at: String?

  @Option(
    name: .customLong("then"),
    help: ArgumentHelp("What a shell runs after each, with --write.", valueName: "command"))
  var command: String?

  @Option(help: ArgumentHelp("Write the units for systemd here.", valueName: "folder"))
  var write: String?

  @Flag(help: "No backups any more; those that are there stay.")
  var off = false

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    let isGiven = folder != nil || at != nil || command != nil || write != nil || keep.isGiven
    guard !off || !isGiven else { throw ValidationError("--off stands alone.") }
    guard folder != "" else { throw ValidationError("Name a folder with --folder.") }
    guard command == nil || write != nil else {
      throw ValidationError("--then stands in the unit: it needs --write.")
    }
    guard at != "" else {
      throw ValidationError("--at takes a time such as daily or '*-*-* 03:00'.")
    }
  }

  func run() throws {
    let directory = data.resolved
    if off {
      try ServerAccount.become(ownerOf: directory)
      try BackupSettings.remove(directory: directory)
      return try StandardOutput.write("No backups any more. Disable the timer, where there is one.")
    }
    let known = try BackupSettings.read(directory: directory)
    let settings = try changed(known)
    let isChanged = settings != known
    if at != nil { try requireCalendar(settings.calendar) }
    let isLookedAt = isChanged || folder != nil
    if isLookedAt {
      try ServerAdministration(dataDirectory: directory).requireData()
      try ServerBackup.requireElsewhere(settings.folder, than: directory)
      if folder != nil { try ServerAccount.makeFolder(settings.folder, forOwnerOf: directory) }
    }
    // What the backups need is looked at as they are made, before root writes units. A folder that the settings
    // name is there: it may be on a disk that is not.
    try ServerAccount.acting(asOwnerOf: directory) {
      guard isLookedAt else { return }
      if folder == nil { _ = try ServerBackup(dataDirectory: directory, folder: nil) }
      try ServerBackup.begin(in: settings.folder)
      _ = try ServerAdministration(dataDirectory: directory).workspaces()
    }
    if let write {
      let timer = BackupTimer(
        program: BackupScheduleCommand.program, dataDirectory: absolute(directory),
        settings: settings, command: command)
      try timer.write(to: absolute(write))
    }
    try ServerAccount.become(ownerOf: directory)
    if isChanged { try settings.write(directory: directory) }
    if json {
      try StandardOutput.write(json: settings)
    } else {
      let keep = settings.keep
      try StandardOutput.write(
        "Backups go to \(settings.folder) (\(settings.calendar)); kept: \(keep.days) days, "
          + "\(keep.weeks) weeks, \(keep.months) months.")
    }
    guard write != nil else { return }
    StandardError.write(
      "Written. Now: systemctl daemon-reload && systemctl enable --now \(BackupTimer.name).timer\n")
  }

  private func changed(_ known: BackupSettings?) throws -> BackupSettings {
    guard var settings = known ?? folder.map({ BackupSettings(folder: $0, calendar: "daily") })
    else { throw ValidationError("Nothing is set yet. Give --folder.") }
    if let folder { settings.folder = absolute(folder) }
    if let at { settings.calendar = at }
    if let rule = keep.rule(settings.keep) { settings.keep = rule }
    try settings.requireUnitTexts()
    return settings
  }

  /// systemd says what it cannot read as a time, where there is one; else the timer would never elapse.
  private func requireCalendar(_ text: String) throws {
    guard let said = try? ServiceProgram.run(["systemd-analyze", "calendar", "--", text]) else {
      return
    }
    guard said.status != 0 else { return }
    throw ValidationError("--at takes a time such as daily or '*-*-* 03:00'. \(said.output)")
  }

  private func absolute(_ path: String) -> String {
    let full = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    return full.count > 1 && full.hasSuffix("/") ? String(full.dropLast()) : full
  }

  /// This program, by a path that a service can start.
  private static var program: String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      ?? URL(filePath: ProcessInfo.processInfo.arguments.first ?? "cospool-server")
      .path(percentEncoded: false)
  }
}

extension BackupRuleOptions {
  var isGiven: Bool { rule(.standard) != nil }
}
