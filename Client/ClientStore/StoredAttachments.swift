package import ClientCore
package import Foundation
import GRDB
package import QueueModel

/// An attachment's file on this device.
package struct StoredAttachment: Hashable, Sendable {
  package var hash: ContentHash
  package var size: Int
  /// Whether the server is known to have it.
  package var isUploaded = false
  /// Whether it is the text of a request, which is needed while an agent waits.
  package var isRequest = false
  /// Since when no waiting message needs it, in milliseconds since 1970.
  package var unneededSince: Int64?

  package init(hash: ContentHash, size: Int) {
    self.hash = hash
    self.size = size
  }
}

/// The files of attachments, in the folder `attachments` beside the database, which has the state
/// of each. A file gets its name only when all of it is on the disk. Calls block.
package final class StoredAttachments: Sendable {
  private let store: ClientStore
  private let folder: String

  package init(store: ClientStore) {
    self.store = store
    let directory = store.path.lastIndex(of: "/").map { String(store.path[..<$0]) } ?? "."
    folder = directory + "/attachments"
  }

  /// Makes folder and table agree: adds a row for a file that a crash left without one, and removes
  /// rows without a file. An unreadable folder does not count as empty, so its rows stay.
  package func reconcile() throws(StoreError) {
    let names = try fileNames()
    let files = Set(names.compactMap { ContentHash($0) })
    for name in names where name.hasSuffix(".new") {
      // A partial file, which was never reported as stored.
      try? FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    let rows = Set(try all().map(\.hash))
    for hash in files.subtracting(rows) {
      try keepRow(StoredAttachment(hash: hash, size: FileAccess.size(path(hash)) ?? 0))
    }
    for hash in rows.subtracting(files) { try forgetRow(hash) }
  }

  private func fileNames() throws(StoreError) -> [String] {
    guard FileAccess.exists(folder) else { return [] }
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw StoreError(code: .failed, message: "cannot read \(folder): \(error)")
    }
  }

  /// Every file, by hash.
  package func all() throws(StoreError) -> [StoredAttachment] {
    do {
      return try store.read { database in
        try Row.fetchAll(
          database,
          sql: """
            SELECT hash, size, is_uploaded, unneeded_since, is_request FROM attachments
            ORDER BY hash
            """
        ).compactMap { row in
          guard let hash = ContentHash(row[0] as String) else { return nil }
          var stored = StoredAttachment(hash: hash, size: row[1])
          stored.isUploaded = row[2]
          stored.unneededSince = row[3]
          stored.isRequest = row[4]
          return stored
        }
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// Whether the bytes of a file are on this device.
  package func has(_ hash: ContentHash) -> Bool { FileAccess.exists(path(hash)) }

  /// The bytes of a file; nil if it is not on this device. The caller checks the hash if needed.
  package func bytes(of hash: ContentHash) throws(StoreError) -> Data? {
    guard has(hash) else { return nil }
    do {
      return try Data(contentsOf: URL(filePath: path(hash)))
    } catch {
      throw StoreError(code: .failed, message: "\(error)")
    }
  }

  /// Stores a file whose hash the caller has computed; on disk when the call returns.
  package func keep(
    _ bytes: Data, as hash: ContentHash, isUploaded: Bool, isRequest: Bool = false
  ) throws(StoreError) {
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw StoreError(code: .failed, message: "cannot make \(folder): \(error)")
    }
    try FileAccess.replace(path(hash), with: Array(bytes))
    var stored = StoredAttachment(hash: hash, size: bytes.count)
    stored.isUploaded = isUploaded
    stored.isRequest = isRequest
    try keepRow(stored)
  }

  /// Records that a file on this device was attached again. It is needed, and the server may have
  /// removed it since.
  package func keepAgain(_ hash: ContentHash) throws(StoreError) {
    try keepRow(StoredAttachment(hash: hash, size: FileAccess.size(path(hash)) ?? 0))
  }

  /// Records that the server has a file.
  package func uploaded(_ hash: ContentHash) throws(StoreError) {
    try write(
      "UPDATE attachments SET is_uploaded = 1 WHERE hash = ?", [hash.description])
  }

  /// Records that the server may no longer have a file.
  package func missing(_ hash: ContentHash) throws(StoreError) {
    try write(
      "UPDATE attachments SET is_uploaded = 0 WHERE hash = ?", [hash.description])
  }

  /// Records since when a file has not been needed; nil if it is needed.
  package func unneeded(_ hash: ContentHash, since: Int64?) throws(StoreError) {
    try write(
      "UPDATE attachments SET unneeded_since = ? WHERE hash = ?", [since, hash.description])
  }

  /// Removes a file that has not been needed since then, unless it was attached again meanwhile.
  package func remove(_ hash: ContentHash, unneededSince: Int64) throws(StoreError) {
    guard try all().contains(where: { $0.hash == hash && $0.unneededSince == unneededSince })
    else { return }
    try remove(hash)
  }

  /// Removes a file from this device.
  package func remove(_ hash: ContentHash) throws(StoreError) {
    do {
      if has(hash) { try FileManager.default.removeItem(atPath: path(hash)) }
    } catch {
      throw StoreError(code: .failed, message: "\(error)")
    }
    try forgetRow(hash)
  }

  private func path(_ hash: ContentHash) -> String { folder + "/" + hash.description }

  private func keepRow(_ stored: StoredAttachment) throws(StoreError) {
    try write(
      "INSERT OR REPLACE INTO attachments (hash, size, is_uploaded, is_request) VALUES (?, ?, ?, ?)",
      [stored.hash.description, stored.size, stored.isUploaded, stored.isRequest])
  }

  private func forgetRow(_ hash: ContentHash) throws(StoreError) {
    try write("DELETE FROM attachments WHERE hash = ?", [hash.description])
  }

  private func write(_ sql: String, _ arguments: StatementArguments) throws(StoreError) {
    do {
      try store.write { try $0.execute(sql: sql, arguments: arguments) }
    } catch {
      throw StoreError(error)
    }
  }
}
