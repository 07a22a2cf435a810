import ArgumentParser
import Basics
import LocalAPI
import QueueModel

/// `cospool task`
struct TaskCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "task",
    abstract: "Show what the agents do, and answer what they ask.",
    discussion: """
      EXAMPLES
        cospool task list
        cospool task show review
        cospool task watch

      Answer open requests with cospool approve, deny and answer, from any device.
      """,
    subcommands: [List.self, Show.self, Watch.self])

  @OptionGroup var options: GlobalOptions

  struct List: WatchableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the tasks of all sessions.",
      discussion: """
        EXAMPLES
          cospool task list
          cospool task list --watch
          cospool task list --json | jq '.tasks[] | select(.request)'
        """)
    @OptionGroup var watch: WatchOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["tasks"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ActivityText.list(try answer.decoded(TasksAnswer.self).tasks.map(\.state), style: style)
    }
  }

  struct Show: WatchableCommand, SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show one session's task in full.",
      discussion: """
        EXAMPLES
          cospool task show review
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @OptionGroup var watch: WatchOption
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["sessions", session, "task"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ActivityText.show(try answer.decoded(TaskStateAnswer.self).state, style: style)
    }
  }

  struct Watch: WatchableCommand {
    static let configuration = CommandConfiguration(
      commandName: "watch",
      abstract: "Show the tasks, and update them until Ctrl-C.",
      discussion: """
        EXAMPLES
          cospool task watch
        """)
    @OptionGroup var options: GlobalOptions

    var watch: WatchOption {
      var option = WatchOption()
      option.isOn = true
      return option
    }

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["tasks"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ActivityText.list(try answer.decoded(TasksAnswer.self).tasks.map(\.state), style: style)
    }
  }
}

/// A request, and the session whose agent asks.
typealias AskedRequest = (session: SessionID, request: TaskRequest)

/// A command that answers the request of a task.
protocol AnsweringCommand: DaemonCommand {
  /// Replaces the name of a session by its id, and shows a user the request if none was named.
  mutating func lookUp(
    in names: SessionNames, _ tasks: [TaskState], _ environment: Environment) throws
}

extension TaskRequest {
  fileprivate var isQuestion: Bool { if case .question = self { true } else { false } }
}

extension AnsweringCommand {
  /// The id of the session or of the request that a word names. The name of a session means that
  /// session, whether or not its agent asks. A word that names neither stays as it is, for the
  /// daemon to refuse.
  ///
  /// - Throws: `CommandFailure` if several match.
  static func named(
    _ word: String, in names: SessionNames, _ tasks: [TaskState]
  ) throws -> String {
    guard case .none = names.wholeMatch(word) else { return try names.id(of: word) }
    let requests = request(word, in: tasks)
    switch (names.match(word), requests.first) {
    case (_, nil): return try names.id(of: word)
    case (.none, let request?) where requests.count == 1: return request.id.description
    case (let sessions, _):
      let lines =
        requests.map { "  \($0.id.description.prefix(8))  \($0.note)" }
        + sessions.all.map { "  \($0.id)" }
      throw CommandFailure(
        code: "askAmbiguous",
        message: "Several requests and sessions begin with \(word):\n"
          + lines.map(TextStyle.line).joined(separator: "\n"), exitCode: ExitStatus.failed)
    }
  }

  /// The requests whose id is this word, or begins with it.
  static func request(_ word: String, in tasks: [TaskState]) -> [TaskRequest] {
    NameMatch(word, among: tasks.flatMap(\.requests), id: \.id).all
  }

  /// The requests that a user can be asked about here: of the session of this id, or of all. None if
  /// the word names a request, which was shown with its id.
  static func asked(
    _ named: String?, in tasks: [TaskState], _ style: TextStyle,
    where fits: (TaskRequest) -> Bool
  ) -> [AskedRequest] {
    tasks.filter { named == nil || $0.sessionId.rawValue == named }.flatMap { task in
      task.requests.filter { fits($0) && !$0.isAskedAtHost(style) }.map { (task.sessionId, $0) }
    }
  }

  /// The refusal if several requests are open, with the command for each.
  static func several(_ verb: String, _ lines: String) -> CommandFailure {
    CommandFailure(
      code: "askAmbiguous", message: "Several requests are waiting. \(verb) one:\n\(lines)",
      exitCode: ExitStatus.failed)
  }

  /// - Parameter asked: a request or session; nil if there is only one.
  static func request(
    _ verdict: String, _ asked: String?, _ text: String?, digest: ContentHash? = nil
  ) throws -> APIRequest {
    try APIRequest(
      .post, asked.map { ["asks", $0, "answer"] } ?? ["asks", "answer"],
      body: DecisionRequest(verdict: verdict, text: text, digest: digest)
    )
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    let answered = try answer.decoded(AnsweredAnswer.self)
    let what = "\(TextStyle.line(answered.session.rawValue)): \(TextStyle.line(answered.about))"
    guard answered.result == .waiting else { return "\(answered.verdict), \(what)" }
    return style.coloured("kept, \(what)", .yellow)
  }

  func warning(of answer: Answer) -> String? {
    guard (try? answer.decoded(AnsweredAnswer.self))?.result == .waiting else { return nil }
    return
      "cospool: no connection. The answer is sent if the server can be reached within 2 minutes, "
      + "and dropped otherwise. If it does not count, cospool inbox says so."
  }
}

/// `cospool approve`
struct ApproveCommand: AnsweringCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve",
    abstract: "Approve what an agent asks permission for.",
    discussion: """
      EXAMPLES
        cospool approve
        cospool approve review
        cospool approve 3f2a

      Without a name, or with the name of a session, it shows the open request and asks you. Without
      a terminal, or if several requests are open, you need a name. The first answer of all devices
      counts; a later one fails with exit code 5 and shows who was first. An approval cannot carry a
      message: to ask for something else, deny with a remark.

      An approval covers only what was shown. The id of a request, which cospool task show prints,
      never means another request. In a script, the name of a session means the request that is open
      at the start of the command, unless --digest names another. If this device cannot show the
      whole request, it does not approve it, and the exit code is 75.
      """)
  @Argument(help: "A session, or the beginning of a request's id.", completion: .sessions)
  var ask: String?
  @Option(help: "The digest of the request that was shown, as cospool task show --json gives it.")
  var digest: String?
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    if let digest, ContentHash(digest) == nil {
      throw ValidationError("A digest has 64 digits: 0 to 9 and a to f.")
    }
  }

  func request(input: StandardInput) throws -> APIRequest {
    try Self.request("allowed", ask, nil, digest: digest.flatMap { ContentHash($0) })
  }

  mutating func lookUp(
    in names: SessionNames, _ tasks: [TaskState], _ environment: Environment
  ) throws {
    ask = try ask.map { try Self.named($0, in: names, tasks) }
    let asked = Self.asked(ask, in: tasks, environment.style) { !$0.isQuestion }
    if ask == nil {
      ask = try confirmed(of: tasks, in: environment)
    } else if digest == nil, !options.json, environment.confirm != nil, !asked.isEmpty {
      // The name of a session does not say which request its user has seen.
      let session = ask
      ask = try confirmed(of: tasks.filter { $0.sessionId.rawValue == session }, in: environment)
    }
    let named = Self.approvals(in: tasks).filter { asked in
      asked.session.rawValue == ask || asked.request.id.description == ask
    }
    // If a session has several, the daemon names them.
    if digest == nil, named.count == 1 { digest = named.first?.request.digest?.description }
  }

  private static func approvals(
    in tasks: [TaskState]
  ) -> [(session: SessionID, request: ApprovalRequest)] {
    tasks.flatMap { task in
      task.requests.compactMap { request in
        if case .approval(let approval) = request { (task.sessionId, approval) } else { nil }
      }
    }
  }

  /// Shows the only request that waits for approval, and returns its id if the user allows it. Only
  /// a request that this terminal showed is allowed.
  ///
  /// - Throws: `CommandFailure` if none or several wait, if no user can be asked, or if the user
  ///   says no.
  func confirmed(of tasks: [TaskState], in environment: Environment) throws -> String {
    let all = Self.approvals(in: tasks).map { (session: $0, request: TaskRequest.approval($1)) }
    let open = all.filter { !$0.request.isAskedAtHost(environment.style) }
    let found = open.isEmpty ? all : open
    guard let first = found.first else {
      throw CommandFailure(
        code: "askNotFound", message: "No request is waiting for approval.",
        exitCode: ExitStatus.failed)
    }
    let lines = found.map { session, request in
      let quoted = Shell.quoted(String(request.id.description.prefix(8)))
      return ["  cospool approve \(quoted)", "\(session): \(request.note)"].joined(separator: "   ")
    }
    let named = lines.map(TextStyle.line).joined(separator: "\n")
    guard found.count == 1 else { throw Self.several("Name", named) }
    guard let confirm = environment.confirm, !options.json else {
      throw CommandFailure(
        code: "nameNeeded",
        message: "Without a terminal you have to name the request:\n\(named)",
        exitCode: ExitStatus.failed)
    }
    guard !first.request.isCut else {
      throw CommandFailure(
        code: "requestIncomplete",
        message: "Not all of the request is on this device yet. Try again, or answer on the device "
          + "where the agent works.", exitCode: ExitStatus.tryLater)
    }
    let question = ActivityText.question(
      of: first.request, in: first.session, closing: "Allow it?")
    guard confirm(question) else {
      throw CommandFailure(
        code: "notAllowed",
        message: "Not approved; the request is still open. To refuse it: cospool deny "
          + Shell.quoted(String(first.request.id.description.prefix(8))),
        exitCode: ExitStatus.failed)
    }
    return first.request.id.description
  }
}

/// `cospool deny`
struct DenyCommand: AnsweringCommand {
  static let configuration = CommandConfiguration(
    commandName: "deny",
    abstract: "Deny what an agent asks permission for.",
    discussion: """
      EXAMPLES
        cospool deny
        cospool deny review --remark "use the test database"
      """)
  @Argument(help: "A session, or the beginning of a request's id.", completion: .sessions)
  var ask: String?
  @Option(help: "The reason, for the agent.") var remark: String?
  @OptionGroup var options: GlobalOptions

  mutating func lookUp(
    in names: SessionNames, _ tasks: [TaskState], _ environment: Environment
  ) throws {
    ask = try ask.map { try Self.named($0, in: names, tasks) }
  }

  func request(input: StandardInput) throws -> APIRequest {
    try Self.request("denied", ask, remark)
  }
}

/// `cospool answer`
struct AnswerCommand: AnsweringCommand {
  static let configuration = CommandConfiguration(
    commandName: "answer",
    abstract: "Answer an agent's question.",
    discussion: """
      EXAMPLES
        cospool answer "the second one"
        cospool answer review "the second one"
        cospool answer review --cancel

      Without a name it answers the one open question. At a terminal, it first shows the question
      and asks you, unless you name it by its id, which cospool task show prints.
      """)
  @Argument(
    help: ArgumentHelp(
      "A session or the beginning of a request's id, and the text.", valueName: "words"))
  var words: [String] = []
  @Flag(help: "Do not answer; the agent stops.") var cancel = false
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    guard cancel ? words.count <= 1 : (1...2).contains(words.count) else {
      throw ValidationError("Give the text of the answer: cospool answer [SESSION] TEXT")
    }
  }

  /// - Throws: `CommandFailure` if the only word is the name of what asks: so the answer is
  ///   missing.
  mutating func lookUp(
    in names: SessionNames, _ tasks: [TaskState], _ environment: Environment
  ) throws {
    guard let word = words.first else { return }
    guard cancel || words.count > 1 else {
      let named = names.match(word).all.map(\.id)
      let asks = tasks.contains { named.contains($0.sessionId) && !$0.requests.isEmpty }
      guard !asks, Self.request(word, in: tasks).isEmpty else {
        throw CommandFailure.usage(
          "The text of the answer is missing: cospool answer \(Shell.quoted(word)) TEXT.")
      }
      return try confirm(tasks, environment)
    }
    words[0] = try Self.named(word, in: names, tasks)
    try confirm(tasks, environment)
  }

  /// Shows the question that a session asks, and names it by its id: the user may have seen another
  /// one.
  ///
  /// - Throws: `CommandFailure` if there are several, or the user says no.
  private mutating func confirm(_ tasks: [TaskState], _ environment: Environment) throws {
    guard !cancel, !options.json, let confirm = environment.confirm, let text = words.last else {
      return
    }
    let named = words.count == 2 ? words[0] : nil
    let asked = Self.asked(named, in: tasks, environment.style, where: \.isQuestion)
    guard let first = asked.first else { return }
    guard asked.count == 1 else {
      let lines = asked.map { session, request in
        let quoted = Shell.quoted(String(request.id.description.prefix(8)))
        let words = ["  cospool answer \(quoted) TEXT", "\(session): \(request.note)"]
        return TextStyle.line(words.joined(separator: "   "))
      }
      throw Self.several("Answer", lines.joined(separator: "\n"))
    }
    let question = ActivityText.question(
      of: first.request, in: first.session, closing: TextStyle.line("Answer it: \(text)?"))
    guard confirm(question) else {
      throw CommandFailure(
        code: "notAnswered", message: "Not answered; the question is still open.",
        exitCode: ExitStatus.failed)
    }
    words = [first.request.id.description, text]
  }

  func request(input: StandardInput) throws -> APIRequest {
    guard !cancel else { return try Self.request("cancelled", words.first, nil) }
    let asked = words.count == 2 ? words.first : nil
    return try Self.request("answered", asked, words.last)
  }
}
