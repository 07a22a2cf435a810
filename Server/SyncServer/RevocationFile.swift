import Foundation
import QueueModel
import ServerCore
import ServerStore

/// The revocations, recorded beside the database: `revocations` in the data directory, one line
/// each.
///
/// A database restored from a backup lacks later revocations; this file stays in place and has
/// them.
struct RevocationFile {
  private let path: String

  init(directory: String) {
    path = directory + "/revocations"
  }

  func add(_ device: DeviceID, in workspace: WorkspaceID, at wallMilliseconds: Int64) throws {
    if !FileManager.default.fileExists(atPath: path) {
      guard
        FileManager.default.createFile(
          atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
      else { throw SystemFault.last }
    }
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    defer { try? file.close() }
    try file.seekToEnd()
    try file.write(contentsOf: Data("\(workspace) \(device) \(wallMilliseconds)\n".utf8))
    try file.synchronize()
  }

  /// The entries; unreadable lines are skipped.
  func read() -> [Revocation] { lines().sorted().compactMap(RevocationFile.revocation) }

  /// The lines, readable or not.
  func lines() -> Set<String> { RevocationFile.lines(of: path) }

  static func lines(of path: String) -> Set<String> {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
    return Set(text.split(separator: "\n").map(String.init))
  }

  static func revocation(_ line: String) -> Revocation? {
    let words = line.split(separator: " ").map(String.init)
    guard words.count == 3, let workspace = WorkspaceID(words[0]),
      let device = DeviceID(words[1]), let at = Int64(words[2])
    else { return nil }
    return Revocation(workspace: workspace, device: device, at: at)
  }
}
