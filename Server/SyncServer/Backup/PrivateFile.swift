import Crypto
import Foundation
import ProcessResources
import QueueModel

/// Files that only their owner can access. They are on the disk when a call returns.
enum PrivateFile {
  /// Bytes that are read at a time.
  private static let partBytes = 1 << 20

  /// Copies a file to an unused path.
  ///
  /// - Returns: its length, and the hash of its contents.
  static func copy(_ source: String, to target: String) throws -> (bytes: Int, hash: ContentHash) {
    let input = try FileHandle(forReadingFrom: URL(fileURLWithPath: source))
    defer { try? input.close() }
    let descriptor = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemFault.last }
    let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let read = try hash(of: input) { try output.write(contentsOf: $0) }
    try output.synchronize()
    try output.close()
    return read
  }

  /// The length and hash of a file.
  static func hash(of path: String) throws -> (bytes: Int, hash: ContentHash) {
    let input = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? input.close() }
    return try hash(of: input) { _ in }
  }

  private static func hash(
    of input: FileHandle, also use: (Data) throws -> Void
  ) throws -> (bytes: Int, hash: ContentHash) {
    var hash = SHA256()
    var count = 0
    while let part = try input.read(upToCount: partBytes), !part.isEmpty {
      hash.update(data: part)
      count += part.count
      try use(part)
    }
    return (count, ContentHash(bytes: Array(hash.finalize())) ?? .none)
  }

  /// Replaces a file by a value as JSON, in one step.
  static func replace(_ path: String, with value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(value) + Data("\n".utf8)
    let fresh = path + ".new"
    unlink(fresh)
    let descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemFault.last }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: data)
      try file.synchronize()
      try file.close()
      guard rename(fresh, path) == 0 else { throw SystemFault.last }
      try synchronize(folder: (path as NSString).deletingLastPathComponent)
    } catch {
      unlink(fresh)
      throw error
    }
  }

  /// Waits until the entries of a folder are on the disk.
  static func synchronize(folder: String) throws {
    let descriptor = open(folder.isEmpty ? "." : folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemFault.last }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemFault.last }
  }

  /// Waits until the entries of a folder and of those in it are on the disk.
  static func synchronize(below root: String) throws {
    var folders = [root]
    for entry in FileManager.default.enumerator(atPath: root)?.compactMap({ $0 as? String }) ?? [] {
      let path = root + "/" + entry
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      if isFolder.boolValue { folders.append(path) }
    }
    for folder in folders { try synchronize(folder: folder) }
  }

  /// Creates a folder, and its parents.
  static func makeFolder(_ path: String) throws(SyncServerError) {
    do {
      try PrivateFolder.make(path)
    } catch {
      throw .file("\(error.path) cannot be created", SystemFault.numbered(error.number))
    }
  }
}

extension SyncServerError {
  /// The error text for missing permissions, with advice.
  static var forbidden: String {
    let account = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "\(geteuid())"
    return
      "user \(account) has no permission. Make that account the owner, as root: chown -R "
      + "\(account) FOLDER"
  }

  /// A file that cannot be read, written or removed.
  ///
  /// - Parameter what: the failed operation, after the file's path.
  package static func disk(_ path: String, _ what: String, _ error: any Error) -> SyncServerError {
    SyncServerError(.disk, "\(path) \(what): \(SystemFault.reason(error)).")
  }

  /// An error of the file system, classified by the operator's options.
  static func file(_ what: String, _ error: any Error) -> SyncServerError {
    if let error = error as? SyncServerError { return error }
    if case .storage(_, isFull: true) = BlobStore.Fault(error) {
      return SyncServerError(.disk, "\(what): the disk is full. Free space and try again.")
    }
    if SystemFault.isForbidden(error) {
      return SyncServerError(.disk, "\(what): \(forbidden)")
    }
    return SyncServerError(.disk, "\(what): \(SystemFault.reason(error)).")
  }
}
