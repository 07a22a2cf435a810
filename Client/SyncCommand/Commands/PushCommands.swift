import ArgumentParser
import Basics
import LocalAPI
import PushNotices
import QueueModel

/// `cospool push`
struct PushCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Choose where the server pushes notifications.",
    discussion: """
      EXAMPLES
        cospool push add ntfy https://ntfy.sh/my-secret-topic --me
        cospool push add webhook https://example.org/hook --secret-file FILE
        cospool push add apns TOKEN --topic org.example.app --environment production
        cospool push list
        cospool push test ID
        cospool push remove ID
        cospool config set notifyDetails on

      An address belongs to this device. Nothing is pushed there while the device receives its
      notifications itself, or while you are looking at it. With --me the address is yours, for example your
      phone: it gets the notifications of all devices, if you have looked at none of them for
      notifyMeAfter seconds. A push only names the kind of event, unless notifyDetails is on.
      For --me, the settings of the device that added an address last apply.
      """,
    subcommands: [Add.self, List.self, Test.self, Remove.self])

  @OptionGroup var options: GlobalOptions

  struct List: PushAddressesCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the addresses, without secrets, and whether they work.",
      discussion: """
        EXAMPLES
          cospool push list
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["push", "targets"])
    }
  }

  struct Test: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "test",
      abstract: "Send a test push now, and show the result.",
      discussion: """
        EXAMPLES
          cospool push test 0f8fad5b-d9cb-469f-a165-70867728950e
        """)
    @Argument(help: "The address's id, as `cospool push list` shows it.") var id: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["push", "targets", id, "test"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      "delivered: its provider accepted it"
    }
  }

  struct Remove: PushAddressesCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Stop pushing to an address.",
      discussion: """
        EXAMPLES
          cospool push remove 0f8fad5b-d9cb-469f-a165-70867728950e
        """)
    @Argument(help: "The address's id, as `cospool push list` shows it.") var id: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["push", "targets", id])
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Start pushing to an address.",
      discussion: """
        EXAMPLES
          cospool push add ntfy - < address
          cospool push add webhook https://example.org/hook --secret-file FILE
          cospool push add apns TOKEN --topic org.example.app --environment production

        Give --id to replace an address. With --me the address is yours and not this device's: it
        gets pushes while you look at no other device. It is removed with the access of the device that
        added it. To keep it, first add it with the same --id on another device.
        """,
      subcommands: [APNs.self, Ntfy.self, Webhook.self])

    @OptionGroup var options: GlobalOptions
  }
}

/// A command whose answer is the list of addresses.
protocol PushAddressesCommand: DaemonCommand {}

extension PushAddressesCommand {
  func text(of answer: Answer, style: TextStyle) throws -> String {
    PushText.list(try answer.decoded(PushTargetsAnswer.self), style: style)
  }
}

/// The options of all commands that add an address.
struct PushTargetOption: ParsableArguments {
  @Option(
    help: ArgumentHelp("The address to replace. Default: add a new one.", valueName: "uuid"))
  var id: String?
  @Flag(
    name: .customLong("me"),
    help:
      "The address is yours, not this device's: it gets pushes while you look at no other device.")
  var isMine = false

  func request(kind: String, address: String) throws -> APIRequest {
    var generator = SystemRandomNumberGenerator()
    let id = self.id ?? PushTargetID(randomUsing: &generator).description
    return try APIRequest(
      .put, ["push", "targets", id],
      body: PushTargetRequest(kind: kind, address: address, person: isMine ? true : nil))
  }
}

extension PushCommands.Add {
  struct Ntfy: PushAddressesCommand {
    static let configuration = CommandConfiguration(
      commandName: "ntfy", abstract: "Add a topic of an ntfy server.",
      discussion: """
        EXAMPLES
          echo "https://ntfy.sh/$TOPIC" | cospool push add ntfy - --me
          cospool push add ntfy https://ntfy.example.org/topic --token-file FILE

        Anyone who knows the topic can read it: choose one that is hard to guess. Other accounts here can
        read the arguments of a command while it runs, so pass a secret topic on standard input.
        """)
    @Argument(help: "https://server/topic; - reads it from stdin.") var url: String
    @Option(
      help: ArgumentHelp(
        "The file with the server's access token, if it needs one; - reads stdin.",
        valueName: "file"))
    var tokenFile: String?
    @OptionGroup var target: PushTargetOption
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard url == "-" || Ntfy.isAddress(url) else { throw ValidationError(Ntfy.advice) }
      guard url != "-" || tokenFile != "-" else {
        throw ValidationError(
          "Only one of the two can come from standard input. Give a file for the token.")
      }
    }

    private static let advice = "An ntfy topic is https://SERVER/TOPIC."

    private static func isAddress(_ url: String) -> Bool {
      url.hasPrefix("https://") || url.hasPrefix("http://")
    }

    func request(input: StandardInput) throws -> APIRequest {
      let address = url == "-" ? try SecretFile.read("-", or: input) : url
      guard Ntfy.isAddress(address) else { throw CommandFailure.usage(Ntfy.advice) }
      let token = try tokenFile.map { try SecretFile.read($0, or: input) }
      return try target.request(
        kind: "ntfy", address: "ntfy+" + address + (token.map { "#" + $0 } ?? ""))
    }
  }

  struct Webhook: PushAddressesCommand {
    static let configuration = CommandConfiguration(
      commandName: "webhook", abstract: "Add an address that receives signed posts.",
      discussion: """
        EXAMPLES
          cospool push add webhook https://example.org/hook --secret-file FILE
          pass show hook | cospool push add webhook https://example.org/hook --secret-file -

        The secret, at least 16 bytes, is the key that signs the posts. It is never an argument:
        other accounts of this machine can read those while a command runs.
        """)
    @Argument(help: "The address.") var url: String
    @Option(
      help: ArgumentHelp(
        "The file with the key of the signature; - reads stdin.", valueName: "file"))
    var secretFile: String
    @OptionGroup var target: PushTargetOption
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
        throw ValidationError("A webhook's address must start with https://.")
      }
    }

    func request(input: StandardInput) throws -> APIRequest {
      let secret = try SecretFile.read(secretFile, or: input)
      guard secret.utf8.count >= WebhookAddress.secretBytesMin else {
        throw CommandFailure.usage(
          "The secret needs at least \(WebhookAddress.secretBytesMin) bytes.")
      }
      return try target.request(kind: "webhook", address: "webhook+" + url + "#" + secret)
    }
  }

  struct APNs: PushAddressesCommand {
    static let configuration = CommandConfiguration(
      commandName: "apns", abstract: "Add an app on an Apple device.",
      discussion: """
        EXAMPLES
          cospool push add apns 8a…2f --topic org.example.app --environment production
          cospool push add apns 8a…2f --topic org.example.app --environment development --live

        A device's token, the token that starts its Live Activities, and the activities' own tokens
        are separate targets.
        """)

    enum Environment: String, ExpressibleByArgument, CaseIterable {
      case development, production
    }

    @Argument(help: "The token, in hexadecimal digits.") var token: String
    @Option(help: "The app's bundle id.") var topic: String
    @Option(help: "Which of Apple's two services knows the token.") var environment: Environment
    @Flag(name: .customLong("live"), help: "The token is a Live Activity's.") var isLive = false
    @Flag(
      name: .customLong("live-start"), help: "The token starts Live Activities.")
    var startsLive = false
    @Option(
      name: [.customShort("s"), .customLong("session")],
      help: ArgumentHelp(
        "With --live: the session that the activity shows.", valueName: "session"),
      completion: .sessions)
    var session: String?
    @OptionGroup var target: PushTargetOption
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard session == nil || isLive else {
        throw ValidationError("--session needs --live. Other tokens are not for one session.")
      }
      guard !(target.isMine && (isLive || startsLive)) else {
        throw ValidationError("A Live Activity's token belongs to a device. Leave out --me.")
      }
      guard !(isLive && startsLive) else {
        throw ValidationError("--live and --live-start are different tokens: give one of them.")
      }
    }

    func request(input: StandardInput) throws -> APIRequest {
      let purpose = startsLive ? "live-activity-start" : isLive ? "live-activity" : "alert"
      return try target.request(
        kind: "apns",
        address: "apns://\(topic)/\(token)?environment=\(environment.rawValue)&purpose=\(purpose)"
          + (session.map { "&session=" + ASCII.percentEncoded($0) } ?? ""))
    }
  }
}

/// A secret that is not an argument.
enum SecretFile {
  /// The text of the file, or of standard input if the path is "-", without white space around it.
  static func read(_ path: String, or input: StandardInput) throws -> String {
    try DocumentFile.read(path, or: input).trimmedOfWhitespace()
  }
}

enum PushText {
  static func list(_ answer: PushTargetsAnswer, style: TextStyle) -> String {
    guard !answer.targets.isEmpty else { return "no push targets" }
    var table = TextTable([
      .init(title: "ID", isName: true), .init(title: "FOR", goes: 2), .init(title: "KIND"),
      .init(title: "ADDRESS"),
      .init(title: "PUSHED", isNumber: true, goes: 1), .init(title: "STATE"),
    ])
    table.rows = answer.targets.map { target in
      let state = target.valid ? "valid" : "invalid"
      return [
        .init(target.id.description), .init(target.person ? "you" : "this device"),
        .init(target.kind), .init(target.address),
        .init(target.deliveredAt.map { style.age($0) } ?? "never"),
        .init(target.reason.isEmpty ? state : "\(state): \(target.reason)"),
      ]
    }
    return table.text(style: style)
  }
}
