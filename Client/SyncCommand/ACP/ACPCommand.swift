import AgentFormats
import ArgumentParser
import LocalAPI

/// `cospool acp`
struct ACPCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "acp",
    abstract: "Be an agent for an editor on stdin and stdout; its prompts are queued.",
    discussion: """
      EXAMPLES
        cospool acp --here            what an editor starts (Zed, Toad, JetBrains)
        cospool acp -s review         each prompt of the editor goes to this session

      It speaks the Agent Client Protocol, version 1. Each conversation of the editor is a session,
      named after its folder, that begins with the first prompt. A prompt is queued and runs on the
      session's host; the editor shows its place, what the agent does, its requests and the end.
      A request counts once, wherever it is answered. To stop in the editor cancels the prompt, or
      stops its agent. If the editor ends, its prompts stay queued.

      This device runs a new session only with --here; it is your consent.
      """)
  @Option(
    name: [.customShort("s"), .customLong("session")],
    help: ArgumentHelp("The session for all prompts.", valueName: "session"),
    completion: .sessions)
  var session: String?
  @Flag(help: "Run the new sessions of the editor on this device.")
  var here = false
  @OptionGroup var options: GlobalOptions

  /// The maximum bytes of one message: a prompt with its pictures.
  static let lineBytesMax = 16 << 20

  func run(in environment: Environment) async throws -> String {
    let connection = environment.connection(try environment.dataDirectory(flag: options.data))
    let output = LineOutput(write: environment.watching.write)
    let changes = DaemonChanges()
    let editor = EditorLink { output.write($0) }
    let server = ACPServer(editor, changes, session: session, runsHere: here) {
      try await connection.answer(to: $0)
    }
    await withDiscardingTaskGroup { group in
      group.addTask { await changes.follow(connection) }
      var lines = LineSplitter(bytesMax: Self.lineBytesMax)
      var dropped = 0
      for await piece in environment.pieces() {
        var whole = lines.received(piece)
        if lines.droppedCount > dropped {
          dropped = lines.droppedCount
          // Even its id is unknown.
          whole.append(Array("{".utf8))
        }
        for line in whole {
          if let work = await server.step(line) { group.addTask { await work() } }
        }
      }
      // The editor has ended; its prompts stay where they are.
      group.cancelAll()
    }
    return ""
  }
}
