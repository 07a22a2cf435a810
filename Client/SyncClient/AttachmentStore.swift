import ClientCore
import ClientStore
import Crypto
import Dispatch
import Foundation
import QueueModel

/// The files of attachments on this device, behind a queue of their own: writing ten megabytes must
/// not keep a command waiting.
final class AttachmentStore: Sendable {
  private let files: StoredAttachments
  private let queue = DispatchQueue(label: "cospool.attachments")

  /// How often the files are tended where nothing else asks for it.
  static let tendingSeconds: Double = 60

  init(store: ClientStore) throws(StoreError) {
    files = StoredAttachments(store: store)
    try files.reconcile()
  }

  static func hash(of bytes: Data) -> ContentHash? {
    ContentHash(bytes: Array(SHA256.hash(data: bytes)))
  }

  /// Everything that is here.
  func all() async throws(ClientError) -> [StoredAttachment] {
    try await run { files throws(StoreError) in try files.all() }
  }

  func has(_ hash: ContentHash) -> Bool { files.has(hash) }

  /// The bytes of a file, checked; nil where it is not here. A damaged one is removed, so that it is
  /// fetched again.
  func bytes(of hash: ContentHash) async throws(ClientError) -> Data? {
    try await run { files throws(StoreError) in
      guard let bytes = try files.bytes(of: hash) else { return nil }
      guard AttachmentStore.hash(of: bytes) == hash else {
        try files.remove(hash)
        return nil
      }
      return bytes
    }
  }

  /// Keeps a file, within the quota.
  ///
  /// - Parameter quotaMegabytes: what all files may take.
  func keep(
    _ bytes: Data, as hash: ContentHash, isUploaded: Bool, quotaMegabytes: Int
  ) async throws(ClientError) {
    let isOver = try await run { files throws(StoreError) in
      if files.has(hash) {
        if !isUploaded { try files.keepAgain(hash) }
        return false
      }
      let taken = try files.all().reduce(0) { $0 + $1.size }
      if taken + bytes.count > quotaMegabytes << 20 { return true }
      try files.keep(bytes, as: hash, isUploaded: isUploaded)
      return false
    }
    if isOver {
      throw .queue(
        .limitReached(what: "MiB of attachments on one device", max: quotaMegabytes))
    }
  }

  func uploaded(_ hash: ContentHash) async throws(ClientError) {
    try await run { files throws(StoreError) in try files.uploaded(hash) }
  }

  func unneeded(_ hash: ContentHash, since: Int64?) async throws(ClientError) {
    try await run { files throws(StoreError) in try files.unneeded(hash, since: since) }
  }

  /// Removes a file, unless it was attached again meanwhile.
  func remove(_ hash: ContentHash, unneededSince: Int64) async throws(ClientError) {
    try await run { files throws(StoreError) in
      try files.remove(hash, unneededSince: unneededSince)
    }
  }

  private func run<Value: Sendable>(
    _ body: @escaping @Sendable (StoredAttachments) throws(StoreError) -> Value
  ) async throws(ClientError) -> Value {
    let files = files
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<Value, StoreError>, Never>) in
      queue.async {
        do throws(StoreError) {
          continuation.resume(returning: .success(try body(files)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    do throws(StoreError) {
      return try result.get()
    } catch {
      throw ClientError(Replica.Fault.store(error))
    }
  }
}
