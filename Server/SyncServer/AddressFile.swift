import Foundation
import ProcessResources
import ServerCore
import ServerStore

/// The file in which a serving process records its address and program, so that `pair` can print a
/// complete command.
struct AddressFile: Sendable {
  /// The contents of the file.
  struct Listening: Hashable, Sendable {
    var url: String
    var version = ServerVersion.text
    /// Milliseconds since 1970.
    var startedAt = ProcessClock.wallMilliseconds
    var processID = getpid()
    /// The address that devices use, if the operator gave one.
    var devicesURL: String?
    /// Whether devices connect through a proxy.
    var isProxied = false
    /// The default limits of a workspace; nil if written by a version without them.
    var quotas: Quotas?
  }

  /// Byte limits of a workspace.
  struct Quotas: Hashable, Sendable {
    var storage = ServerConfiguration().quota.bytesMax
    var daily = ServerConfiguration().quota.dailyBytesMax
    var files = SyncServerOptions.Files().quotaBytes
  }

  private static let devicesMark = "devices "
  private static let proxyMark = "proxied"
  private static let quotasMark = "quotas "

  private let directory: String
  private var path: String { directory + "/listening" }

  init(directory: String) {
    self.directory = directory
  }

  /// Best effort: without the file, `pair` prints a placeholder.
  func write(_ listening: Listening) {
    var lines = [
      listening.url, listening.version, "\(listening.startedAt)", "\(listening.processID)",
    ]
    if let url = listening.devicesURL { lines.append(Self.devicesMark + url) }
    if listening.isProxied { lines.append(Self.proxyMark) }
    if let quotas = listening.quotas {
      lines.append("\(Self.quotasMark)\(quotas.storage) \(quotas.daily) \(quotas.files)")
    }
    try? Data(lines.map { $0 + "\n" }.joined().utf8)
      .write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The record of the serving process; nil if none is running, or it has not written it yet.
  func read() -> Listening? {
    guard let data = FileManager.default.contents(atPath: path),
      let text = String(bytes: data, encoding: .utf8), text.hasPrefix("ws")
    else { return nil }
    // A killed process leaves its address behind, but no longer holds the lock.
    guard AddressFile.isServed(directory) else { return nil }
    let lines = text.split(separator: "\n").map(String.init)
    guard lines.count >= 4, let startedAt = Int64(lines[2]), let processID = pid_t(lines[3]) else {
      return nil
    }
    let devicesURL = lines.dropFirst(4).first { $0.hasPrefix(Self.devicesMark) }
    return Listening(
      url: lines[0], version: lines[1], startedAt: startedAt, processID: processID,
      devicesURL: devicesURL.map { String($0.dropFirst(Self.devicesMark.count)) },
      isProxied: lines.dropFirst(4).contains(Self.proxyMark),
      quotas: lines.dropFirst(4).first { $0.hasPrefix(Self.quotasMark) }.flatMap(Self.quotas))
  }

  private static func quotas(_ line: String) -> Quotas? {
    let numbers = line.dropFirst(quotasMark.count).split(separator: " ").compactMap { Int($0) }
    guard numbers.count == 3 else { return nil }
    return Quotas(storage: numbers[0], daily: numbers[1], files: numbers[2])
  }

  /// Whether a process holds the lock of a data directory.
  static func isServed(_ directory: String) -> Bool {
    // Checking a lock would create its file, owned by the checking account.
    guard FileManager.default.fileExists(atPath: "\(directory)/\(DirectoryLock.serverName)") else {
      return false
    }
    do {
      try DirectoryLock(directory: directory).release()
      return false
    } catch {
      if case .locked = error { return true }
      return false
    }
  }
}
