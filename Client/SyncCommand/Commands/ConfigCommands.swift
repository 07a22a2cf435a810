import ArgumentParser
import Basics
import LocalAPI

/// `cospool config`
struct ConfigCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Show and change the settings of this device.",
    discussion: """
      EXAMPLES
        cospool config list                       values in effect, and their sources
        cospool config set maxQueueSize 20
        cospool config set queueEnabled on        show the thread queue
        cospool config unset maxQueueSize         back to the default
        cospool config check                      is config.json valid? with line and reason
        cospool config check other.json
        cospool config reload                     apply what you edited by hand

      A flag of cospoold overrides an environment variable, which overrides config.json in the
      data directory, which overrides the default.
      """,
    subcommands: [
      List.self, Get.self, Set.self, Unset.self, Check.self, Reload.self,
    ])

  @OptionGroup var options: GlobalOptions

  struct List: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List every setting: values in effect, and their sources.",
      discussion: """
        EXAMPLES
          cospool config list
          cospool config list --json
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["settings"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      SettingText.list(try answer.decoded(SettingsAnswer.self), style: style)
    }
  }

  struct Get: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "get",
      abstract: "Show the value of a setting.",
      discussion: """
        EXAMPLES
          cospool config get maxQueueSize
        """)
    @Argument(help: "The setting.", completion: .settings) var name: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["settings", name])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      TextStyle.line(try answer.decoded(SettingAnswer.self).shownValue)
    }
  }

  struct Set: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Set a setting in config.json.",
      discussion: """
        EXAMPLES
          cospool config set maxQueueSize 20
          cospool config set autoRemoveOnView on
        """)
    @Argument(help: "The setting.", completion: .settings) var name: String
    @Argument(help: "Its value.") var value: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.put, ["settings", name], body: SettingRequest(value: .string(value)))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      SettingText.one(try answer.decoded(SettingAnswer.self))
    }

    func warning(of answer: Answer) -> String? { SettingText.warning(of: answer) }
  }

  struct Unset: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "unset",
      abstract: "Remove a setting from config.json.",
      discussion: """
        EXAMPLES
          cospool config unset maxQueueSize
        """)
    @Argument(help: "The setting.", completion: .settings) var name: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["settings", name])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      SettingText.one(try answer.decoded(SettingAnswer.self))
    }

    func warning(of answer: Answer) -> String? { SettingText.warning(of: answer) }
  }

  struct Check: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Check config.json, or another settings file, for errors.",
      discussion: """
        EXAMPLES
          cospool config check
          cospool config check other.json

        Without a daemon, use cospoold --check-config. If something is wrong, the exit code is 1.
        """)
    @Argument(
      help: ArgumentHelp(
        "The file; - reads stdin. Default: the daemon's config.json.", valueName: "file"))
    var file: String?
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      var request = APIRequest(.post, ["settings", "check"])
      if let file {
        let text = try DocumentFile.read(file, or: input)
        // An empty value would mean the daemon's own file.
        request.body = text.isEmpty ? " " : text
      }
      return request
    }

    func received(_ answer: Answer) throws {
      let check = try answer.decoded(SettingsCheckAnswer.self)
      guard !check.valid else { return }
      throw CommandFailure(
        code: "invalidSettings",
        message: check.faults.map { TextStyle.line($0.message) }.joined(separator: "\n"),
        exitCode: ExitStatus.failed)
    }

    func text(of answer: Answer, style: TextStyle) throws -> String { "valid" }
  }

  struct Reload: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "reload",
      abstract: "Make the daemon read config.json again.",
      discussion: """
        EXAMPLES
          cospool config reload
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["settings", "reload"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try "reloaded\n" + SettingText.list(answer.decoded(SettingsAnswer.self), style: style)
    }
  }
}

extension SettingAnswer {
  var shownValue: String {
    switch value {
    case .integer(let number)?: "\(number)"
    case .bool(let isOn)?: isOn ? "on" : "off"
    case .string(let text)?: text
    case .null?, .number?, .array?, .object?, nil: "-"
    }
  }

  /// The source of the value, in words.
  var source: String {
    switch origin {
    case "file": line.map { "config.json, line \($0)" } ?? "config.json"
    case "environment": environmentVariable
    default: origin
    }
  }
}

enum SettingText {
  static func list(_ answer: SettingsAnswer, style: TextStyle) -> String {
    var table = TextTable(["SETTING", "VALUE", "FROM", "WHAT IT IS"])
    table.rows = answer.settings.map { setting in
      [
        .init(setting.name), .init(setting.shownValue, .bold),
        .init(setting.source, setting.origin == "default" ? .dim : nil),
        .init(setting.summary, .dim),
      ]
    }
    return table.text(style: style)
  }

  static func one(_ setting: SettingAnswer) -> String {
    "\(setting.name) is \(TextStyle.line(setting.shownValue)) (\(setting.source))"
  }

  /// Why the new value has no effect, has no effect yet, or could not be used.
  static func warning(of answer: Answer) -> String? {
    guard let setting = try? answer.decoded(SettingAnswer.self) else { return nil }
    if setting.overridden != nil {
      return "cospool: \(setting.source) overrides config.json, so the change has no effect yet."
    }
    if let warning = setting.warning { return "cospool: \(TextStyle.line(warning))" }
    guard !setting.appliesAtOnce else { return nil }
    return "cospool: This takes effect at the next start of cospoold."
  }
}
