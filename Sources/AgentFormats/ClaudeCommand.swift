/// A prompt that Claude Code may take for a command of its own: it begins with a slash.
///
/// With anything in front it is text. What begins like a path (`/etc/hosts is wrong`) is
/// text, too, and so is the name of no command: which names are commands, the program alone knows.
struct ClaudeCommand: Hashable, Sendable {
  /// What a command did to the conversation, as the program says.
  enum Change: Hashable, Sendable {
    case compacted
    /// A new conversation begins.
    case cleared

    /// For people; the program says nothing.
    var summary: String {
      switch self {
      case .compacted: "Compacted."
      case .cleared: "A new conversation begins."
      }
    }
  }

  /// The program's own name for the model that wrote what it says itself.
  static let noModel = "<synthetic>"
  /// Commands whose success it tells by a change of the conversation.
  static let changing: Set<String> = ["compact", "clear", "new", "reset"]
  /// Commands that take a text.
  private static let takingText: Set<String> = ["/compact", "/rename"]
  /// Bytes of the program's answer that a reason names.
  static let answerBytesMax = 200

  /// Whether a person meant the command: it stands alone, with one argument, or takes a text. Whatever
  /// else begins with its name is a sentence.
  var isMeant: Bool

  /// nil for a prompt that is text in any case.
  init?(_ prompt: String) {
    guard prompt.hasPrefix("/") else { return nil }
    let words = prompt.split(maxSplits: 2, whereSeparator: \.isWhitespace)
    isMeant =
      words.count <= 2 || words.first.map { Self.takingText.contains(String($0)) } ?? false
  }

  /// The text of an `assistant` line.
  static func words(of object: JSONTree) -> String {
    (object["message"]?["content"]?.elements ?? []).compactMap { $0["text"]?.text }
      .joined(separator: "\n").cut(to: AgentLimits.textBytesMax)
  }
}
