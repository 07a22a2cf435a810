import ArgumentParser
import Basics

/// The command line of `cospool`.
struct Cospool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospool",
    abstract: "Queues of coding agents, the same on every device.",
    discussion: """
      EXAMPLES
        cospool                                        everything at a glance
        cospool inbox                                  what needs you, and the command for it
        cospool send -s review "Fix the flaky test"    queue a prompt
        git diff | cospool send -s review -            queue what comes on stdin
        cospool queue list -s review                   waiting prompts, in order
        cospool queue move 3f2a --to 1                 ids may be shortened
        cospool thread list                            sessions that need you
        cospool task list                              the state of the agents
        cospool approve review                         see and approve a request
        cospool pair wss://host:port CODE              sync with other devices
        cospool sync wait --timeout 30                 wait until the server has everything
        cospool status --json                          for scripts
        cospool setup                                  set up daemon, server, hooks
        cospool doctor                                 find and fix problems
        cospool service install                        start the daemon at login
        cospool undo                                   undo your latest change
        cospool log                                    who changed what, and when
        cospool output -f review                       what its agent writes, from anywhere
        cospool export queues.json                     everything as one document
        cospool web                                    everything in a browser
        cospool hooks install claude                   show what the agent does
        cospool mcp                                    tools for agents
        cospool acp                                    an agent for editors
        cospool completions bash                       TAB completes commands and ids

      Commands talk to the daemon of the data directory; start it with cospoold.

      Exit codes: 0 ok, 1 failed, 2 usage, 3 authentication, 4 unreachable,
      5 conflict or taken over, 6 corrupt data, 7 disk, 75 try again later.
      """,
    version: Version.number,
    groupedSubcommands: [
      CommandGroup(
        name: "Look",
        subcommands: [
          OverviewCommand.self, InboxCommand.self, StatusCommand.self, NotificationCommands.self,
          LogCommand.self, OutputCommand.self, WebCommands.self,
        ]),
      CommandGroup(
        name: "Queue",
        subcommands: [
          SendCommand.self, QueueCommands.self, ThreadCommands.self, SessionCommands.self,
          DraftCommands.self, UndoCommand.self, RedoCommand.self,
        ]),
      CommandGroup(
        name: "Agents",
        subcommands: [
          TaskCommands.self, ApproveCommand.self, DenyCommand.self, AnswerCommand.self,
          AskCommand.self, HooksCommands.self, HookCommand.self, MCPCommand.self,
          ACPCommand.self,
        ]),
      CommandGroup(
        name: "Devices",
        subcommands: [
          PairCommand.self, SyncCommands.self, ServerCommands.self, PushCommands.self,
          UnpairCommand.self,
        ]),
      CommandGroup(
        name: "Documents",
        subcommands: [ExportCommand.self, ImportCommand.self, DumpCommand.self]),
      CommandGroup(
        name: "Set up",
        subcommands: [
          SetupCommand.self, InitCommand.self, ConfigCommands.self, ServiceCommands.self,
          DoctorCommand.self, BugReportCommand.self, CompletionsCommand.self, CompleteCommand.self,
        ]),
    ], defaultSubcommand: OverviewCommand.self)

  // Here too, so that both may precede the subcommand.
  @OptionGroup var options: GlobalOptions
}

/// The options of every command, before or after its name.
struct GlobalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The daemon's data directory. Default: $COSPOOL_DATA, then $XDG_DATA_HOME/cospool.",
      valueName: "dir"), completion: .directory)
  var data: String?

  @Flag(help: "Write JSON instead of text; errors too, on stderr.")
  var json = false

  func validate() throws {
    guard data != "" else { throw ValidationError(DataPath.empty) }
  }
}

/// A command that is one request to the daemon.
protocol DaemonCommand: ParsableCommand {
  var options: GlobalOptions { get }

  /// The request; `input` is read if an argument is "-".
  func request(input: StandardInput) throws -> APIRequest

  /// Handles the answer before it is written.
  func received(_ answer: Answer) throws

  /// The daemon's answer as text for a user.
  func text(of answer: Answer, style: TextStyle) throws -> String

  /// Further information for the user, on stderr.
  func warning(of answer: Answer) -> String?

  /// The exit code after the answer was written.
  func exitCode(of answer: Answer) -> Int32
}

/// A request whose text a user may write in an editor.
protocol EditorCommand: DaemonCommand {
  /// The message to open; nil if the text was given.
  var editedMessage: String? { get }
}

/// A command that does its work without a request to the daemon.
protocol LocalCommand: ParsableCommand {
  var options: GlobalOptions { get }

  /// Runs the command, and returns what was done.
  func run(in environment: Environment) async throws -> String

  /// The same with the exit code.
  func outcome(in environment: Environment) async throws -> CommandRunner.Outcome
}

extension LocalCommand {
  func outcome(in environment: Environment) async throws -> CommandRunner.Outcome {
    CommandRunner.Outcome(output: try await run(in: environment))
  }
}

extension DaemonCommand {
  func received(_ answer: Answer) throws {}

  func warning(of answer: Answer) -> String? { nil }

  func exitCode(of answer: Answer) -> Int32 { 0 }
}
