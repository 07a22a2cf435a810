import Foundation
import ProcessResources
import ServerCore
import ServerStore

/// Where a serving process says how it can be reached, so that `pair` can print a whole command, and
/// which program it is.
struct AddressFile: Sendable {
  /// What it says.
  struct Listening: Hashable, Sendable {
    var url: String
    var version = ServerVersion.text
    /// Milliseconds since 1970.
    var startedAt = ProcessClock.wallMilliseconds
    var processID = getpid()
    /// The address that devices use, if the operator said one.
    var devicesURL: String?
    /// Whether they come through a proxy.
    var isProxied = false
    /// What a workspace may take if its owner has said nothing; nil of a version that does not say
    /// so.
    var quotas: Quotas?
  }

  /// Bytes that a workspace may take.
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

  /// Best effort: without it `pair` prints a placeholder.
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

  /// What the serving process wrote; nil if none is running, or it did not get that far.
  func read() -> Listening? {
    guard let data = FileManager.default.contents(atPath: path),
      let text = String(bytes: data, encoding: .utf8), text.hasPrefix("ws")
    else { return nil }
    // One that was killed has left its address, and holds the lock no more.
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
    // To look at a lock makes its file, and makes it that of whoever looks.
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
