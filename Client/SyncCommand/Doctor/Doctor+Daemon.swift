import AgentFormats
import Basics
import LocalAPI
import Operations
import Platform
import QueueModel

/// The daemon, its settings, and the changes that it has not sent.
extension Doctor {
  static let daemonChecks: [Check] = [
    Check(code: "daemon", run: daemon), .local("daemonProgram", daemonProgram),
    .local("commandPath", commandPath), Check(code: "settings", run: settings),
    Check(code: "outbox", run: outbox), Check(code: "page", run: page),
    Check(code: "pushTargets", run: pushTargets), .local("notifyCommand", notifications),
    .local("projectRoots", projectRoots),
  ]

  /// Changes that wait longer than this are reported.
  static let outboxSecondsMax: Double = 3_600
  /// The number of refused messages that are named.
  static let refusedNamed = 8

  private static func daemon(_ context: DoctorContext) async -> [DoctorFinding] {
    guard let running = context.running else { return await notRunning(context) }
    var findings = [
      DoctorFinding.ok("daemon", "process \(running.processID) answers on the daemon's socket")
    ]
    if running.version == Version.number {
      findings.append(.ok("daemonVersion", "version \(Version.number), the same as this program"))
    } else {
      findings.append(
        .error(
          "daemonVersion",
          "the daemon has version \(running.version), this program \(Version.number)",
          fix:
            "Install the cospoold that belongs to \(context.program). Then: cospool service "
            + "restart; it waits until running agents have ended."))
    }
    if running.version == Version.number, case .failure(let failure) = context.status {
      findings.append(notUnderstood(failure, context))
    }
    var socket = stat()
    if stat(context.connection.socketPath, &socket) == 0, socket.st_mode & 0o077 != 0 {
      let path = context.connection.socketPath
      findings.append(
        .error(
          "socketMode", "\(path) can be opened by others", fix: "chmod 600 \(Shell.quoted(path))",
          repair: .mode(path: path, bits: 0o600)))
    }
    return findings
  }

  private static func notRunning(_ context: DoctorContext) async -> [DoctorFinding] {
    guard case .failure(let failure) = context.status else { return [] }
    if failure.code == "timeout" {
      let silent = await context.connection.silent(context.variables)
      return [.error(failure.code, silent.what, fix: silent.fix)]
    }
    guard failure.code == "noDaemon" else { return [notUnderstood(failure, context)] }
    return [
      .error(
        failure.code, "no daemon runs for \(context.dataDirectory)",
        fix: SystemdUnit.starts(context.dataDirectory, context.variables)
          ? SystemdUnit.startAdvice : "Start it: cospoold\(context.quotedDataOption)")
    ]
  }

  private static func notUnderstood(
    _ failure: CommandFailure, _ context: DoctorContext
  ) -> DoctorFinding {
    .error(
      failure.code, failure.message,
      fix: "Stop the program that answers on the socket, and start "
        + "cospoold\(context.quotedDataOption) again.")
  }

  private static func daemonProgram(_ context: DoctorContext) -> [DoctorFinding] {
    guard let path = ProgramRun.path(of: "cospoold", beside: context.program, in: context.variables)
    else {
      return [
        .warning(
          "daemonProgram", "cospoold is neither beside \(context.program) nor in PATH",
          fix: "Install it beside \(context.program); make build builds both.")
      ]
    }
    return [.ok("daemonProgram", path)]
  }

  private static func commandPath(_ context: DoctorContext) -> [DoctorFinding] {
    guard let found = ProgramRun.path(of: "cospool", in: context.variables) else {
      return [
        .warning(
          "commandPath", "cospool is not in PATH: hooks and agents that call it by name fail",
          fix: "Add the folder of \(context.program) to PATH.")
      ]
    }
    guard Paths.resolved(found) == Paths.resolved(context.program) else {
      return [
        .warning(
          "commandPath", "PATH finds another cospool first: \(found)",
          fix: "Remove it, or put the folder of \(context.program) before it in PATH.")
      ]
    }
    return [.ok("commandPath", found)]
  }

  private static func settings(_ context: DoctorContext) async -> [DoctorFinding] {
    guard (try? context.status.get()) != nil else { return [] }
    var findings = context.warnings.map {
      DoctorFinding.warning("settings", $0, fix: "See the settings: cospool config list")
    }
    // Only that check reports invalid JSON.
    guard config(context).allSatisfy({ $0.severity != .error }) else { return findings }
    let request = context.limits.request(["settings", "check"], .post)
    if let answer = try? await context.connection.answer(to: request)
      .decoded(SettingsCheckAnswer.self)
    {
      findings += answer.faults.map {
        .error(
          "settings", $0.message,
          fix: "Correct config.json; otherwise the daemon will not start again.")
      }
    }
    return findings.isEmpty ? [.ok("settings", "all settings are valid")] : findings
  }

  static func outboxFiles(_ problem: String) -> DoctorFinding {
    .warning(
      "outboxFiles", "files of waiting messages are not on the server: \(problem)",
      fix: "Free space there, or raise its limit: cospool-server workspace quota --help.")
  }

  private static func outbox(_ context: DoctorContext) async -> [DoctorFinding] {
    guard context.server != nil, let status = try? context.status.get(),
      let unsent = try? await context.answer(["messages", "unsent"], as: UnsentAnswer.self)
    else { return [] }
    return refused(unsent) + [status.unsentFilesProblem.map(outboxFiles)].compactMap { $0 } + [
      outbox(
        count: status.sync.outgoing, oldestMilliseconds: status.oldestUnsentAt?.milliseconds,
        now: context.now)
    ]
  }

  static func refused(_ unsent: UnsentAnswer) -> [DoctorFinding] {
    unsent.messages.filter { $0.delivery == .refused }.prefix(refusedNamed).map {
      .warning(
        "outboxRefused", "the server refused message \($0.id): \($0.error ?? "no reason given")",
        fix: "Correct what the reason names, then: cospool sync now. Or cancel it: cospool "
          + "queue cancel "
          + Shell.quoted("\($0.id)") + ".")
    }
  }

  static func outbox(count: Int, oldestMilliseconds: Int64?, now: Date) -> DoctorFinding {
    guard count > 0 else { return .ok("outbox", "the server has all changes of this device") }
    let changes = ReceiptText.counted(count, "change")
    let age = oldestMilliseconds.map { now.timeIntervalSince1970 - Double($0) / 1_000 } ?? 0
    guard age > outboxSecondsMax else { return .info("outbox", "\(changes) being sent") }
    return .warning(
      "outbox", "\(changes) not sent, the oldest \(TextStyle.duration(seconds: Int64(age))) ago",
      fix: "Run cospool sync now, and see the checks of the server.")
  }

  private static func page(_ context: DoctorContext) async -> [DoctorFinding] {
    guard let page = try? await context.answer(["web"], as: WebAnswer.self) else { return [] }
    if let problem = page.problem {
      return [
        .warning("page", problem, fix: "Choose another port or certificate: cospool web --help")
      ]
    }
    return page.address.map { [.ok("page", "the page is served on \($0)")] } ?? []
  }

  private static func pushTargets(_ context: DoctorContext) async -> [DoctorFinding] {
    guard (try? context.status.get())?.sync.state == .connected,
      let answer = try? await context.answer(["push", "targets"], as: PushTargetsAnswer.self)
    else { return [] }
    return answer.targets.map(pushTarget)
  }

  static func pushTarget(_ target: PushTargetAnswer) -> DoctorFinding {
    target.valid
      ? .ok("pushTargets", "\(target.id): \(target.kind), \(target.address)")
      : .warning(
        "pushTargets", "\(target.id) receives no pushes: \(target.reason)",
        fix: "Add it with its new address (cospool push add), or remove it (cospool push remove).")
  }

  private static func notifications(_ context: DoctorContext) -> [DoctorFinding] {
    guard let command = context.settings["notifyCommand"]?.text,
      let words = try? CommandWords.split(command), let program = words.first
    else { return [] }
    guard let path = ProgramRun.path(of: program, in: context.variables) else {
      return [
        .warning(
          "notifyCommand", "notifyCommand runs \(program), which does not exist",
          fix: "cospool config set notifyCommand \"PATH …\"")
      ]
    }
    return [.ok("notifyCommand", path)]
  }

  private static func projectRoots(_ context: DoctorContext) -> [DoctorFinding] {
    let roots = context.settings["projectRoots"]?.text?.split(separator: ":") ?? []
    return roots.map { root in
      let path = root.hasPrefix("~/") ? (context.home ?? "") + root.dropFirst() : String(root)
      return FileManager.default.fileExists(atPath: path)
        ? .ok("projectRoots", path)
        : .warning(
          "projectRoots", "projectRoots names \(path), which does not exist",
          fix: "Create the folder, or set the folders that exist: cospool config set projectRoots")
    }
  }
}
