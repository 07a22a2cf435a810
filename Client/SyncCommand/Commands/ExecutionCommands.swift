import ArgumentParser
import Basics
import LocalAPI
import QueueModel

extension SessionCommands {
  struct Host: SessionNaming {
    static let configuration = CommandConfiguration(
      abstract: "Say on which device a session's agent runs.",
      discussion: """
        EXAMPLES
          cospool session host review this
          cospool session host review desk
          cospool session host review --none

        DEVICE is "this", a name, or an id from cospool status. That device's daemon runs
        the session's messages, if it has an agent: cospool config set agent command. Another
        device does so only when somebody says "this" there, unless its setting hosts is any.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Argument(help: "The device.", completion: .devices) var device: String?
    @Flag(help: "On no device: messages wait.") var none = false
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
      var text = "\(session) runs on \(host.name.map(TextStyle.line) ?? "no device")"
      if host.asksThere == true {
        text +=
          ", if it may: say there cospool session host "
          + "\(TextStyle.line(Shell.quoted(host.session.rawValue))) this"
      }
      guard let warning = host.warning else { return text }
      return text + "\n" + style.coloured("warning: \(TextStyle.line(warning))", .yellow)
    }
  }
}

extension QueueCommands {
  struct Retry: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Let a message run again that failed, from any device.",
      discussion: """
        EXAMPLES
          cospool queue retry 3f2a

        The queue stands still while its first message waits for this, for skip, edit or cancel.
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

  struct Skip: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Go on without a message that failed, from any device.",
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
      abstract: "Stop the agent of a session, on the device where it runs.",
      discussion: """
        EXAMPLES
          cospool queue stop -s review

        Its message counts as cancelled; restore brings it back.
        """)
    @OptionGroup var session: SessionOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["sessions", session.id, "stop"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try answer.decoded(StopAnswer.self).stopped ? "stopping" : "no agent is at work"
    }
  }

  struct Hold: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Keep a message from starting while you edit it.",
      discussion: """
        EXAMPLES
          cospool queue hold 3f2a
          cospool queue hold 3f2a --seconds 300
          cospool queue hold 3f2a --release

        Hold it again before the time is over to hold it longer.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Option(help: ArgumentHelp("For so long, at most 3600.", valueName: "n")) var seconds = 60
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
