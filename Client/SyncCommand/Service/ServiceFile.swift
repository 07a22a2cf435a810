#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The file of a service that is written again, and its former content.
struct ServiceFile {
  let path: String
  /// nil if there was none.
  let former: Data?

  /// Reads the present file.
  init(_ path: String) throws(CommandFailure) {
    self.path = path
    do {
      former =
        FileManager.default.fileExists(atPath: path)
        ? try Data(contentsOf: URL(filePath: path)) : nil
    } catch {
      throw .unreadable(path, because: error)
    }
  }

  func write(_ text: String) throws(CommandFailure) { try write(Data(text.utf8)) }

  func bringBack() throws(CommandFailure) {
    if let former { return try write(former) }
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw .unwritable(path, "cannot be removed", because: error)
    }
  }

  private func write(_ text: Data) throws(CommandFailure) {
    do {
      try FileManager.default.createDirectory(
        at: URL(fileURLWithPath: path).deletingLastPathComponent(),
        withIntermediateDirectories: true)
      try text.write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw .unwritable(path, because: error)
    }
  }
}
