import ArgumentParser
import Basics
import LocalAPI
import Platform
import QueueModel

/// A command that names sessions. A user may use the id, the name, or the beginning of either; the
/// daemon accepts only ids.
protocol SessionNaming: DaemonCommand {
  /// Replaces the user's words by ids.
  mutating func lookUp(in names: SessionNames) throws
}

/// The session that a command is about.
struct SessionOption: ParsableArguments {
  @Option(
    name: [.customShort("s"), .customLong("session")],
    help: ArgumentHelp(
      "The session: its id, its name, or the beginning of either. Default: $COSPOOL_SESSION, or "
        + "the session of this folder.", valueName: "session"), completion: .sessions)
  var name: String?

  /// Whether the environment or the folder named it, instead of the user who typed the command.
  var isGuessed = false
  /// Whether there is no such session.
  var isUnknown = false

  private enum CodingKeys: CodingKey {
    case name
  }

  /// The id in requests to the daemon.
  var id: String { name ?? "" }

  mutating func lookUp(in names: SessionNames) throws {
    isGuessed = name == nil
    name = try names.id(ofOption: name)
    isUnknown = !names.sessions.contains { $0.id.rawValue == id }
  }
}

/// A command that creates its session if there is none, and asks a user first.
protocol SessionMaking: DaemonCommand {
  /// Takes the id of the chosen session.
  ///
  /// - Throws: `CommandFailure` if the user refuses the action.
  mutating func lookUp(in names: SessionNames, _ environment: Environment) throws
}

/// A command about one session, named by an option.
protocol SessionCommand: SessionNaming {
  var session: SessionOption { get set }
}

extension SessionCommand {
  mutating func lookUp(in names: SessionNames) throws { try session.lookUp(in: names) }
}

/// The sessions that the daemon knows, to find one by a user's words.
struct SessionNames: Sendable {
  var sessions: [SessionAnswer]
  /// The sessions of terminals that were closed.
  var closed: Set<SessionID> = []
  /// The default of the session option, which precedes the folder's.
  var named: String?
  /// The working directory.
  var folder: String

  /// The id of the session that a user named; a text that names no session stays as it is, for the
  /// daemon to refuse.
  ///
  /// - Throws: `CommandFailure` if it is empty, or names several.
  func id(of text: String) throws -> String {
    guard !text.isEmpty else { throw CommandFailure.usage("The name of the session is empty.") }
    switch match(text) {
    case .one(let session): return session.id.rawValue
    case .none: return text
    case .several(let sessions): throw ambiguous(text, sessions)
    }
  }

  /// The same for an option that may be omitted.
  func id(ofOption text: String?) throws -> String {
    if let text = text ?? named { return try id(of: text) }
    guard let session = sessionOfFolder else {
      throw CommandFailure.usage(
        "Name the session: -s SESSION. cospool session list shows them; COSPOOL_SESSION and the "
          + "folder of a session's project name one, too.")
    }
    return session.rawValue
  }

  /// The sessions that a word names: by id, by name, or by the beginning of one.
  func match(_ text: String) -> NameMatch<SessionAnswer> { match(text, .ofIDsAndNames) }

  /// The same, but without beginnings.
  func wholeMatch(_ text: String) -> NameMatch<SessionAnswer> { match(text, .none) }

  /// The only session whose id is a UUID that begins with these digits, of which there are four or
  /// more.
  func session(ofDigits text: String) -> SessionAnswer? {
    let digits = text.lowercased()
    guard digits.count >= 4 else { return nil }
    let found = sessions.filter {
      UUID(uuidString: $0.id.rawValue) != nil && $0.id.rawValue.lowercased().hasPrefix(digits)
    }
    return found.count == 1 ? found[0] : nil
  }

  private func match(
    _ text: String, _ beginnings: NameMatch<SessionAnswer>.Beginnings
  ) -> NameMatch<SessionAnswer> {
    let match = NameMatch(
      text, among: sessions, textID: \.id.rawValue, name: \.name, beginnings: beginnings)
    guard case .several(let found) = match, let only = onlyOpen(found) else { return match }
    return .one(only)
  }

  /// The only open one of several: each terminal in a folder leaves a session with the folder's
  /// name.
  private func onlyOpen(_ sessions: [SessionAnswer]) -> SessionAnswer? {
    let open = sessions.filter { !closed.contains($0.id) || $0.waiting > 0 }
    return open.count == 1 ? open[0] : nil
  }

  /// Names that a user may have mistyped: none if the text is short, or if only its number differs.
  func similar(to text: String) -> [String] {
    guard text.count >= 4 else { return [] }
    func letters(_ name: String) -> String { name.lowercased().filter { !$0.isNumber } }
    var seen: Set<String> = []
    return Similarity.closest(to: text, among: sessions.flatMap { [$0.id.rawValue, $0.name] })
      .filter { letters($0) != letters(text) && seen.insert($0).inserted }
  }

  /// The id of the session in which to queue: that of a known one, or of a new one. A mistyped name
  /// must not become a session that is never looked at, and the beginning of a name must not send a
  /// prompt to another session without a question.
  ///
  /// - Parameter isWanted: whether the command says to create it, so that nothing is asked.
  /// - Throws: `CommandFailure` if the name means several, or the user refuses the action.
  func idToQueue(
    in text: String, isWanted: Bool, isJSON: Bool, _ environment: Environment
  ) throws -> String {
    switch wholeMatch(text) {
    case .one(let known): return known.id.rawValue
    case .several(let sessions): throw ambiguous(text, sessions)
    case .none: break
    }
    // Lists show a UUID by its first digits, and people do not choose such names.
    if !isWanted, let known = session(ofDigits: text) { return known.id.rawValue }
    guard !isWanted, let confirm = environment.confirm, !isJSON, case .one(let known) = match(text)
    else {
      try checkNew(text, isWanted: isWanted, isJSON: isJSON, environment)
      return text
    }
    guard confirm(TextStyle.line("There is no session \(text). Queue it in \(known.id)?")) else {
      throw CommandFailure.notMade
    }
    return known.id.rawValue
  }

  /// Asks a user whether to create a session. A script is refused if the name looks mistyped.
  ///
  /// - Parameter isWanted: whether the command says to create it, so that nothing is asked.
  /// - Throws: `CommandFailure` if it is not to be created.
  func checkNew(
    _ text: String, isWanted: Bool, isJSON: Bool, _ environment: Environment
  ) throws {
    guard !text.contains("\u{FFFD}") else {
      throw CommandFailure.usage("The name of the session is not UTF-8.")
    }
    guard !isWanted, !sessions.isEmpty else { return }
    let similar = similar(to: text)
    guard let confirm = environment.confirm, !isJSON else {
      guard !similar.isEmpty else { return }
      throw CommandFailure(
        code: "sessionNotFound",
        message: "No session \(text). Did you mean \(similar.joined(separator: " or "))? "
          + "To create it, add --new.", exitCode: ExitStatus.failed, candidates: similar)
    }
    let known = similar.isEmpty ? "" : " (\(similar.joined(separator: ", ")) exists)"
    guard confirm(TextStyle.line("Create the new session \(text)\(known)?")) else {
      throw CommandFailure.notMade
    }
  }

  /// The only session whose project is this folder, or the nearest folder that contains it.
  private var sessionOfFolder: SessionID? {
    let holding = sessions.filter { session in
      !session.project.isEmpty
        && (folder == session.project || folder.hasPrefix(session.project + "/"))
    }
    guard let nearest = holding.map(\.project).max(by: { $0.utf8.count < $1.utf8.count }) else {
      return nil
    }
    let found = holding.filter { $0.project == nearest }
    return found.count == 1 ? found[0].id : onlyOpen(found)?.id
  }

  /// Shows a unique word for each of them: its name, or the shortest prefix of its id.
  func ambiguous(_ text: String, _ found: [SessionAnswer]) -> CommandFailure {
    let lines = found.prefix(10).map { session in
      var words = [typed(for: session)]
      if session.name != words[0] { words.append(session.name) }
      if !session.project.isEmpty { words.append(session.project) }
      if session.waiting > 0 { words.append("\(session.waiting) waiting") }
      return "  " + words.joined(separator: "  ")
    }
    let more = found.count > 10 ? ["  and \(found.count - 10) more"] : []
    return CommandFailure(
      code: "sessionAmbiguous",
      message: "\"\(text)\" matches several sessions:\n"
        + (lines + more).joined(separator: "\n"),
      exitCode: ExitStatus.failed, candidates: found.map(\.id.rawValue))
  }

  private func typed(for session: SessionAnswer) -> String {
    if wholeMatch(session.name) == .one(session) { return session.name }
    let id = session.id.rawValue
    let lengths = min(4, id.count)...id.count
    return lengths.lazy.map { String(id.prefix($0)) }.first { match($0) == .one(session) } ?? id
  }
}

extension CommandFailure {
  static let notMade = CommandFailure(
    code: "notMade", message: "Nothing was queued. To create the session, add --new.",
    exitCode: ExitStatus.failed)
}
