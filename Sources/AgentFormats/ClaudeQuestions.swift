/// What Claude Code asks its person with its question tool.
///
/// To the agent it is a tool that needs leave, but what it waits for is an answer: leave without one
/// is read as an empty answer.
package struct ClaudeQuestions: Hashable, Sendable {
  package static let toolName = "AskUserQuestion"

  /// The questions, in order.
  package var questions: [String]
  /// What can be chosen from, if there is one question that wants one choice.
  package var options: [String]

  /// Reads the tool's input; nil if it asks nothing.
  package init?(_ input: JSONTree?) {
    let asked = (input?["questions"]?.elements ?? []).filter { $0["question"]?.text != nil }
    questions = asked.compactMap { $0["question"]?.text }
    guard let first = asked.first else { return nil }
    let isChoice = asked.count == 1 && first["multiSelect"]?.flag != true
    options = isChoice ? (first["options"]?.elements ?? []).compactMap { $0["label"]?.text } : []
  }

  /// For people, one question on each line.
  package var text: String { questions.joined(separator: "\n") }

  /// The tool's input with an answer to all of it.
  package static func answered(_ input: JSONTree, with text: String) -> JSONTree {
    guard case .object(var members) = input, let asked = ClaudeQuestions(input) else {
      return input
    }
    members["answers"] = .object(
      Dictionary(asked.questions.map { ($0, .string(text)) }, uniquingKeysWith: { $1 }))
    return .object(members)
  }
}
