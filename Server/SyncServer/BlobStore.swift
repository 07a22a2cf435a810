import Crypto
import Foundation
package import ProcessResources
package import QueueModel
import Synchronization

/// The files of attachments, by workspace and hash: `blobs/WORKSPACE/SHA-256` in the data
/// directory.
///
/// A file gets its name only when all of it is on the disk. Calls block; make them on their own
/// thread.
package final class BlobStore: Sendable {
  /// Why a file was not stored or returned.
  package enum Fault: Error, Hashable, Sendable {
    /// The bytes do not match the hash.
    case mismatch
    /// The workspace's files would exceed their limit.
    case overQuota(bytesMax: Int)
    /// The file exists, but the file system cannot read it.
    case unreadable(String)
    /// The file system refused.
    case storage(String, isFull: Bool)
  }

  private let directory: String
  private let quotaBytes: Int
  private let freeSpace: FreeSpace
  /// The total size of a workspace's files, once they were counted.
  private let taken = Mutex<[WorkspaceID: Int]>([:])

  /// - Parameter quotaBytes: the limit for the files of one workspace.
  package init(dataDirectory: String, quotaBytes: Int, freeSpace: FreeSpace? = nil) {
    directory = dataDirectory + "/blobs"
    self.freeSpace = freeSpace ?? FreeSpace(of: dataDirectory)
    self.quotaBytes = quotaBytes
  }

  /// The size that a file counts as: a small one still takes a block and an entry.
  private static func charge(_ size: Int) -> Int { max(size, 4_096) }

  /// The size of a file; nil if it does not exist.
  package func size(of hash: ContentHash, in workspace: WorkspaceID) -> Int? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path(hash, workspace))
    return (attributes?[.size] as? NSNumber)?.intValue
  }

  /// The bytes of a file; nil if it does not exist or was damaged. A damaged file is set aside, so
  /// that a device with a good copy sends it again.
  package func bytes(
    of hash: ContentHash, in workspace: WorkspaceID
  ) throws(Fault) -> [UInt8]? {
    guard size(of: hash, in: workspace) != nil else { return nil }
    let bytes = try read(hash, in: workspace)
    if hash.names(bytes) { return bytes }
    do {
      try rename(path(hash, workspace), damagedPath(hash, workspace))
    } catch {
      throw Fault(error)
    }
    // Its size may differ from the counted one.
    taken.withLock { $0[workspace] = nil }
    return nil
  }

  private func read(_ hash: ContentHash, in workspace: WorkspaceID) throws(Fault) -> [UInt8] {
    do {
      return Array(try Data(contentsOf: URL(filePath: path(hash, workspace))))
    } catch {
      throw .unreadable(SystemFault.reason(error))
    }
  }

  /// Stores a file, which is on disk when the call returns; an existing damaged one is replaced.
  ///
  /// - Parameter quotaBytes: the workspace's own limit; nil for the default.
  /// - Returns: whether it did not exist yet.
  package func keep(
    _ bytes: [UInt8], as hash: ContentHash, in workspace: WorkspaceID, quotaBytes: Int? = nil
  ) throws(Fault) -> Bool {
    let quotaBytes = quotaBytes ?? self.quotaBytes
    guard hash.names(bytes) else { throw .mismatch }
    let replaced = size(of: hash, in: workspace)
    if replaced != nil {
      // An unreadable file counts as damaged.
      if (try? read(hash, in: workspace)) == bytes {
        // An earlier attempt may have failed at the last step, and reported that.
        do { try synchronize(folder(workspace)) } catch { throw Fault(error) }
        return false
      }
      taken.withLock { $0[workspace] = nil }
    }
    let before = try used(by: workspace) - (replaced.map(Self.charge) ?? 0)
    let after = before + Self.charge(bytes.count)
    guard after <= quotaBytes else { throw .overQuota(bytesMax: quotaBytes) }
    guard !freeSpace.isScarce else { throw .storage("the disk is nearly full", isFull: true) }
    let target = path(hash, workspace)
    let fresh = target + ".new"
    do {
      try FileManager.default.createDirectory(
        atPath: folder(workspace), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      try? FileManager.default.removeItem(atPath: fresh)
      let file = try create(fresh)
      try file.write(contentsOf: bytes)
      try file.synchronize()
      try file.close()
      try rename(fresh, target)
      try synchronize(folder(workspace))
    } catch {
      // A partial file must not stay; if removing it fails, too, the next attempt replaces it.
      try? FileManager.default.removeItem(atPath: fresh)
      // It may have received its name before the failure.
      taken.withLock { $0[workspace] = nil }
      throw Fault(error)
    }
    taken.withLock { $0[workspace] = after }
    removeDamaged(hash, from: workspace)
    return true
  }

  /// Removes a file, if it exists.
  ///
  /// - Returns: whether it did.
  package func remove(_ hash: ContentHash, from workspace: WorkspaceID) throws(Fault) -> Bool {
    removeDamaged(hash, from: workspace)
    guard let size = size(of: hash, in: workspace) else { return false }
    let before = try used(by: workspace)
    do {
      try FileManager.default.removeItem(atPath: path(hash, workspace))
    } catch {
      throw Fault(error)
    }
    taken.withLock { $0[workspace] = max(0, before - Self.charge(size)) }
    return true
  }

  /// It is useless once the file is complete again, or no longer wanted.
  private func removeDamaged(_ hash: ContentHash, from workspace: WorkspaceID) {
    try? FileManager.default.removeItem(atPath: damagedPath(hash, workspace))
  }

  /// Creates a file that only its owner can access.
  private func create(_ path: String) throws -> FileHandle {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemFault.last }
    return FileHandle(fileDescriptor: file, closeOnDealloc: true)
  }

  /// Moves a file, replacing an existing one.
  private func rename(_ from: String, _ to: String) throws {
    guard Foundation.rename(from, to) == 0 else {
      throw SystemFault.last
    }
  }

  private func used(by workspace: WorkspaceID) throws(Fault) -> Int {
    if let known = taken.withLock({ $0[workspace] }) { return known }
    // An unreadable folder is not an empty one.
    var names: [String] = []
    if FileManager.default.fileExists(atPath: folder(workspace)) {
      do {
        names = try FileManager.default.contentsOfDirectory(atPath: folder(workspace))
      } catch {
        throw Fault(error)
      }
    }
    let sum = names.compactMap { ContentHash($0) }.reduce(0) {
      $0 + (size(of: $1, in: workspace).map(Self.charge) ?? 0)
    }
    taken.withLock { $0[workspace] = sum }
    return sum
  }

  private func folder(_ workspace: WorkspaceID) -> String {
    directory + "/" + workspace.description
  }

  /// The folder of a workspace's files.
  static func folder(of workspace: WorkspaceID, dataDirectory: String) -> String {
    "\(dataDirectory)/blobs/\(workspace)"
  }

  /// The total size that a workspace's files count as.
  static func bytes(of workspace: WorkspaceID, dataDirectory: String) -> Int {
    let store = BlobStore(dataDirectory: dataDirectory, quotaBytes: 0)
    return (try? store.used(by: workspace)) ?? 0
  }

  private func path(_ hash: ContentHash, _ workspace: WorkspaceID) -> String {
    folder(workspace) + "/" + hash.description
  }

  private func damagedPath(_ hash: ContentHash, _ workspace: WorkspaceID) -> String {
    path(hash, workspace) + ".damaged"
  }

  /// Waits until the directory's entry is on the disk as well.
  private func synchronize(_ folder: String) throws {
    let handle = try FileHandle(forReadingFrom: URL(filePath: folder))
    defer { try? handle.close() }
    try handle.synchronize()
  }
}

extension BlobStore.Fault {
  /// Classifies an error of the file system.
  package init(_ error: any Error) {
    let isFull = SystemFault.causes(of: error).contains { error in
      switch error.domain {
      case NSPOSIXErrorDomain: error.code == Int(ENOSPC) || error.code == Int(EDQUOT)
      case NSCocoaErrorDomain: error.code == CocoaError.fileWriteOutOfSpace.rawValue
      default: false
      }
    }
    self = .storage(SystemFault.reason(error), isFull: isFull)
  }
}

extension ContentHash {
  /// Whether it is the hash of these bytes.
  func names(_ bytes: [UInt8]) -> Bool {
    ContentHash(bytes: Array(SHA256.hash(data: bytes))) == self
  }
}
