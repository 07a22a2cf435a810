/// The agent's reports about the tool calls of a turn. A request for permission names its call, and
/// the call's fields may have arrived before it.
struct ACPToolCalls: Sendable {
  private struct Call: Sendable {
    var members: [String: JSONTree] = [:]
    var bytes = 0
    /// Whether a user can be shown everything that was reported about it.
    var isWhole = true
  }

  /// A call as it is shown to a user.
  struct Shown: Hashable, Sendable {
    var id: String
    /// Every field of the call.
    var members: [String: JSONTree]

    /// The result of an update to it.
    ///
    /// - Parameter line: the line that the update came in.
    func change(by update: JSONTree, in line: [UInt8]) -> Change {
      guard case .object(let named) = update, named["toolCallId"]?.text == id else { return .none }
      guard JSONTree(line, isShown: true) != nil else { return .unseen }
      let fields = ACPToolCalls.fields(of: named)
      guard fields.contains(where: { members[$0.key] != $0.value }) else { return .none }
      return .other(Wanted(Shown(id: id, members: members.merging(fields) { $1 })))
    }
  }

  /// The result of an update to a call that a user is asked about.
  enum Change: Hashable, Sendable {
    case none
    /// It is now another call.
    case other(Wanted)
    /// It is now something that cannot be shown to a user.
    case unseen
  }

  /// The subject of a request for permission.
  struct Wanted: Hashable, Sendable {
    /// The category of the tool.
    var tool: String
    /// Every field of the call by name, those of the raw input first.
    var input: JSONTree
    var call: Shown

    init(_ call: Shown) {
      self.call = call
      var members = call.members
      tool = members.removeValue(forKey: "kind")?.text ?? "tool"
      var fields: [String: JSONTree] = [:]
      if case .object(let raw) = members["rawInput"] {
        members["rawInput"] = nil
        fields = raw
      }
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        var free = name
        while fields[free] != nil { free = "toolCall.\(free)" }
        fields[free] = value
      }
      input = .object(fields)
    }
  }

  /// Bytes of lines whose fields are remembered.
  static let bytesMax = 2 * AgentLimits.lineBytesMax
  /// Fields that describe no action.
  private static let names: Set<String> = ["toolCallId", "status", "sessionUpdate"]

  private var calls: [String: Call] = [:]
  private var bytes = 0
  /// Whether calls were omitted because there were too many.
  private var isFull = false

  /// The fields that describe the action.
  private static func fields(of members: [String: JSONTree]) -> [String: JSONTree] {
    members.filter { $0.value != .null && !names.contains($0.key) }
  }

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
      call.members.merge(ACPToolCalls.fields(of: members)) { $1 }
      call.bytes += line.count
      bytes += line.count
    }
    calls[id] = call
  }

  static func hasEnded(_ update: JSONTree) -> Bool {
    ["completed", "failed"].contains(update["status"]?.text)
  }

  /// The subject of a request for permission; nil if it cannot be shown to a user in full. The
  /// request's fields for its call apply from then on.
  ///
  /// - Parameter line: the line that the request came in.
  mutating func wanted(_ update: JSONTree, in line: [UInt8]) -> Wanted? {
    guard case .object(var named) = update, let id = named["toolCallId"]?.text,
      calls[id] != nil || !isFull
    else { return nil }
    // The call has not ended, whatever the request's status says.
    named["status"] = nil
    note(.object(named), in: line)
    guard let call = calls[id], call.isWhole else { return nil }
    return Wanted(Shown(id: id, members: call.members))
  }
}
