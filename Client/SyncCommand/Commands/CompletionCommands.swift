import ArgumentParser

extension CompletionKind {
  /// The sessions that the daemon knows.
  static let sessions = CompletionKind.shellCommand("cospool complete sessions 2>/dev/null")
  /// The messages that wait.
  static let messages = CompletionKind.shellCommand("cospool complete messages 2>/dev/null")
}

/// `cospool completions`
struct CompletionsCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "completions",
    abstract: "Print the script that lets a shell complete commands, options and ids.",
    discussion: """
      EXAMPLES
        source <(cospool completions bash)                        this shell
        cospool completions bash > ~/.local/share/bash-completion/completions/cospool
        cospool completions zsh > ~/.zfunc/_cospool               a folder of fpath
        cospool completions fish > ~/.config/fish/completions/cospool.fish

      Sessions and messages are those of the daemon in the default data directory, or in
      $COSPOOL_DATA.
      """)
  @Argument(help: "bash, zsh or fish.", completion: .list(["bash", "zsh", "fish"]))
  var shell: String
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    guard CompletionShell(rawValue: shell) != nil else {
      throw ValidationError("\(shell): choose bash, zsh or fish.")
    }
  }

  func run(in environment: Environment) async throws -> String {
    Cospool.completionScript(for: CompletionShell(rawValue: shell) ?? .bash)
  }
}

/// `cospool complete`: what completion scripts ask for. It has no place in the help.
struct CompleteCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "complete", abstract: "Ids to complete with, one a line.", shouldDisplay: false)

  enum What: String, ExpressibleByArgument, CaseIterable {
    case sessions, messages
  }

  @Argument var what: What
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    APIRequest(.get, [what.rawValue])
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    switch what {
    case .sessions:
      return try answer.decoded(SessionListAnswer.self).sessions.map(\.id)
        .joined(separator: "\n")
    case .messages:
      struct Listed: Decodable {
        var ids: [String]
      }
      return QueueText.shortened(try answer.decoded(Listed.self).ids).joined(separator: "\n")
    }
  }
}
