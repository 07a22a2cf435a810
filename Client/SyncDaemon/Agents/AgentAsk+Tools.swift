import AgentFormats
import QueueModel

extension AgentAsk {
  /// UTF-8 bytes of a request's line.
  private static let lineBytesMax = 200

  /// Permission to use a tool, with every field of its input by name.
  ///
  /// - Parameter choice: what a yes chooses, if that is more than a yes to this once: it comes first.
  static func approval(
    ofTool name: String, _ input: JSONTree, choosing choice: String? = nil
  ) -> AgentAsk {
    let shown = ToolInput(input)
    let subject = (choice.map { "\($0): " } ?? "") + shown.subject
    let room = lineBytesMax - shown.remainder.utf8.count
    return .approval(
      toolName: name, summary: subject.cutWithMark(toUTF8Bytes: room) + shown.remainder,
      details: shown.details)
  }
}
