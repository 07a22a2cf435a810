import ClientCore
import ClientStore
import Crypto
import Dispatch
import Foundation
import QueueModel
import Synchronization

/// The files of attachments on this device. They have their own queue, because writing ten
/// megabytes must not delay a command.
final class AttachmentStore: Sendable {
  private let files: StoredAttachments
  private let queue = DispatchQueue(label: "cospool.attachments")
  /// Texts of requests that agents here wait for, with the number of requests for each.
  private let held = Mutex<[ContentHash: Int]>([:])
  /// The last fetched texts of other devices' requests.
  private let fetched = Mutex<[(hash: ContentHash, text: Data)]>([])
  /// Why the latest sync of a file failed.
  private let failures = Mutex<[ContentHash: ClientError]>([:])

  /// The number of cached texts of other devices' requests.
  private static let fetchedMax = 8

  /// How often the files are synced without another reason.
  static let syncSeconds: Double = 60
  /// After how many of those syncs the server is asked again for files that it once had.
  static let roundsBetweenQuestions = 10

  init(store: ClientStore) throws(StoreError) {
    files = StoredAttachments(store: store)
    try files.reconcile()
  }

  static func hash(of bytes: Data) -> ContentHash? {
    ContentHash(bytes: Array(SHA256.hash(data: bytes)))
  }

  /// All files on this device.
  func all() async throws(ClientError) -> [StoredAttachment] {
    try await run { files throws(StoreError) in try files.all() }
  }

  func has(_ hash: ContentHash) -> Bool { files.has(hash) }

  /// The bytes of a file, checked; nil if it is not on this device. A damaged file is removed, so
  /// that it is fetched again.
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

  /// Stores a file, within the quota.
  ///
  /// - Parameter quotaMegabytes: the limit for all files.
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

  /// Keeps the text of a request on this device until `release`, whatever the quota is.
  func hold(_ text: Data, as hash: ContentHash) async throws(ClientError) {
    held.withLock { $0[hash, default: 0] += 1 }
    try await run { files throws(StoreError) in
      if !files.has(hash) { try files.keep(text, as: hash, isUploaded: false, isRequest: true) }
    }
  }

  /// One fewer request needs that text, which the next sync of the files removes.
  func release(_ hash: ContentHash) {
    held.withLock { held in
      let left = (held[hash] ?? 0) - 1
      held[hash] = left > 0 ? left : nil
    }
  }

  /// Caches the text of another device's request.
  func noteFetched(_ text: Data, as hash: ContentHash) {
    fetched.withLock { fetched in
      fetched.append((hash, text))
      if fetched.count > AttachmentStore.fetchedMax { fetched.removeFirst() }
    }
  }

  /// The text of a request that was fetched before; nil if it is no longer cached.
  func text(of hash: ContentHash) -> Data? {
    fetched.withLock { $0.last { $0.hash == hash }?.text }
  }

  func isHeld(_ hash: ContentHash) -> Bool { held.withLock { $0[hash] != nil } }

  /// Why the latest sync of a file failed; nil if it did not.
  func failure(of hash: ContentHash) -> ClientError? { failures.withLock { $0[hash] } }

  func noteFailure(_ failure: ClientError?, of hash: ContentHash) {
    failures.withLock { $0[hash] = failure }
  }

  /// Removes the text of a request, unless another one has it meanwhile.
  func removeReleased(_ hash: ContentHash) async throws(ClientError) {
    try await run { files throws(StoreError) in
      // The server's copy is removed in both cases.
      if self.isHeld(hash) { try files.missing(hash) } else { try files.remove(hash) }
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
