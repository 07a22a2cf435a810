import AgentFormats
import QueueModel

extension AgentAsk {
  /// UTF-8 bytes of a request's line.
  private static let lineBytesMax = 200

  /// Permission to use a tool, with every field of its input by name.
  static func approval(ofTool name: String, _ input: JSONTree) -> AgentAsk {
    let shown = ToolInput(input)
    let room = lineBytesMax - shown.remainder.utf8.count
    return .approval(
      toolName: name, summary: shown.subject.cutWithMark(toUTF8Bytes: room) + shown.remainder,
      details: shown.details)
  }
}
