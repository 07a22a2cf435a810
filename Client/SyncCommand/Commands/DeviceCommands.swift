import ArgumentParser
import LocalAPI
import QueueModel

/// `cospool status`
struct StatusCommand: WatchableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the daemon, sync and queues on one screen.",
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
    abstract: "Print the whole workspace as canonical JSON.",
    discussion: """
      EXAMPLES
        cospool dump
        diff <(cospool dump --data A) <(cospool dump --data B)

      Two devices print the same exactly if they have the same changes.
      """)
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    var request = APIRequest(.get, ["dump"])
    request.timeoutSeconds = APIRequest.documentTimeoutSeconds
    return request
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    style.document(answer.json)
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

      The device sends everything that is already queued to the server; nothing is lost.

        cospool pair --show                           on a paired device: prints a code for another
        cospool pair --show --role viewer --expires 30d

      A paired device can make codes if it is a host and the server's owner allows it (cospool-server \
      serve --devices-may-pair). A new device never has more access than this one. A \
      revoked device needs a code from the server itself.

      ws:// is not encrypted. It is accepted for this machine and for private networks; for any other \
      server, add --insecure.
      """)
  @Argument(help: ArgumentHelp("ws://host:port or wss://host:port[/folder].", valueName: "url"))
  var server: String?
  @Argument(help: "The one-time code.") var code: String?
  @Flag(
    help: "Print a one-time code for a new device; in a terminal, also a QR code of the command.")
  var show = false
  @Option(help: "With --show, what the new device may do: viewer, author or host.")
  var role: String?
  @Option(
    help: ArgumentHelp(
      "With --show, how long it has access, such as 30d or 12h. Default: as long as this device.",
      valueName: "time"))
  var expires: String?
  @Flag(help: "Allow unencrypted ws:// outside private networks (anyone in between can read it).")
  var insecure = false
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    if show {
      guard server == nil, !insecure else {
        throw ValidationError(
          "--show makes a code for another device. Leave out the address and the code.")
      }
      guard role.map({ DeviceRole(name: $0) != nil }) ?? true else {
        throw ValidationError("--role takes viewer, author or host.")
      }
      guard expires == nil || accessSeconds != nil else {
        throw ValidationError("--expires takes days or hours, such as 30d or 12h.")
      }
    } else {
      guard server != nil, code != nil else {
        throw ValidationError(
          "Give the server's address and a code, or --show to make a code for another device.")
      }
      guard role == nil, expires == nil else {
        throw ValidationError("--role and --expires go with --show.")
      }
    }
  }

  private var accessSeconds: Int? {
    guard let expires, let number = Int(expires.dropLast()), (1...36_500).contains(number) else {
      return nil
    }
    switch expires.last {
    case "d": return number * 86_400
    case "h": return number * 3_600
    default: return nil
    }
  }

  func request(input: StandardInput) throws -> APIRequest {
    guard let server, let code else {
      return try APIRequest(
        .post, ["pair", "code"],
        body: PairingCodeRequest(role: role, accessSeconds: accessSeconds))
    }
    return try APIRequest(
      .post, ["pair"],
      body: PairServerRequest(server: server, code: code, insecure: insecure ? true : nil))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    if show { return text(of: try answer.decoded(PairingCodeAnswer.self), style: style) }
    let paired = try answer.decoded(PairingAnswer.self)
    var lines = [
      "paired with \(TextStyle.line(paired.server)), "
        + "workspace \(TextStyle.line(paired.workspaceName))"
    ]
    if let access = StatusText.access(paired.role, until: paired.accessEndsAt, style: style) {
      lines.append("access: " + access)
    }
    if let unsent = paired.unsent, paired.role != DeviceRole.viewer.name {
      lines.append(
        "The server gets " + ReceiptText.counted(unsent, "earlier change") + " of this device.")
    }
    if paired.turnedOn == true { lines.append("Sync was off, and is on again.") }
    return lines.joined(separator: "\n")
  }

  private func text(of made: PairingCodeAnswer, style: TextStyle) -> String {
    // A phone reads it from a screen.
    let picture = style.width == nil ? nil : made.qr.map(QRText.code)
    let words = """
      Pairing code for a new \(TextStyle.line(made.role)): \(TextStyle.line(made.code))
      It works once, within 10 minutes. On the other device, type:

        \(TextStyle.line(made.command))
      """
    return [picture, words, made.hint.map(TextStyle.line)].compactMap { $0 }
      .joined(separator: "\n\n")
  }
}

/// `cospool sync`
struct SyncCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Control the connection to the server.",
    discussion: """
      EXAMPLES
        cospool sync off                   work offline; all commands still work
        cospool sync on
        cospool sync now                   try at once instead of waiting
        cospool sync wait --timeout 30     exit code 75 if it takes longer
      """,
    subcommands: [On.self, Off.self, Now.self, Wait.self])

  @OptionGroup var options: GlobalOptions

  struct On: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "on",
      abstract: "Turn sync on; stays on after a restart.",
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
      commandName: "off",
      abstract: "Turn sync off; stays off after a restart.",
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
      commandName: "now",
      abstract: "Connect now instead of waiting for the next attempt.",
      discussion: """
        EXAMPLES
          cospool sync now
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.post, ["sync", "now"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let sync = try answer.decoded(SyncAnswer.self)
      return sync.state == .connected ? "connected" : "connecting"
    }
  }

  struct Wait: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "wait",
      abstract: "Wait until the server has all changes of this device, and their files.",
      discussion: """
        EXAMPLES
          cospool sync wait --timeout 30
          cospool sync wait && sudo poweroff

        If it takes longer, the exit code is 75. If the server refuses a file, the answer says how many
        files of waiting messages are not there, and why.
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
