import ArgumentParser
import LocalAPI
import QueueModel

/// `cospool status`
struct StatusCommand: WatchableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Daemon, sync and queues on one screen.",
    discussion: """
      EXAMPLES
        cospool status
        cospool status --watch
        cospool status --json | jq .sync.state
      """)
  @OptionGroup var watch: WatchOption
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["status"]) }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    StatusText.text(of: try answer.decoded(StatusAnswer.self), style: style)
  }
}

/// `cospool dump`
struct DumpCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "dump",
    abstract: "The whole workspace as canonical JSON.",
    discussion: """
      EXAMPLES
        cospool dump
        diff <(cospool dump --data A) <(cospool dump --data B)

      Equal on two devices exactly if they know the same changes.
      """)
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    var request = APIRequest(.get, ["dump"])
    request.timeoutSeconds = APIRequest.documentTimeoutSeconds
    return request
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    String(decoding: answer.json, as: UTF8.self)
  }
}

/// `cospool pair`
struct PairCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "pair",
    abstract: "Sync this device with a server.",
    discussion: """
      EXAMPLES
        cospool-server pair                           on the server: prints a code
        cospool pair ws://127.0.0.1:7420 BCDF-GHJK    on the device: uses it

      What is queued here already goes to the server; nothing is lost.

      ws:// is not encrypted. It is taken for this machine and for private networks; for any other \
      server only with --insecure.
      """)
  @Argument(help: ArgumentHelp("ws://host:port or wss://host:port.", valueName: "url"))
  var server: String
  @Argument(help: "The one-time code.") var code: String
  @Flag(help: "Also where everybody on the way can read it: ws:// beyond a private network.")
  var insecure = false
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    try APIRequest(
      .post, ["pair"],
      body: PairServerRequest(server: server, code: code, insecure: insecure ? true : nil))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    let paired = try answer.decoded(PairingResult.self)
    return "paired with \(TextStyle.line(paired.server)), "
      + "workspace \(TextStyle.line(paired.workspaceName))"
  }
}

/// `cospool sync`
struct SyncCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "The connection to the server.",
    discussion: """
      EXAMPLES
        cospool sync off                   work offline; all commands go on
        cospool sync on
        cospool sync now                   try at once instead of waiting
        cospool sync wait --timeout 30     exit code 75 if it takes longer
      """,
    subcommands: [On.self, Off.self, Now.self, Wait.self])

  @OptionGroup var options: GlobalOptions

  struct On: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sync; kept over restarts.",
      discussion: """
        EXAMPLES
          cospool sync on
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.put, ["sync"], body: SyncRequest(enabled: true))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String { "sync is on" }
  }

  struct Off: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Close the connection and stay offline; kept over restarts.",
      discussion: """
        EXAMPLES
          cospool sync off
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.put, ["sync"], body: SyncRequest(enabled: false))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String { "sync is off" }
  }

  struct Now: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Connect at once where the daemon waits before its next try.",
      discussion: """
        EXAMPLES
          cospool sync now
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.post, ["sync", "now"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let sync = try answer.decoded(SyncStatus.self)
      return sync.state == .connected ? "connected" : "connecting"
    }
  }

  struct Wait: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Return once the server has everything, and this device all that it has.",
      discussion: """
        EXAMPLES
          cospool sync wait --timeout 30
          cospool sync wait && sudo poweroff

        Exit code 75 if it takes longer.
        """)
    @Option(help: ArgumentHelp("Seconds, at most a day.", valueName: "s")) var timeout = 60.0
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard timeout >= 0, timeout <= 86_400 else {
        throw ValidationError("--timeout \(timeout): choose 0 to 86400 seconds.")
      }
    }

    func request(input: StandardInput) throws -> APIRequest {
      var request = try APIRequest(
        .post, ["sync", "wait"], body: WaitRequest(timeoutSeconds: timeout))
      request.timeoutSeconds = timeout + APIRequest.timeoutSecondsDefault
      return request
    }

    func text(of answer: Answer, style: TextStyle) throws -> String { "in sync" }
  }
}
