import AgentFormats
import ArgumentParser
import LocalAPI

/// `cospool mcp`
struct MCPCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "mcp",
    abstract: "Run an MCP server for an agent on stdin and stdout.",
    discussion: """
      EXAMPLES
        claude mcp add cospool -- cospool mcp
        codex mcp add cospool -- cospool mcp

      The agent gets these tools: queue_list, queue_add, queue_edit, queue_resolve, queue_move,
      queue_later, queue_after, queue_cancel, queue_pause, queue_resume, queue_retry, queue_skip,
      session_list, thread_list, thread_remove, task_state, ask_person, permission_prompt. Tools that
      change something take an idempotency_key: while this server runs, repeated calls with one of its
      latest 1,000 keys take effect once. A key of queue_add holds after a restart, too.
      ask_person and permission_prompt wait for your answer, and do not block other calls. A call without a session means the
      session of --session, or else of $COSPOOL_SESSION, which Cospool sets for the agents that it
      starts.
      """)
  @Option(
    name: [.customShort("s"), .customLong("session")],
    help: ArgumentHelp("The session for calls that name none.", valueName: "session"),
    completion: .sessions)
  var session: String?
  @Option(
    help: ArgumentHelp(
      "The seconds that permission_prompt waits for an answer, at most 3600.", valueName: "seconds")
  )
  var patience = MCPSurroundings.patienceSecondsDefault
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    guard patience > 0, patience <= Double(AskRequest.patienceSecondsMax) else {
      throw ValidationError(
        "--patience \(patience): choose more than 0 and at most \(AskRequest.patienceSecondsMax).")
    }
  }

  func run(in environment: Environment) async throws -> String {
    let directory = try environment.dataDirectory(flag: options.data)
    let connection = environment.connection(directory)
    let named = session ?? environment.session
    let surroundings = MCPSurroundings(session: named, patienceSeconds: patience)
    var server = MCPServer(surroundings) { try await connection.answer(to: $0) }
    let output = LineOutput(write: environment.watching.write)
    await withDiscardingTaskGroup { group in
      var lines = LineSplitter(bytesMax: MCPServer.lineBytesMax)
      var dropped = 0
      reading: for await piece in environment.pieces() {
        var whole = lines.received(piece)
        if lines.droppedCount > dropped {
          dropped = lines.droppedCount
          // Even its id is unknown.
          whole.append(Array("{".utf8))
        }
        for line in whole {
          switch await server.step(line) {
          case .answer(let answer):
            // The agent has closed the connection.
            guard output.write(answer) else { break reading }
          case .wait(let work):
            group.addTask { _ = output.write(await work()) }
          }
        }
      }
      // The caller has ended: its requests are withdrawn.
      server.waiting.cancelAll()
    }
    return ""
  }
}
