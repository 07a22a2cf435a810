import ClientCore
import GRDB
import SequenceCRDT
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The file outside the database that tells the database from an older or copied one.
///
/// It holds a random token, the replica, and how far it has come; the database holds the token and
/// the file's own inode and birth time. A restored database has another token or is behind the
/// file; in a copied directory the file is another one. It is written in place, so that it stays
/// the same file, and without fsync: a lost update only makes the file fall behind, which is fine.
///
/// The database also holds in which run of the machine it was opened, until it is closed. One that was
/// left open when the machine went down may have lost what was sent already, without anything here
/// that says so: its ids must not be used a second time either.
final class IncarnationFile: Sendable {
  /// What the database remembers of the file.
  struct Mark: Hashable, Sendable {
    var token: UInt64
    var identity: FileAccess.Identity
    var boot: String?

    func write(to database: Database) throws {
      try database.writeSetting(.incarnationToken, String(token))
      try database.writeSetting(.incarnationInode, String(identity.inode))
      try database.writeSetting(.incarnationBirth, String(identity.birth))
      try database.writeSetting(.boot, boot ?? "")
    }
  }

  private struct Content: Hashable {
    var token: UInt64
    var replica: UInt64
    var seq: UInt32
  }

  private let path: String
  /// The machine's present run; nil where the platform does not say.
  let boot: String?
  private let file: Int32
  private let content: Mutex<Content?>

  init(path: String, boot: String?) throws(StoreError) {
    self.path = path
    self.boot = boot
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw FileAccess.failure("open", path) }
    content = Mutex(IncarnationFile.parse(try FileAccess.read(path) ?? ""))
  }

  deinit {
    close(file)
  }

  /// Whether the database is not the one that this file was last written for, or was open when the
  /// machine went down.
  func needsFreshReplica(_ database: Database, record: ReplicaRecord?) throws -> Bool {
    guard let record else { return false }
    guard let content = content.withLock({ $0 }), let identity = FileAccess.identity(of: file)
    else { return true }
    let logged = try Int64.fetchOne(
      database, sql: "SELECT max(last_seq) FROM entry_ranges WHERE replica = ?",
      arguments: [record.replica.column])
    let last = max(logged ?? 0, Int64(record.floor[record.replica]))
    return try wasLeftOpen(database)
      || database.setting(.incarnationToken) != String(content.token)
      || database.setting(.incarnationInode) != String(identity.inode)
      || database.setting(.incarnationBirth) != String(identity.birth)
      || content.replica != record.replica.rawValue
      || last < Int64(content.seq)
  }

  /// Whether the machine went down while the database was open.
  private func wasLeftOpen(_ database: Database) throws -> Bool {
    guard let earlier = try database.setting(.boot), !earlier.isEmpty else { return false }
    return earlier != boot
  }

  /// The database is open in this run of the machine.
  func noteOpened(in database: Database) throws {
    guard try database.setting(.boot) != boot ?? "" else { return }
    try database.writeSetting(.boot, boot ?? "")
  }

  /// The database is closed in order: everything in it is on the disk with this.
  func noteClosed(in database: Database) throws {
    // One that needs a fresh replica and did not get it stays as it is.
    guard let boot, try database.setting(.boot) == boot else { return }
    try database.writeSetting(.boot, "")
  }

  /// Starts over for a fresh replica, before the database learns of it: a crash in between leaves
  /// a mismatch, which costs one more replica id and nothing else.
  func renew(_ replica: ReplicaID) throws(StoreError) -> Mark {
    let fresh = Content(
      token: UInt64.random(in: 1...UInt64.max), replica: replica.rawValue, seq: 0)
    try FileAccess.write(Array(text(of: fresh).utf8), to: file, path: path)
    content.withLock { $0 = fresh }
    guard let identity = FileAccess.identity(of: file) else {
      throw FileAccess.failure("stat", path)
    }
    return Mark(token: fresh.token, identity: identity, boot: boot)
  }

  /// The replica's operations up to `seq` are committed.
  func advance(to seq: UInt32) {
    let next = content.withLock { content -> Content? in
      guard let known = content, known.seq < seq else { return nil }
      content?.seq = seq
      return content
    }
    guard let next else { return }
    // The commit stands whatever becomes of this; see above.
    try? FileAccess.write(Array(text(of: next).utf8), to: file, path: path)
  }

  /// Always of the same length.
  private func text(of content: Content) -> String {
    let digits = String(content.seq)
    return "cospool incarnation 1\n" + hexadecimal(content.token) + "\n"
      + hexadecimal(content.replica) + "\n" + String(repeating: "0", count: 10 - digits.count)
      + digits + "\n"
  }

  private func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func parse(_ text: String) -> Content? {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 5, lines[0] == "cospool incarnation 1", lines[4].isEmpty,
      let token = UInt64(lines[1], radix: 16), let replica = UInt64(lines[2], radix: 16),
      let seq = UInt32(lines[3])
    else { return nil }
    return Content(token: token, replica: replica, seq: seq)
  }
}
