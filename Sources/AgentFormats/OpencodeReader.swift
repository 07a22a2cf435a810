/// Reads opencode's event stream (`GET /event`, server-sent events) for one of its sessions and
/// those of its subagents, and the answer to a prompt (`POST /session/ID/message`).
///
/// The stream is documented as best effort: it shows activity, and never decides. The assistant's
/// message decides: in the answer or, if the connection broke, in the list of messages.
package struct OpencodeReader: Sendable {
  private var lines = LineSplitter(bytesMax: AgentLimits.lineBytesMax)
  private var tools = RunningTools()
  private let session: String
  private var data: [UInt8] = []
  private var own: [UInt8] = []
  /// The sessions of its subagents, and of theirs. Each works in its own session, and its
  /// permission requests block the turn.
  package private(set) var children: Set<String>

  /// - Parameters:
  ///   - session: opencode's id; events of other sessions are skipped.
  ///   - children: the known sessions of its subagents.
  package init(session: String, children: Set<String> = []) {
    self.session = session
    self.children = children
  }

  /// Reads the event stream as it arrives.
  package mutating func received(_ bytes: some Sequence<UInt8>) -> [AgentEvent] {
    lines.received(bytes).flatMap { field($0) }
  }

  /// The events of this turn since the last call, one on each line. The stream also has events of
  /// other sessions, which are not the turn's output.
  package mutating func takeOwn() -> [UInt8] {
    defer { own = [] }
    return own
  }

  /// The turn has ended, or the stream broke: no further end of a tool will be reported.
  package mutating func ended() -> [AgentEvent] { tools.endAll() }

  private mutating func field(_ line: [UInt8]) -> [AgentEvent] {
    if line.isEmpty {
      defer { data = [] }
      return data.isEmpty ? [] : events(of: data)
    }
    let name = Array("data:".utf8)
    guard line.starts(with: name) else { return [] }
    var value = line.dropFirst(name.count)
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    guard data.count + value.count < AgentLimits.lineBytesMax else {
      data = []
      return []
    }
    if !data.isEmpty { data.append(UInt8(ascii: "\n")) }
    data += value
    return []
  }

  private mutating func events(of data: [UInt8]) -> [AgentEvent] {
    guard let object = JSONTree(data), let type = object["type"]?.text,
      let properties = object["properties"]
    else { return [] }
    if type == "session.created" || type == "session.updated" { noteChild(properties["info"]) }
    let owner = (properties["sessionID"] ?? properties["part"]?["sessionID"])?.text
    guard let owner, owner == session || children.contains(owner) else { return [] }
    own += data + [UInt8(ascii: "\n")]
    switch type {
    case "message.part.updated":
      return part(properties["part"])
    case "permission.updated", "permission.asked":
      return tools.approvalRequested(
        properties["id"]?.text, tool: (properties["permission"] ?? properties["type"])?.text,
        input: JSONTree(data, isShown: true) == nil
          ? .string(String(decoding: data, as: UTF8.self)) : OpencodeReader.input(properties),
        conversation: owner == session ? nil : owner)
    case "permission.replied":
      return tools.approvalAnswered((properties["requestID"] ?? properties["permissionID"])?.text)
    case "session.status":
      guard properties["status"]?["type"]?.text == "retry" else { return [] }
      return [
        .rateLimited(until: properties["status"]?["next"]?.integer.map(UnixTime.milliseconds))
      ]
    case "session.error":
      return [.problem(OpencodeReader.reason(properties["error"]))]
    case "session.idle":
      return owner == session ? tools.endAll() : []
    default:
      return []
    }
  }

  private mutating func noteChild(_ info: JSONTree?) {
    guard let id = info?["id"]?.text, let parent = info?["parentID"]?.text,
      parent == session || children.contains(parent), children.count < AgentLimits.childrenMax
    else { return }
    children.insert(id)
  }

  /// Properties that name a permission, but do not describe the action.
  private static let names: Set<String> = [
    "id", "sessionID", "messageID", "callID", "permission", "type", "tool", "time", "always",
    "metadata",
  ]

  /// All fields that describe the action. Each tool, and each version, uses its own properties for
  /// that, inside and outside the metadata.
  private static func input(_ properties: JSONTree) -> JSONTree {
    guard case .object(let members) = properties else { return properties }
    var input: [String: JSONTree] = [:]
    if let metadata = members["metadata"] {
      if case .object(let fields) = metadata {
        input = fields
      } else {
        input["metadata"] = metadata
      }
    }
    for (name, value) in members where !names.contains(name) {
      var free = name
      while input[free] != nil { free = "permission.\(free)" }
      input[free] = value
    }
    return .object(input)
  }

  private mutating func part(_ part: JSONTree?) -> [AgentEvent] {
    guard let part, part["type"]?.text == "tool" else { return [] }
    switch part["state"]?["status"]?.text {
    case "pending", "running": return tools.started(part["callID"]?.text, name: part["tool"]?.text)
    case "completed", "error": return tools.ended(part["callID"]?.text)
    default: return []
    }
  }

  private static func reason(_ error: JSONTree?) -> String {
    let reason = (error?["data"]?["message"] ?? error?["message"])?.text ?? error?["name"]?.text
    return (reason ?? "The agent failed.").cut(to: AgentLimits.textBytesMax)
  }
}

extension OpencodeReader {
  /// The outcome of a turn, from an assistant's message; nil until the message is complete.
  ///
  /// - Parameter message: `{info, parts}`, as `POST /session/ID/message` answers and `GET
  ///   /session/ID/message` lists.
  package static func verdict(of message: JSONTree) -> AgentVerdict? {
    guard let info = message["info"], info["role"]?.text == "assistant" else { return nil }
    if let error = info["error"], error != .null {
      let text = reason(error)
      if error["data"]?["statusCode"]?.integer == 429 {
        return .tryLater(reason: text, until: nil)
      }
      return .failed(
        reason: error["name"]?.text == "MessageAbortedError" ? "The agent was aborted." : text)
    }
    guard let completed = info["time"]?["completed"], completed.integer != nil else { return nil }
    let texts = (message["parts"]?.elements ?? []).filter { $0["type"]?.text == "text" }
    return .succeeded(
      summary: (texts.last?["text"]?.text ?? "").cut(to: AgentLimits.textBytesMax))
  }

  /// The verdict on the prompt with this id, from a list of messages; nil until there is one.
  package static func verdict(onPrompt id: String, in messages: JSONTree) -> AgentVerdict? {
    let answers = messages.elements.filter {
      $0["info"]?["role"]?.text == "assistant" && $0["info"]?["parentID"]?.text == id
    }
    // A turn can have several messages, one after each round of tools; the last one ends it.
    guard let last = answers.last else { return nil }
    if last["info"]?["finish"]?.text == "tool-calls" { return nil }
    return verdict(of: last)
  }
}
