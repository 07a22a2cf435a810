/// The agent's reports about the tool calls of a turn. A request for permission names its call, and
/// the call's fields may have arrived before it.
struct ACPToolCalls: Sendable {
  private struct Call: Sendable {
    var members: [String: JSONTree] = [:]
    var bytes = 0
    /// Whether everything that was reported about it can be shown to a user.
    var isWhole = true
  }

  /// The maximum bytes of the lines whose fields are kept.
  static let bytesMax = 2 * AgentLimits.lineBytesMax
  /// Fields that describe no action.
  private static let names: Set<String> = ["toolCallId", "status", "sessionUpdate"]

  private var calls: [String: Call] = [:]
  private var bytes = 0
  /// Whether calls were omitted because there were too many.
  private var isFull = false

  /// Records an update of a call.
  ///
  /// - Parameter line: the line that contained it.
  mutating func note(_ update: JSONTree, in line: [UInt8]) {
    guard case .object(let members) = update, let id = update["toolCallId"]?.text else { return }
    guard !ACPToolCalls.hasEnded(update) else {
      bytes -= calls.removeValue(forKey: id)?.bytes ?? 0
      return
    }
    guard calls[id] != nil || calls.count < AgentLimits.runningToolsMax else {
      isFull = true
      return
    }
    var call = calls[id] ?? Call()
    if JSONTree(line, isShown: true) == nil || bytes + line.count > ACPToolCalls.bytesMax {
      call.isWhole = false
      call.members = [:]
      bytes -= call.bytes
      call.bytes = 0
    }
    if call.isWhole {
      call.members.merge(members.filter { $0.value != .null }) { $1 }
      call.bytes += line.count
      bytes += line.count
    }
    calls[id] = call
  }

  static func hasEnded(_ update: JSONTree) -> Bool {
    ["completed", "failed"].contains(update["status"]?.text)
  }

  /// The content of a request for permission: the category of the tool, and every field of the call
  /// by name, those of the raw input first. nil if it cannot be shown to a user completely.
  ///
  /// - Parameter line: the line that contained the request.
  func wanted(_ update: JSONTree, in line: [UInt8]) -> (tool: String, input: JSONTree)? {
    guard JSONTree(line, isShown: true) != nil, case .object(let named) = update,
      let id = update["toolCallId"]?.text
    else { return nil }
    let known = calls[id]
    guard known?.isWhole ?? !isFull else { return nil }
    var members = (known?.members ?? [:]).merging(named.filter { $0.value != .null }) { $1 }
    for name in ACPToolCalls.names { members[name] = nil }
    let kind = members.removeValue(forKey: "kind")
    var input: [String: JSONTree] = [:]
    if case .object(let raw) = members["rawInput"] {
      members["rawInput"] = nil
      input = raw
    }
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      var free = name
      while input[free] != nil { free = "toolCall.\(free)" }
      input[free] = value
    }
    return (kind?.text ?? "tool", .object(input))
  }
}
