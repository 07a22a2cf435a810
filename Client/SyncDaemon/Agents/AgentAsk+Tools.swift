import AgentFormats
import QueueModel

extension AgentAsk {
  /// UTF-8 bytes of a request's line.
  private static let lineBytesMax = 200

  /// Leave to use a tool. Every field of the input is shown by name, or the request says that it is cut.
  static func approval(ofTool name: String, _ input: JSONTree) -> AgentAsk {
    let shown = ToolInput(input)
    let details = shown.details
    let room = lineBytesMax - shown.remainder.utf8.count
    return .approval(
      toolName: name, summary: shown.subject.cutWithMark(toUTF8Bytes: room) + shown.remainder,
      details: details.cutWithMark(toUTF8Bytes: Limits.taskDetailsBytesMax),
      isCut: details.utf8.count > Limits.taskDetailsBytesMax)
  }
}
