import AgentFormats
import Foundation
import SyncClient

/// The program that runs messages, as far as it can be found before a message arrives.
enum AgentProgram {
  /// Why the configured agent could not be started now; nil if it could.
  ///
  /// - Parameter path: the folders to search for programs, in the format of `PATH`.
  static func problem(of settings: AgentSettings, path: String) -> String? {
    let words = settings.command.map { (try? CommandWords.split($0)) ?? [] } ?? []
    let program: String
    switch settings.kind {
    case .none, .hooks, .opencode: return nil
    case .command, .acp:
      guard let first = words.first else {
        return "No command is set: cospool config set command \"…\""
      }
      program = first
    case .claude, .codex: program = words.first ?? settings.kind.rawValue
    }
    guard !program.contains("/") else {
      // A path relative to the project's folder is not known yet.
      guard program.hasPrefix("/"), !isExecutable(program) else { return nil }
      return "\(program) does not exist or is not a program: messages will fail."
    }
    let folders = path.split(separator: ":")
    guard !folders.contains(where: { isExecutable("\($0)/\(program)") }) else { return nil }
    return "The daemon does not find \(program) in its PATH (\(path)): messages will fail."
  }

  private static func isExecutable(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      && !isFolder.boolValue && access(path, X_OK) == 0
  }
}
