import Basics

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A settings file of an agent, changed as a whole or not at all.
struct HookFile {
  /// As the person named it.
  var path: String

  /// What is put behind the name of the copy that is made before a change.
  static let backupSuffix = ".cospool-backup"

  /// The file that is meant where the path is a link, as those are who keep settings in a repository.
  private var target: String {
    let found = URL(fileURLWithPath: path).resolvingSymlinksInPath().path(percentEncoded: false)
    // A link whose file is missing is not followed by that.
    guard let named = try? FileManager.default.destinationOfSymbolicLink(atPath: found) else {
      return found
    }
    guard !named.hasPrefix("/") else { return Paths.absolute(named) }
    let folder = found[..<(found.lastIndex(of: "/") ?? found.startIndex)]
    return Paths.absolute(folder + "/" + named)
  }

  var exists: Bool { FileManager.default.fileExists(atPath: target) }

  /// - Throws: `CommandFailure` where it cannot be read, or is no settings file.
  func settings() throws -> HookSettings {
    var bytes: [UInt8] = []
    if exists {
      guard let data = try? Data(contentsOf: URL(fileURLWithPath: target)) else {
        throw failure("cannot be read", exitCode: ExitStatus.failed)
      }
      bytes = Array(data)
    }
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

  /// Writes other bytes in place of those that are there, of which a copy is kept: not in the place of an
  /// earlier one where they have hooks of Cospool, for the file as it was before them is in that.
  func replace(with bytes: [UInt8]) throws {
    let files = FileManager.default
    let target = target
    let folder = URL(fileURLWithPath: target).deletingLastPathComponent().path(
      percentEncoded: false)
    do {
      try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
      var mode: Any = 0o600
      if exists {
        mode = try files.attributesOfItem(atPath: target)[.posixPermissions] ?? mode
        let old = try Data(contentsOf: URL(fileURLWithPath: target))
        let copy = target + HookFile.backupSuffix
        let hasOwn = (try? HookSettings(Array(old)))?.installed.isEmpty == false
        if !(hasOwn && files.fileExists(atPath: copy)) {
          try old.write(to: URL(fileURLWithPath: copy), options: .atomic)
          try files.setAttributes([.posixPermissions: mode], ofItemAtPath: copy)
        }
      }
      try Data(bytes).write(to: URL(fileURLWithPath: target), options: .atomic)
      try files.setAttributes([.posixPermissions: mode], ofItemAtPath: target)
    } catch {
      let code = (error as? CocoaError)?.code
      let isDenied = code == .fileWriteNoPermission || code == .fileReadNoPermission
      throw isDenied
        ? failure(
          "may not be written: change its permissions, or name another file with --file",
          exitCode: ExitStatus.failed)
        : failure("cannot be written", exitCode: ExitStatus.disk)
    }
  }

  private func failure(_ what: String, exitCode: Int32) -> CommandFailure {
    CommandFailure(code: "unwritableFile", message: "\(path) \(what).", exitCode: exitCode)
  }
}
