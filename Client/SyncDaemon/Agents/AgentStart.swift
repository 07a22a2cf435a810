import Foundation
import Subprocess
import SystemPackage

/// What a process is to become: put together before there is leave to begin, while there is time.
struct AgentStart: Sendable {
  /// By path; one that is relative counts from the folder.
  var program: FilePath
  /// Without the program's name.
  var words: [String]
  /// nil for the daemon's own.
  var folder: String?
  /// `NAME=value` and a zero each, where the daemon's own can be passed on so.
  var variables: [[UInt8]]?
  var environment: Environment
  /// What stands on its standard input; nil for nothing.
  var input: String?
}

extension AgentStart {
  /// - Throws: where the program is not found.
  init(_ line: AgentCommandLine, _ turn: AgentTurn, program: String) async throws {
    let values = turn.environment.merging(line.environment, uniquingKeysWith: { $1 })
    variables = AgentEnvironment.entries(values)
    environment = AgentEnvironment.holding(values, variables)
    self.program =
      program.contains("/")
      ? FilePath(program)
      : try await Executable.name(program).resolveExecutablePath(in: environment)
    words = Array(line.words.dropFirst())
    folder = turn.folder
    input = line.input
  }
}
