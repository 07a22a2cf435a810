import Basics
import Foundation
import Operations
import ProcessResources
import QueueModel
import ServerCore
import ServerStore

/// The data directory and its contents.
extension ServerDoctor {
  static let fileChecks: [Check] = [
    .local("dataDirectory", dataDirectory), .local("fileMode", fileModes),
    .local("diskSpace", diskSpace), .local("attachments", attachments),
    .local("deletedFiles", deletedFiles), .local("revocations", revocations),
    .local("restoring", restoring), .local("leftovers", leftovers),
  ]

  /// Below this, space is low; below a twentieth and 512 MiB the server accepts nothing new.
  static let diskBytesLow: UInt64 = 2 << 30

  private static func dataDirectory(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let (path, code) = (context.dataDirectory, "dataDirectory")
    let quoted = Shell.quoted(path)
    var status = stat()
    guard stat(path, &status) == 0 else {
      return [
        errno == ENOENT
          ? .error(
            code, "\(path) does not exist",
            fix: "Name the server's data directory with --data, or start a server, which creates "
              + "this one: cospool-server serve --data \(quoted)"
          )
          : .error(
            code, "\(path) cannot be examined: \(String(cString: strerror(errno)))",
            fix: "Run the doctor as the user who runs the server, or as root.")
      ]
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return [
        .error(
          code, "\(path) is not a folder", fix: "Name the server's data directory with --data.")
      ]
    }
    guard access(path, W_OK | X_OK) == 0 else {
      return [
        .error(
          code, "this user cannot write to \(path)",
          fix: "Run the doctor as the user who runs the server (user id \(status.st_uid)), or "
            + "as root.")
      ]
    }
    guard status.st_mode & 0o022 == 0 else {
      return [
        .error(
          "dataMode", "other users can write to \(path), and replace the store",
          fix: "chmod go-w \(quoted)", repair: .mode(path: path + "/.", bits: 0o700))
      ]
    }
    return [.ok(code, path)]
  }

  /// Files with hashes of tokens, keys and texts.
  private static func fileModes(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let names = BackupItem.topNames.filter { $0 != "blobs" && $0 != "keys" } + ["backup.json"]
    var findings: [DoctorFinding] = []
    for path in names.map({ "\(context.dataDirectory)/\($0)" }) {
      switch OwnFile(at: path) {
      case .other(let what): findings.append(.noFile(path, but: what))
      case .file(let rights) where rights & 0o077 != 0:
        findings.append(
          .error(
            "fileMode", "other users can read \(path)",
            fix: "chmod 600 \(Shell.quoted(path))",
            repair: .mode(path: path, bits: 0o600)))
      case .file, .absent: break
      }
    }
    guard findings.isEmpty, context.hasDatabase else { return findings }
    return [.ok("fileMode", "only the owner can read the secrets")]
  }

  private static func diskSpace(_ context: ServerDoctorContext) -> [DoctorFinding] {
    var volume = statvfs()
    guard statvfs(context.dataDirectory, &volume) == 0 else { return [] }
    let block = UInt64(volume.f_frsize)
    return [
      diskSpace(
        left: UInt64(volume.f_bavail) * block, whole: UInt64(volume.f_blocks) * block,
        of: context.dataDirectory)
    ]
  }

  static func diskSpace(left: UInt64, whole: UInt64, of path: String) -> DoctorFinding {
    let what = "\(left >> 20) of \(whole >> 20) MiB are free for \(path)"
    let fix =
      "Free space on that disk; cospool-server workspace list shows how much each "
      + "workspace takes."
    if FreeSpace(measure: { (left, whole) }).isScarce {
      return .error("diskSpace", what + ": the server accepts no changes from devices", fix: fix)
    }
    return left < diskBytesLow
      ? .warning("diskSpace", what, fix: fix) : .ok("diskSpace", what)
  }

  /// Whether files match their hashes, the newest first, up to the limit.
  private static func attachments(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let code = "attachments"
    let root = "\(context.dataDirectory)/blobs"
    guard FileManager.default.fileExists(atPath: root) else { return [] }
    guard let walker = FileManager.default.enumerator(atPath: root) else {
      return [.error(code, "\(root) cannot be read", fix: "Ask as the user who runs the server.")]
    }
    var files: [(path: String, hash: ContentHash, status: stat)] = []
    var setAside = 0
    for entry in walker.compactMap({ $0 as? String }) {
      if entry.hasSuffix(".damaged") { setAside += 1 }
      let name = entry.split(separator: "/").last.map(String.init) ?? ""
      var status = stat()
      guard let hash = ContentHash(name), stat("\(root)/\(entry)", &status) == 0 else { continue }
      files.append(("\(root)/\(entry)", hash, status))
    }
    files.sort { $0.status.st_mtim.tv_sec > $1.status.st_mtim.tv_sec }
    var left = context.attachmentBytesMax
    var compared = 0
    var findings: [DoctorFinding] = []
    let fix =
      "If a device still has the file, it sends it again and replaces it. Check the disk."
    for file in files {
      left -= Int(file.status.st_size)
      guard left >= 0 else { break }
      compared += 1
      guard (try? PrivateFile.hash(of: file.path).hash) != file.hash else { continue }
      findings.append(.error(code, "\(file.path) is damaged", fix: fix))
    }
    if setAside > 0 {
      findings.append(
        .warning(code, "\(setAside) damaged files were set aside in \(root)", fix: fix))
    }
    return findings.isEmpty
      ? [.ok(code, "\(files.count) files, \(compared) of them compared")]
      : Array(findings.prefix(5))
  }

  /// Files of a deleted workspace: `workspace delete` was interrupted.
  private static func deletedFiles(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let root = "\(context.dataDirectory)/blobs"
    // A database that was set aside may have workspaces that this one lacks.
    guard context.hasDatabase, context.databasesSetAside.isEmpty,
      let names = try? FileManager.default.contentsOfDirectory(atPath: root),
      let known = try? context.administration.workspaces().workspaces.map(\.id)
    else { return [] }
    return names.filter { WorkspaceID($0) != nil && !known.contains($0) }.map { name in
      .warning(
        "deletedFiles", "\(root)/\(name) holds files of a workspace that no longer exists",
        fix: "If you deleted that workspace: rm -r \(Shell.quoted("\(root)/\(name)"))")
    }
  }

  private static func revocations(_ context: ServerDoctorContext) -> [DoctorFinding] {
    let path = "\(context.dataDirectory)/\(BackupItem.revocations)"
    // `fileModes` reports everything else.
    guard case .file = OwnFile(at: path) else { return [] }
    let file = RevocationFile(directory: context.dataDirectory)
    let unreadable = file.lines().count { RevocationFile.revocation($0) == nil }
    guard unreadable == 0 else {
      return [
        .error(
          "revocations", "\(unreadable) lines of \(path) cannot be read",
          fix: "Correct them: each line is WORKSPACE DEVICE TIME. cospool-server devices "
            + "lists the ids.")
      ]
    }
    guard context.hasDatabase else { return [] }
    let standing = try? context.administration.withDatabase { database throws(StorageFault) in
      try database.standing(file.read())
    }
    guard let standing, !standing.isEmpty else {
      return [.ok("revocations", "\(file.lines().count) devices stay revoked")]
    }
    return [
      .error(
        "revocations",
        "\(standing.count) revoked devices have access again: \(standing[0].device)",
        fix:
          "Restart the server, which revokes them again. Or: cospool-server revoke "
          + Shell.quoted("\(standing[0].device)")
      )
    ]
  }

  /// Files that commands keep or leave, and that become useless once everything works.
  private static func leftovers(_ context: ServerDoctorContext) -> [DoctorFinding] {
    // Without a database they are the only data. If a program other than a server uses this
    // directory, they may be in use.
    guard context.hasDatabase, context.listening != nil || !context.isServed,
      let names = try? FileManager.default.contentsOfDirectory(atPath: context.dataDirectory)
    else { return [] }
    let aside = [ServerBackup.asidePrefix, "\(BackupItem.database)."]
    return names.sorted().filter { name in
      name == ServerBackup.stagingName || aside.contains { name.hasPrefix($0) }
    }.prefix(10).map { name in
      let path = "\(context.dataDirectory)/\(name)"
      return .info(
        "leftovers", "\(path) takes \(bytes(below: path) >> 20) MiB",
        fix: "When you are sure that you do not need it: rm -r \(Shell.quoted(path))")
    }
  }

  private static func bytes(below path: String) -> Int {
    let entries = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return ([path] + entries.map { "\(path)/\($0)" }).reduce(0) { sum, path in
      var status = stat()
      return lstat(path, &status) == 0 ? sum + Int(status.st_size) : sum
    }
  }

  private static func restoring(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard ServerBackup.isPending(in: context.dataDirectory) else { return [] }
    return [
      .error(
        "restoring",
        "a restore into \(context.dataDirectory) did not finish; the server does not start",
        fix: "Run it again: cospool-server backup restore")
    ]
  }
}
