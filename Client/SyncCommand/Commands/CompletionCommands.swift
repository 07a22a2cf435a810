import ArgumentParser
import Basics
import LocalAPI
import QueueModel

extension CompletionKind {
  /// The sessions that the daemon knows.
  static let sessions = CompletionKind.shellCommand("cospool complete sessions 2>/dev/null")
  /// The waiting messages.
  static let messages = CompletionKind.shellCommand("cospool complete messages 2>/dev/null")
  /// The names of settings.
  static let settings = CompletionKind.shellCommand("cospool complete settings 2>/dev/null")
  /// `this` and the names of devices.
  static let devices = CompletionKind.shellCommand("cospool complete devices 2>/dev/null")
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
    let shell = CompletionShell(rawValue: shell) ?? .bash
    let script = Cospool.completionScript(for: shell)
    switch shell {
    case .bash: return script + "\n\n" + CompletionsCommand.writingWords
    // While the option is off, zsh does not quote a `!` in the text that it inserts, so the history
    // would expand it.
    case .zsh: return script.replacing("unsetopt aliases banghist", with: "unsetopt aliases")
    default: return script
    }
  }

  /// Replaces the parser's own function in bash, which lets readline quote words as names of files.
  /// Readline leaves `$(…)` as it is if a `$` was typed, and reads `~name` as a directory.
  private static let writingWords = #"""
    # Words are inserted in the quotes that were begun, else with what bash would expand escaped.
    __cospool_add_completions() {
        local completion special quote=''
        if [[ "${1}" = -W ]] && compopt +o filenames 2>/dev/null; then
            quote="${COMP_WORDS[COMP_CWORD]:0:1} "
        fi
        while IFS='' read -r completion; do
            case "${quote}" in
            '') ;;
            \'*) completion=${completion//\'/\'\\\'\'} ;;
            \"*)
                for special in '\' '"' '$' '`'; do
                    completion=${completion//"${special}"/"\\${special}"}
                done
                ;;
            *)
                printf -v completion %q "${completion}"
                # These end a word for readline. What is in $'…' is escaped already.
                if [[ "${completion}" != \$\'* ]]; then
                    for special in : = @; do
                        completion=${completion//"${special}"/"\\${special}"}
                    done
                fi
                ;;
            esac
            COMPREPLY+=("${completion}")
        done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
    }
    """#
}

/// `cospool complete`: the command of completion scripts. The help does not list it.
struct CompleteCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "complete", abstract: "Ids to complete with, one a line.", shouldDisplay: false)

  enum What: String, ExpressibleByArgument, CaseIterable {
    case sessions, messages, settings, devices
  }

  /// The shell that asks, in the environment as the parser's scripts for bash and zsh set it.
  private static let shellVariable = "SAP_SHELL"

  @Argument var what: What
  @OptionGroup var options: GlobalOptions

  func run(in environment: Environment) async throws -> String {
    let directory = try environment.dataDirectory(flag: options.data)
    let answer = try await DaemonConnection(dataDirectory: directory)
      .answer(to: APIRequest(.get, [what == .devices ? "status" : what.rawValue]))
    let shell = environment.variables[CompleteCommand.shellVariable]
    return try ids(in: answer).map { CompleteCommand.written($0, for: shell) }
      .joined(separator: "\n")
  }

  private func ids(in answer: Answer) throws -> [String] {
    switch what {
    case .sessions: return try answer.decoded(SessionsAnswer.self).sessions.map(\.id.rawValue)
    case .messages:
      return QueueText.shortened(try answer.decoded(MessageIDsAnswer.self).ids.map(\.description))
    case .settings: return try answer.decoded(SettingsAnswer.self).settings.map(\.name)
    case .devices:
      return ["this"] + (try answer.decoded(StatusAnswer.self).sync.devices.map(\.name))
    }
  }

  /// An id in the form that the shell's completion reads. bash expands the words of a list,
  /// including commands in them. zsh treats the text after a colon as a description.
  private static func written(_ id: String, for shell: String?) -> String {
    switch shell {
    case "bash": Shell.quoted(id)
    case "zsh": id.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
    default: id
    }
  }
}
