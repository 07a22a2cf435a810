import ArgumentParser
import LocalAPI
import QueueModel

/// `cospool server`
struct ServerCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "server",
    abstract: "Change the server that this device is paired with.",
    discussion: """
      EXAMPLES
        cospool server move wss://cospool.example.org
      """,
    subcommands: [Move.self])

  @OptionGroup var options: GlobalOptions

  struct Move: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "move",
      abstract: "Set the new address of this device's server.",
      discussion: """
        EXAMPLES
          cospool server move wss://cospool.example.org
          cospool server move ws://127.0.0.1:7500

        Use it if the server's name, port or machine changed, or if it now uses TLS. The device keeps its \
        token, its workspace, and its unsent changes. It asks the server at the new address first: \
        if that does not know this device, nothing changes.

        The device sends its token to that address. Use it only if you know that the server moved.
        """)
    @Argument(help: ArgumentHelp("ws://host:port or wss://host:port[/folder].", valueName: "url"))
    var server: String
    @Flag(help: "Allow unencrypted ws:// outside private networks (anyone in between can read it).")
    var insecure = false
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["server", "move"],
        body: MoveServerRequest(server: server, insecure: insecure ? true : nil))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let moved = try answer.decoded(PairingAnswer.self)
      return "follows \(TextStyle.line(moved.server)), "
        + "workspace \(TextStyle.line(moved.workspaceName))"
    }
  }
}

/// `cospool unpair`
struct UnpairCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "unpair",
    abstract: "Forget the server; the queues stay on this device.",
    discussion: """
      EXAMPLES
        cospool unpair
        cospool pair wss://cospool.example.org CODE

      Unsent changes wait until you pair the device again with a server of the same workspace. \
      Another workspace needs another data directory. Until then no message starts here, because only \
      the server knows that no other device starts it.

      The server still knows the device. To remove it there: cospool-server revoke NAME.
      """)
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest { APIRequest(.delete, ["pair"]) }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    "unpaired. No message starts here until the device is paired again."
  }
}
