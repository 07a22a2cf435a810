import Crypto
import Foundation
import ProcessResources
import QueueModel

/// Files for their owner alone, on the disk when a call returns.
enum PrivateFile {
  /// Bytes that are read at once.
  private static let partBytes = 1 << 20

  /// Copies a file to a path where none is.
  ///
  /// - Returns: how long it is, and the hash of what it holds.
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

  /// Writes a value as JSON in the place of what is there, in one step.
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

  /// The entries of a folder are on the disk, too.
  static func synchronize(folder: String) throws {
    let descriptor = open(folder.isEmpty ? "." : folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemFault.last }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemFault.last }
  }

  /// Makes a folder, and those above it.
  static func makeFolder(_ path: String) throws(SyncServerError) {
    do {
      try PrivateFolder.make(path)
    } catch {
      throw .file("\(error.path) cannot be created", SystemFault.numbered(error.number))
    }
  }
}

extension SyncServerError {
  /// That this process's account may not, and what to do.
  static var forbidden: String {
    let account = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "\(geteuid())"
    return
      "user \(account) has no permission. Make that account the owner, as root: chown -R "
      + "\(account) FOLDER"
  }

  /// A file that the system does not let be read, written or removed.
  ///
  /// - Parameter what: what could not be done, behind the file's path.
  package static func disk(_ path: String, _ what: String, _ error: any Error) -> SyncServerError {
    SyncServerError(.disk, "\(path) \(what): \(SystemFault.reason(error)).")
  }

  /// What the file system refused, sorted into what can be done about it.
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
