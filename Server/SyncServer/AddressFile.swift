import Foundation
import ProcessResources
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
  }

  private let directory: String
  private var path: String { directory + "/listening" }

  init(directory: String) {
    self.directory = directory
  }

  /// Best effort: without it `pair` prints a placeholder.
  func write(_ listening: Listening) {
    let lines = [
      listening.url, listening.version, "\(listening.startedAt)", "\(listening.processID)",
    ]
    try? Data(lines.map { $0 + "\n" }.joined().utf8)
      .write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// What the serving process wrote; nil where none is running, or it did not get that far.
  func read() -> Listening? {
    guard let data = FileManager.default.contents(atPath: path),
      let text = String(bytes: data, encoding: .utf8), text.hasPrefix("ws")
    else { return nil }
    // One that was killed has left its address, and holds the lock no more.
    guard AddressFile.isServed(directory) else { return nil }
    let lines = text.split(separator: "\n").map(String.init)
    guard lines.count == 4, let startedAt = Int64(lines[2]), let processID = pid_t(lines[3]) else {
      return nil
    }
    return Listening(
      url: lines[0], version: lines[1], startedAt: startedAt, processID: processID)
  }

  /// Whether a process holds the lock of a data directory.
  static func isServed(_ directory: String) -> Bool {
    do {
      try DirectoryLock(directory: directory).release()
      return false
    } catch {
      if case .locked = error { return true }
      return false
    }
  }
}
