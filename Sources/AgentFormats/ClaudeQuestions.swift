/// The questions that Claude Code asks its user with its question tool.
///
/// For the agent it is a tool that needs permission, but it waits for an answer: it takes a
/// permission without one as an empty answer.
package struct ClaudeQuestions: Hashable, Sendable {
  package static let toolName = "AskUserQuestion"

  /// The questions, in order.
  package var questions: [String]
  /// The choices, if there is one question with a single choice.
  package var options: [String]

  /// Reads the tool's input; nil if it asks nothing.
  package init?(_ input: JSONTree?) {
    let asked = (input?["questions"]?.elements ?? []).filter { $0["question"]?.text != nil }
    questions = asked.compactMap { $0["question"]?.text }
    guard let first = asked.first else { return nil }
    let isChoice = asked.count == 1 && first["multiSelect"]?.flag != true
    options = isChoice ? (first["options"]?.elements ?? []).compactMap { $0["label"]?.text } : []
  }

  /// For users, one question on each line.
  package var text: String { questions.joined(separator: "\n") }

  /// The tool's input with an answer to all questions.
  package static func answered(_ input: JSONTree, with text: String) -> JSONTree {
    guard case .object(var members) = input, let asked = ClaudeQuestions(input) else {
      return input
    }
    members["answers"] = .object(
      Dictionary(asked.questions.map { ($0, .string(text)) }, uniquingKeysWith: { $1 }))
    return .object(members)
  }
}
