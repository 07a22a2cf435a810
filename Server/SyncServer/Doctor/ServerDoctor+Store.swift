import Basics
import Foundation
import Operations
import ServerCore
import ServerStore

/// The database, and its data about workspaces, devices and pushes.
extension ServerDoctor {
  static let storeChecks: [Check] = [
    .local(
      "store",
      late: LateCheck(
        fix:
          "Check the disk. A large database takes longer than this check: cospool-server "
          + "backup verify reads all of it."), store),
    .local("storeLog", storeLog), .local("workspaces", workspaces),
    .local("quota", quotas), .local("access", access), .local("pushSettings", pushSettings),
    .local("pushTargets", pushTargets), .local("clock", clock),
  ]

  private static func store(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let path = context.databasePath
    guard context.hasDatabase else {
      if let kept = context.databasesSetAside.last {
        return [
          .error(
            "storeSetAside",
            "the database was damaged and set aside as \(kept); the server does not start",
            fix:
              "Restore a backup: cospool-server backup restore. Or move that file and its "
              + "-wal away to start with an empty database: devices send what they have after "
              + "you pair them with cospool-server pair --workspace-id ID, with the id that "
              + "cospool status shows on the device.")
        ]
      }
      return [
        .info(
          "store", "no database yet: the first start creates it",
          fix: startFix(context))
      ]
    }
    do {
      let fault = try context.administration.withDatabase { database throws(StorageFault) in
        try database.pageFaults(isThorough: false)
      }
      guard let fault else { return [.ok("store", "\(path) is intact")] }
      return [damaged("\(path) is damaged: \(fault)")]
    } catch {
      switch error.code {
      case .corrupt: return [damaged(error.message)]
      case .failed:
        return [.error("storeVersion", error.message, fix: "Install that version of the server.")]
      default:
        return [
          .error("store", error.message, fix: "Check the disk, and the permissions of the file.")
        ]
      }
    }
  }

  private static func damaged(_ what: String) -> DoctorFinding {
    .error(
      "store", what,
      fix: "Stop the server, then: cospool-server backup restore. Devices send it what they have."
    )
  }

  private static func storeLog(_ context: ServerDoctorContext) -> [DoctorFinding] {
    DoctorFinding.storeLog(
      of: context.databasePath,
      fix: "Restart the server; another program may have the database open.")
  }

  private static func workspaces(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard context.hasDatabase,
      let logs = try? context.administration.logs(workspaceName: nil).workspaces
    else { return [] }
    let damaged = logs.filter { $0.problem != nil }
    guard damaged.isEmpty else {
      return damaged.map {
        .error(
          "workspace", "workspace \(ShownName.text($0.workspaceName)): \($0.problem ?? "")",
          fix:
            "Restore a backup. Or delete the workspace (cospool-server workspace delete), "
            + "restart the server, and pair its devices again with cospool-server pair "
            + "--workspace-id "
            + Shell.quoted("\($0.workspace)") + ": they hold their data."
        )
      }
    }
    return logs.isEmpty
      ? [.info("workspace", "no workspace yet", fix: "cospool-server pair")]
      : [.ok("workspace", "\(logs.count) can be read")]
  }

  private static func quotas(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard context.hasDatabase, let all = try? context.administration.workspaces().workspaces else {
      return []
    }
    // The limits of the running server, or the defaults.
    let usual = context.listening?.quotas ?? AddressFile.Quotas()
    return all.flatMap { workspace -> [DoctorFinding] in
      let name = ShownName.text(workspace.name)
      let shares = [
        ("its log and state", workspace.bytes, workspace.quota.storage, usual.storage),
        (
          "today's changes", workspace.writtenToday, workspace.quota.daily,
          usual.daily
        ),
        ("its files", workspace.fileBytes, workspace.quota.files, usual.files),
      ]
      return shares.compactMap { what, taken, quota, usual in
        let limit = quota.map { $0 << 20 } ?? usual
        guard Double(taken) >= 0.9 * Double(limit) else { return nil }
        return .warning(
          "quota", "workspace \(name): \(what) take \(taken >> 20) of \(limit >> 20) MiB",
          fix:
            "Raise the limit: cospool-server workspace quota "
            + "\(Shell.quoted(workspace.name)), or the options of serve.")
      }
    }
  }

  /// Access that expires soon.
  private static func access(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard context.hasDatabase,
      let devices = try? context.administration.devices(workspaceName: nil).devices
    else { return [] }
    let now = Int64(context.now.timeIntervalSince1970 * 1_000)
    return devices.filter { !$0.revoked }.compactMap { device in
      guard let ends = device.expiresAt?.milliseconds, ends - now < 7 * 86_400_000 else {
        return nil
      }
      let name = ShownName.text(device.name)
      let fix =
        "Renew it: print a code with cospool-server pair --role \(Shell.quoted(device.role)) --workspace "
        + "\(Shell.quoted(device.workspaceName)) --expires 30d, and pair the device with it."
      return ends <= now
        ? .info("access", "the access of device \(name) has ended", fix: fix)
        : .warning(
          "access", "the access of device \(name) ends in \((ends - now) / 86_400_000) days",
          fix: fix)
    }
  }

  private static func pushSettings(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard context.hasDatabase else { return [] }
    do {
      let state = try context.administration.pushState()
      var findings = state.problems.sorted { $0.key < $1.key }.map { kind, reason in
        DoctorFinding.error(
          kind == "set-up" ? "pushSettings" : "pushHeldUp", "\(kind): \(reason)",
          fix: "Correct it with cospool-server push configure; then: cospool-server push test "
            + "TARGET")
      }
      if state.deadLetters > 0 {
        findings.append(
          .info(
            "pushGivenUp",
            "the server gave up \(state.deadLetters) pushes, the last: "
              + "\(state.lastDeadLetter ?? "")",
            fix: "See their addresses: cospool-server push targets"))
      }
      return findings.isEmpty
        ? [.ok("pushSettings", "\(state.waiting) pushes are waiting")] : findings
    } catch {
      return [.error("pushSettings", error.message, fix: "Correct what the error names.")]
    }
  }

  private static func pushTargets(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard context.hasDatabase, let list = try? context.administration.pushTargets().targets else {
      return []
    }
    return list.filter { !$0.valid }.prefix(5).map {
      .warning(
        "pushTarget",
        "\($0.address) of device \(ShownName.text($0.deviceName)) receives no pushes: \($0.reason)",
        fix: "On that device, add it with its new address (cospool push add), or remove it "
          + "(cospool push remove).")
    }
  }

  /// Whether this clock is earlier than times that were already written.
  private static func clock(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let fix = "Have the system set the clock: timedatectl set-ntp true"
    let latest =
      context.hasDatabase
      ? try? context.administration.withDatabase { database throws(StorageFault) in
        try database.latestTime()
      } : nil
    if let latest {
      let ahead = Double(latest) / 1_000 - context.now.timeIntervalSince1970
      guard ahead < 60 else {
        return [
          .error(
            "clock", "this clock is \(Int(ahead)) seconds behind the latest time in the database",
            fix: fix)
        ]
      }
    }
    return [.ok("clock", "not behind the latest time in the database")]
  }
}
