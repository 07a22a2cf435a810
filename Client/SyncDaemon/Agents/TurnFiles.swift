import Foundation
import LocalAPI
import QueueModel

/// The files of a message, in the form in which its agent finds them on disk while it works.
struct TurnFiles: Hashable, Sendable {
  struct File: Hashable, Sendable {
    var attachment: Attachment
    /// Absolute.
    var path: String
  }

  /// The folder with only these files; absolute.
  var folder: String
  var files: [File]
}

/// The folders of messages' files while agents work on them: `turns` in the data directory, with a
/// folder for each attempt that only the daemon's user can read.
struct TurnFolders: Sendable {
  let path: String

  /// - Parameter dataDirectory: absolute, since agents work in other folders.
  init(dataDirectory: String) {
    path = (dataDirectory.hasSuffix("/") ? dataDirectory : dataDirectory + "/") + "turns"
  }

  /// Removes the folders of an earlier daemon.
  func removeAll() { try? FileManager.default.removeItem(atPath: path) }

  /// Removes the files of an attempt.
  func remove(of message: MessageID, attempt: UInt16) {
    try? FileManager.default.removeItem(atPath: folder(of: message, attempt))
  }

  /// Writes the files of an attempt.
  ///
  /// - Parameter bytes: returns the bytes of a file.
  /// - Returns: nil if there are none.
  func write(
    _ attachments: [Attachment], of message: MessageID, attempt: UInt16,
    bytes: (Attachment) async throws -> Data
  ) async throws -> TurnFiles? {
    guard !attachments.isEmpty else { return nil }
    let folder = folder(of: message, attempt)
    // An attempt of the same number that never began may have left files.
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var files: [TurnFiles.File] = []
    for (attachment, name) in zip(attachments, TurnFolders.names(of: attachments)) {
      let path = folder + "/" + name
      try TurnFolders.write(try await bytes(attachment), to: path)
      files.append(.init(attachment: attachment, path: path))
    }
    return TurnFiles(folder: folder, files: files)
  }

  /// A name for each file. If several have the same name, all but the first begin with the
  /// beginning of their hash.
  static func names(of attachments: [Attachment]) -> [String] {
    var taken: Set<String> = []
    return attachments.map { attachment in
      var name = attachment.name
      // Some file systems treat names that differ only in case as equal.
      if !taken.insert(name.lowercased()).inserted {
        // A name has 255 bytes at most, and its end shows the type.
        let end = String(String.UnicodeScalarView(name.unicodeScalars.suffix(50)))
        name = "\(attachment.hash.description.prefix(12))-\(end)"
        taken.insert(name.lowercased())
      }
      return name
    }
  }

  // MARK: - The journal of prompts

  /// Records that an attempt's agent begins to run and has no prompt yet. If that cannot be
  /// recorded, the attempt counts as one whose agent may have the prompt.
  func noteUnsent(_ message: MessageID, attempt: UInt16) {
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    _ = FileManager.default.createFile(atPath: unsent(message, attempt), contents: nil)
  }

  /// Removes that note, also from the disk; then the prompt may be sent.
  ///
  /// - Throws: if the note would come back after a power failure; then the prompt must not be sent.
  func noteSending(_ message: MessageID, attempt: UInt16) throws {
    guard unlink(unsent(message, attempt)) == 0 else {
      if errno == ENOENT { return }
      throw Unwritable(path: path, reason: String(cString: strerror(errno)))
    }
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if folder >= 0 { close(folder) } }
    guard folder >= 0, fsync(folder) == 0 else {
      throw Unwritable(path: path, reason: String(cString: strerror(errno)))
    }
  }

  /// Whether the agent of an attempt certainly got no prompt.
  func isUnsent(_ message: MessageID, attempt: UInt16) -> Bool {
    access(unsent(message, attempt), F_OK) == 0
  }

  private func unsent(_ message: MessageID, _ attempt: UInt16) -> String {
    folder(of: message, attempt) + ".unsent"
  }

  private func folder(of message: MessageID, _ attempt: UInt16) -> String {
    "\(path)/\(message)-\(attempt)"
  }

  /// A file that cannot be written there.
  private struct Unwritable: Error, CustomStringConvertible {
    var path: String
    var reason: String

    var description: String { "\(path) cannot be written: \(reason)" }
  }

  private static func write(_ bytes: Data, to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Unwritable(path: path, reason: String(cString: strerror(errno))) }
    let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }
}
