import Basics
import Platform

/// A settings file of an agent, changed as a whole or not at all.
struct HookFile {
  /// The path as the user gave it.
  var path: String

  /// The suffix of the copy that is made before a change.
  static let backupSuffix = ".cospool-backup"

  /// The target if the path is a link, as for users who keep settings in a repository.
  private var target: String {
    let found = URL(fileURLWithPath: path).resolvingSymlinksInPath().path(percentEncoded: false)
    // That function does not follow a link whose file is missing.
    guard let named = try? FileManager.default.destinationOfSymbolicLink(atPath: found) else {
      return found
    }
    guard !named.hasPrefix("/") else { return Paths.absolute(named) }
    let folder = found[..<(found.lastIndex(of: "/") ?? found.startIndex)]
    return Paths.absolute(folder + "/" + named)
  }

  var exists: Bool { FileManager.default.fileExists(atPath: target) }

  /// - Throws: `CommandFailure` if it cannot be read, or is not a settings file.
  func settings() throws -> HookSettings { try settings(in: bytes() ?? []) }

  /// nil if there is no file.
  private func bytes() throws -> [UInt8]? {
    guard exists else { return nil }
    do {
      return Array(try Data(contentsOf: URL(fileURLWithPath: target)))
    } catch {
      throw CommandFailure.unreadable(path, because: error)
    }
  }

  private func settings(in bytes: [UInt8]) throws -> HookSettings {
    do {
      return try HookSettings(bytes)
    } catch {
      let place = error.line.map { ", line \($0)" } ?? ""
      throw CommandFailure(
        code: "invalidSettings",
        message: "\(path)\(place): \(error.reason). The file was left as it is.",
        exitCode: ExitStatus.corrupt)
    }
  }

  /// The bytes before a change and after it.
  struct Change {
    var before: HookSettings
    var after: HookSettings
    /// Whether the file was written: false if it had the same bytes already.
    var isWritten: Bool
  }

  /// How many times a change begins again if others write the file at the same time.
  private static let attempts = 20

  /// Changes the settings. Agents and users write the file, too: if its bytes have changed since
  /// the change began, the change begins again with the present ones.
  ///
  /// - Throws: `CommandFailure` if it cannot be read or written or is not a settings file; the
  ///   errors of `body`.
  func change(_ body: (inout HookSettings) throws -> Void) throws -> Change {
    for _ in 1...Self.attempts {
      let known = try bytes()
      let before = try settings(in: known ?? [])
      var after = before
      try body(&after)
      let isNew = after.bytes != (known ?? [])
      if try !isNew || replace(known, with: after.bytes) {
        return Change(before: before, after: after, isWritten: isNew)
      }
    }
    throw CommandFailure(
      code: "unwritableFile",
      message:
        "\(path) keeps changing: another program writes it. Run the command again when that "
        + "program is done.",
      exitCode: ExitStatus.failed)
  }

  /// Replaces the known bytes, of which a copy is kept. Bytes with hooks of Cospool do not replace
  /// an earlier copy, which has the file as it was before them.
  ///
  /// - Returns: false if the file has other bytes by now; they were not overwritten.
  private func replace(_ known: [UInt8]?, with bytes: [UInt8]) throws -> Bool {
    let files = FileManager.default
    let target = target
    let folder = URL(fileURLWithPath: target).deletingLastPathComponent().path(
      percentEncoded: false)
    // A new file in its place would have the write permission that its owner had removed.
    var status = stat()
    guard stat(target, &status) != 0 || status.st_mode & 0o222 != 0 else {
      throw CommandFailure.unwritable(path, errorNumber: EACCES)
    }
    do {
      try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
      var mode: Any = 0o600
      if let known {
        mode = try files.attributesOfItem(atPath: target)[.posixPermissions] ?? mode
        let copy = target + HookFile.backupSuffix
        let hasOwn = (try? HookSettings(known))?.installed.isEmpty == false
        if !(hasOwn && files.fileExists(atPath: copy)) {
          try Data(known).write(to: URL(fileURLWithPath: copy), options: .atomic)
          try files.setAttributes([.posixPermissions: mode], ofItemAtPath: copy)
        }
      }
      guard try self.bytes() == known else { return false }
      try Data(bytes).write(to: URL(fileURLWithPath: target), options: .atomic)
      try files.setAttributes([.posixPermissions: mode], ofItemAtPath: target)
      return true
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure.unwritable(path, because: error)
    }
  }
}
