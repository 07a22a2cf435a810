import AgentFormats
import Basics
import Operations
import Platform

/// The data directory and its files.
extension Doctor {
  static let fileChecks: [Check] = [
    .local("dataDirectory", dataDirectory), .local("credentialsMode", credentials),
    .local("diskSpace", diskSpace), Check(code: "store", run: store), .local("config", config),
  ]

  /// Below the first number, space is too low for the next changes; below the second, it is low.
  static let diskBytesMin: UInt64 = 64 << 20
  static let diskBytesLow: UInt64 = 1 << 30

  private static func dataDirectory(_ context: DoctorContext) -> [DoctorFinding] {
    let path = context.dataDirectory
    let code = "dataDirectory"
    var status = stat()
    guard stat(path, &status) == 0 else {
      return [
        errno == ENOENT
          ? .error(code, "\(path) does not exist", fix: "cospool init\(context.quotedDataOption)")
          : .error(
            code, "\(path) cannot be examined: \(String(cString: strerror(errno)))",
            fix: "Give yourself permission to enter it and the folders above it.")
      ]
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return [.error(code, "\(path) is not a folder", fix: "Move it away, then: cospool init")]
    }
    guard status.st_uid == getuid() else {
      return [
        .error(
          code, "\(path) belongs to another user (\(status.st_uid))",
          fix: "chown -R \(getuid()) \(Shell.quoted(path)), as its owner or root.")
      ]
    }
    guard access(path, W_OK | X_OK) == 0 else {
      return [
        .error(code, "\(path) cannot be written to", fix: "chmod 700 \(Shell.quoted(path))")
      ]
    }
    var findings = [DoctorFinding.ok(code, path)]
    if status.st_mode & 0o077 != 0 {
      findings.append(
        .warning(
          "dataMode", "other users can enter \(path)", fix: "chmod 700 \(Shell.quoted(path))",
          repair: .mode(path: path + "/.", bits: 0o700)))
    } else {
      findings.append(.ok("dataMode", "only you can enter it"))
    }
    return findings
  }

  private static func credentials(_ context: DoctorContext) -> [DoctorFinding] {
    let path = context.dataDirectory + "/credentials.json"
    let file = OwnFile(at: path)
    if case .other(let what) = file { return [.noFile(path, but: what)] }
    guard case .file(let rights) = file else { return [] }
    guard context.tree(of: "credentials.json")?["token"]?.text != nil else {
      return [
        .error(
          "credentials", "\(path) cannot be read, or contains no token",
          fix: "Remove it, and pair the device again: cospool pair URL CODE")
      ]
    }
    guard rights & 0o077 == 0 else {
      return [
        .error(
          "credentialsMode", "other users can read \(path), which holds the device's token",
          fix: "chmod 600 \(Shell.quoted(path))", repair: .mode(path: path, bits: 0o600))
      ]
    }
    return [.ok("credentialsMode", "only you can read the device's token")]
  }

  private static func diskSpace(_ context: DoctorContext) -> [DoctorFinding] {
    var volume = statvfs()
    guard statvfs(context.dataDirectory, &volume) == 0 else { return [] }
    return [diskSpace(free: UInt64(volume.f_bavail) * UInt64(volume.f_frsize), context)]
  }

  static func diskSpace(free: UInt64, _ context: DoctorContext) -> DoctorFinding {
    let what = "\(free >> 20) MiB free for \(context.dataDirectory)"
    let fix = "Free space on that disk: without it the daemon cannot store changes."
    if free < diskBytesMin { return .error("diskSpace", what, fix: fix) }
    if free < diskBytesLow { return .warning("diskSpace", what, fix: fix) }
    return .ok("diskSpace", what)
  }

  private static func store(_ context: DoctorContext) async -> [DoctorFinding] {
    let found = await Deadline.blocking { storeFile(context) + storesSetAside(context) }
    guard found.contains(where: { $0.code == "store" && $0.severity == .ok }),
      let problem = await damage(context)
    else { return found }
    return [problem] + found.filter { $0.code != "store" }
  }

  /// The report of the daemon's program about the store, which it reads completely.
  ///
  /// - Returns: nil if the store is sound, or if the program is missing, or too old for this check.
  private static func damage(_ context: DoctorContext) async -> DoctorFinding? {
    guard
      let program = ProgramRun.path(of: "cospoold", beside: context.program, in: context.variables),
      let run = await ProgramRun.run(
        [program, "--check-store", "--data", context.dataDirectory], variables: context.variables,
        seconds: context.limits.versionSeconds, withErrors: true)
    else { return nil }
    let path = context.dataDirectory + "/cospool.sqlite"
    guard let status = run.status else {
      return .info(
        "store", "\(path) is large, or its disk is slow: the check did not read all of it",
        fix: "Check all of it, without a time limit: cospoold "
          + "--check-store\(context.quotedDataOption)")
    }
    switch status {
    case ExitStatus.corrupt:
      return .error(
        "store", "\(path) is damaged",
        fix: rescue(context)
          + (context.server == nil
            ? "Then restart the daemon: it sets the store aside and starts with empty queues, since "
              + "this device has no server. The file that is set aside is then the only copy; with "
              + "an exported document: cospool import queues.json."
            : "Restart the daemon twice: the first start sets the store aside, the second one "
              + "loads the queues from the server. Changes that were not sent are only in the file "
              + "that is set aside."))
    case ExitStatus.failed where run.output.hasPrefix("cospoold: "),
      ExitStatus.disk where run.output.hasPrefix("cospoold: "):
      return .error(
        "store", String(run.output.dropFirst("cospoold: ".count)),
        fix: "Correct what the error names.")
    default: return nil
    }
  }

  /// What to do before a restart, which loses what only the daemon still has.
  private static func rescue(_ context: DoctorContext) -> String {
    context.running == nil
      ? "" : "First, while the daemon still has them: cospool export queues.json. "
  }

  /// The damaged stores that the daemon kept.
  private static func storesSetAside(_ context: DoctorContext) -> [DoctorFinding] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: context.dataDirectory)) ?? []
    return files.filter {
      $0.hasPrefix("cospool.sqlite.corrupt-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
    }.sorted().map {
      let path = "\(context.dataDirectory)/\($0)"
      return .warning(
        "storeSetAside", "\(path) is a damaged store that the daemon set aside and replaced",
        fix: context.server == nil
          ? "Keep it: this device has no server, so it may be the only copy of its queues. If you "
            + "exported them before: cospool import queues.json."
          : "If all queues are back from the server, and this device had no unsent changes, or you "
            + "miss none: rm -f "
            + ["", "-wal", "-shm"].map { Shell.quoted(path + $0) }.joined(separator: " "))
    }
  }

  private static func storeFile(_ context: DoctorContext) -> [DoctorFinding] {
    let path = context.dataDirectory + "/cospool.sqlite"
    guard FileManager.default.fileExists(atPath: path) else {
      return [.info("store", "no store yet: the daemon creates it at its first start")]
    }
    guard let file = FileHandleBytes.beginning(of: path, count: 16) else {
      return [
        .error("store", "\(path) cannot be read", fix: "chmod 600 \(Shell.quoted(path))")
      ]
    }
    guard file.isEmpty || file == Array("SQLite format 3\0".utf8) else {
      return [
        .error(
          "store", "\(path) is not an SQLite database",
          fix: rescue(context)
            + (context.server == nil
              ? "A start of the daemon sets it aside and begins with empty queues."
              : "A start of the daemon sets it aside and loads the queues from the server."))
      ]
    }
    return [.ok("store", path)]
      + DoctorFinding.storeLog(of: path, fix: "Stop the daemon and start it again.")
  }

  static func config(_ context: DoctorContext) -> [DoctorFinding] {
    let path = context.dataDirectory + "/config.json"
    guard let bytes = context.bytes(of: path) else {
      return [
        .info(
          "config", "no config.json: all settings have their defaults",
          fix: "cospool init\(context.quotedDataOption) turns the thread queue on.")
      ]
    }
    do {
      let outline = try JSONReader.read(Array(bytes))
      guard outline.members != nil else {
        return [
          .error("config", "\(path) is not a JSON object", fix: "Put its settings in braces.")
        ]
      }
    } catch {
      return [
        .error(
          "config", "\(path), line \(error.position.line): \(error.message)",
          fix: "Correct that line, then check it: cospool config check")
      ]
    }
    return [.ok("config", path)]
  }
}

/// Some bytes of a file of any size.
enum FileHandleBytes {
  static func beginning(of path: String, count: Int) -> [UInt8]? {
    bytes(of: path, count: count, from: 0)
  }

  static func end(of path: String, count: Int) -> [UInt8]? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return bytes(of: path, count: count, from: max(0, status.st_size - off_t(count)))
  }

  private static func bytes(of path: String, count: Int, from offset: off_t) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    guard offset == 0 || lseek(file, offset, SEEK_SET) >= 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    let read = read(file, &bytes, count)
    return read < 0 ? nil : Array(bytes[..<read])
  }
}
