import ArgumentParser
import Basics
import LocalAPI
import QueueModel

extension SessionCommands {
  struct Host: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "host",
      abstract: "Choose the device that runs a session.",
      discussion: """
        EXAMPLES
          cospool session host review this
          cospool session host review desk
          cospool session host review --none

        DEVICE is "this", a name, or an id from cospool status. That device's daemon runs
        the session's messages, if it has an agent: cospool config set agent command. Another
        device does so only after you confirm it there, unless its setting hosts is any.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Argument(help: "The device.", completion: .devices) var device: String?
    @Flag(help: "Assign no device: messages wait.") var none = false
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard (device == nil) == none else {
        throw ValidationError("Give a device, or --none.")
      }
    }

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.put, ["sessions", session, "host"], body: HostRequest(device: device))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let host = try answer.decoded(HostAnswer.self)
      let session = TextStyle.line(host.session.rawValue)
      let verb = host.asksThere == true ? "will run" : "runs"
      var text =
        "\(session) \(verb) on \(host.name.map(TextStyle.line) ?? "no device")"
      if host.asksThere == true {
        text +=
          " once you confirm there: cospool session host "
          + "\(TextStyle.line(Shell.quoted(host.session.rawValue))) this"
      }
      guard let warning = host.warning else { return text }
      return text + "\n" + style.coloured("warning: \(TextStyle.line(warning))", .yellow)
    }
  }
}

extension SessionCommands {
  struct TakeOver: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "take-over",
      abstract: "Take a session over from a device that is away.",
      discussion: """
        EXAMPLES
          cospool session take-over review
          cospool session take-over review desk

        DEVICE (default: this one) runs the session from now on. The result of the interrupted turn is
        unknown, so you decide: cospool queue retry or skip. The other device stops its agent when it
        is back. If it is connected, use cospool queue stop instead.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Argument(help: "The device.", completion: .devices) var device: String = "this"
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["sessions", session, "take-over"],
        body: TakeOverRequest(device: device))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let host = try answer.decoded(HostAnswer.self)
      let end =
        host.cancelled == true
        ? "the interrupted message counts as cancelled"
        : "the result of the interrupted turn is unknown"
      return "\(TextStyle.line(host.session.rawValue)) runs on "
        + "\(host.name.map(TextStyle.line) ?? "no device"); \(end)"
    }
  }

  struct OnLostServer: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "on-lost-server",
      abstract: "Set what a session's agent does when its host loses the server.",
      discussion: """
        EXAMPLES
          cospool session on-lost-server deploys stop

        "finish" (the default) lets the turn end, and starts nothing new until the server is back.
        "stop" stops the agent 20 seconds after the server's last answer.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Argument(
      help: "finish or stop.", completion: .list(LostServerPolicy.allCases.map(\.rawValue)))
    var policy: String
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard LostServerPolicy(rawValue: policy) != nil else {
        throw ValidationError("Choose finish or stop.")
      }
    }

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .put, ["sessions", session, "on-lost-server"],
        body: LostServerRequest(onLostServer: LostServerPolicy(rawValue: policy) ?? .finish))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer,
        done: policy == "stop"
          ? "20 seconds after its host loses the server, the agent stops:"
          : "if its host loses the server, the agent ends its turn:",
        unchanged: "unchanged: it is \(policy) already", session: session)
    }
  }

  struct OnMerge: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "on-merge",
      abstract: "Set what a session does with messages whose texts were merged.",
      discussion: """
        EXAMPLES
          cospool session on-merge notes run

        If two devices save texts of one message independently, "wait" (the default) keeps
        the message waiting until you choose a text: cospool queue resolve. "run" starts it
        with the merged text, unless that is blank.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Argument(help: "wait or run.", completion: .list(MergePolicy.allCases.map(\.rawValue)))
    var policy: String
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard MergePolicy(rawValue: policy) != nil else {
        throw ValidationError("Choose wait or run.")
      }
    }

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .put, ["sessions", session, "on-merge"],
        body: MergeRequest(onMerge: MergePolicy(rawValue: policy) ?? .wait))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer,
        done: policy == "run"
          ? "messages with merged texts start:"
          : "messages with merged texts wait for your choice:",
        unchanged: "unchanged: it is \(policy) already", session: session)
    }
  }
}

extension QueueCommands {
  struct Retry: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry",
      abstract: "Run a failed message again, from any device.",
      discussion: """
        EXAMPLES
          cospool queue retry 3f2a

        The queue is blocked until you retry, skip, edit or cancel its first message.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["messages", message, "retry"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "retried")
    }
  }

  struct Start: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "start",
      abstract: "Start a waiting message before its time, from any device.",
      discussion: """
        EXAMPLES
          cospool queue start 3f2a

        A message whose agent reached a limit waits until the limit ends. Start it if the limit
        has ended earlier, or if another agent runs it now. A message for later, or one that waits
        for other messages, is in line again.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["messages", message, "start"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let why = try answer.decoded(ReceiptAnswer.self).what
      return try ReceiptText.text(
        of: answer, done: "due now:",
        unchanged: TextStyle.line(
          why ?? "unchanged: it waits neither for a time nor for other messages"))
    }
  }

  struct Later: LaterCommand {
    static let configuration = CommandConfiguration(
      commandName: "later",
      abstract: "Make a message wait for a time, from any device.",
      discussion: """
        EXAMPLES
          cospool queue later 3f2a --at 02:00
          cospool queue later 3f2a --at "2026-12-01 09:30"
          cospool queue later 3f2a --in 3h

        The message keeps its place; the messages behind it can start before its time comes. After
        that, it starts when the agent is free. cospool queue start ID starts it earlier.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @OptionGroup var time: LaterOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      if !time.isGiven { throw ValidationError("Give --at or --in.") }
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .put, ["messages", message, "later"], body: LaterRequest(later: try time.later() ?? ""))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let later = try time.later().map(style.localTime) ?? "its time"
      return try ReceiptText.text(
        of: answer, done: "not before \(later):", unchanged: "it waits for that time already")
    }
  }

  struct After: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "after",
      abstract: "Let a message wait for other messages, from any device.",
      discussion: """
        EXAMPLES
          cospool queue after 3f2a 77b1
          cospool queue after 3f2a 77b1,c0de

        It starts when all of them have succeeded; they may be in other sessions. The message keeps
        its place, and the messages behind it start meanwhile. If one of them fails or is cancelled,
        it waits for you: cospool queue start ID starts it.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Argument(
      help: ArgumentHelp("The messages before it, with commas between them.", valueName: "ids"),
      completion: .messages)
    var needs: NeedNames
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .put, ["messages", message, "needs"], body: NeedsRequest(needs: needs.names))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer, done: "starts after them:", unchanged: "it waits for them already")
    }
  }

  struct Skip: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "skip",
      abstract: "Skip a failed message, from any device.",
      discussion: """
        EXAMPLES
          cospool queue skip 3f2a
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["messages", message, "skip"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "skipped")
    }
  }

  struct Stop: SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "stop",
      abstract: "Stop a session's agent, from any device.",
      discussion: """
        EXAMPLES
          cospool queue stop -s review

        Its message counts as cancelled; cospool queue restore restores it. If another device runs
        the agent, that device stops it within seconds, or when it is back.
        """)
    @OptionGroup var session: SessionOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["sessions", session.id, "stop"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let stop = try answer.decoded(StopAnswer.self)
      return stop.stopping(in: session.id)
        ?? "no agent is running" + (stop.note.map { ". " + TextStyle.line($0) } ?? "")
    }
  }

  struct Hold: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "hold",
      abstract: "Keep a message from starting while you edit it.",
      discussion: """
        EXAMPLES
          cospool queue hold 3f2a
          cospool queue hold 3f2a --seconds 300
          cospool queue hold 3f2a --release

        To hold it longer, hold it again before the time ends.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Option(help: ArgumentHelp("The number of seconds, at most 3600.", valueName: "n"))
    var seconds = 60
    @Flag(help: "Let it start again.") var release = false
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      guard !release else { return APIRequest(.delete, ["messages", message, "hold"]) }
      return try APIRequest(
        .put, ["messages", message, "hold"], body: HoldRequest(seconds: seconds))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: release ? "released" : "held for \(seconds) seconds:")
    }
  }
}

extension StopAnswer {
  /// The turn that stops, and on which device; nil if none does.
  func stopping(in session: String) -> String? {
    guard stopped else { return nil }
    let stopping = "stopping" + (message.map { " " + ReceiptText.named([$0]) } ?? "")
    guard let device = device.map(TextStyle.line) else { return stopping }
    return awaySince == nil
      ? "\(stopping) on \(device)"
      : "\(stopping): \(device) is away. It stops when it is back. To continue without it: cospool session "
        + "take-over \(Shell.quoted(session))"
  }
}
