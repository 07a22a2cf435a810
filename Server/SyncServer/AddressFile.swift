import Foundation
import ServerStore

/// Where a serving process says how it can be reached, so that `pair` can print a whole command.
struct AddressFile: Sendable {
  private let directory: String
  private var path: String { directory + "/listening" }

  init(directory: String) {
    self.directory = directory
  }

  /// Best effort: without it `pair` prints a placeholder.
  func write(_ url: String) {
    try? Data((url + "\n").utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// What the serving process wrote; nil where none is running, or it did not get that far.
  func read() -> String? {
    guard let data = FileManager.default.contents(atPath: path),
      let url = String(bytes: data, encoding: .utf8)?.trimmingCharacters(
        in: .whitespacesAndNewlines),
      url.hasPrefix("ws")
    else { return nil }
    // One that was killed has left its address, and holds the lock no more.
    guard let lock = try? DirectoryLock(directory: directory) else { return url }
    lock.release()
    return nil
  }
}
