/// A prompt that Claude Code may take for one of its own commands: it begins with a slash.
///
/// A prompt with anything before the slash is text. A prompt that begins like a path (`/etc/hosts
/// is wrong`) is text, too, and does not name a command. Only the program knows which names are
/// commands.
struct ClaudeCommand: Hashable, Sendable {
  /// The effect of a command on the conversation, as the program reports it.
  enum Change: Hashable, Sendable {
    case compacted
    /// A new conversation begins.
    case cleared

    /// For users; the program reports no text.
    var summary: String {
      switch self {
      case .compacted: "Compacted."
      case .cleared: "A new conversation begins."
      }
    }
  }

  /// The program's name for the model in messages that it writes itself.
  static let noModel = "<synthetic>"
  /// Commands whose success shows only as a change to the conversation.
  static let changing: Set<String> = ["compact", "clear", "new", "reset"]
  /// Commands that take a text.
  private static let takingText: Set<String> = ["/compact", "/rename"]
  /// Bytes of the program's answer that a reason names.
  static let answerBytesMax = 200

  /// Whether the user meant the command: it is alone, has one argument, or takes a text. Anything
  /// else that begins with its name is a sentence.
  var isMeant: Bool

  /// Returns nil for a prompt that is always text.
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
