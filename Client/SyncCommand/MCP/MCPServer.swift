import AgentFormats

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The Model Context Protocol over lines of JSON-RPC: lines in, lines out.
///
/// It serves tools alone. Requests are answered one after another, in their order.
struct MCPServer: Sendable {
  /// The revisions of the protocol that it speaks, the newest first. They differ in nothing that
  /// these tools need.
  static let versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
  /// Bytes of one request.
  static let lineBytesMax = 8 << 20
  /// Answers that are kept for their keys.
  static let keysMax = 1_000

  private enum Code: Int {
    case parseError = -32_700
    case invalidRequest = -32_600
    case methodNotFound = -32_601
    case invalidParams = -32_602
  }

  private struct Kept: Sendable {
    var fingerprint: String
    var answer: JSONTree
  }

  /// Asks the daemon.
  private let ask: @Sendable (APIRequest) async throws -> Answer
  private let session: String?
  private var kept: [String: Kept] = [:]
  private var keys: [String] = []

  init(session: String?, ask: @escaping @Sendable (APIRequest) async throws -> Answer) {
    self.session = session
    self.ask = ask
  }

  /// The answer to one line; nil where none is due.
  mutating func answer(to line: [UInt8]) async -> String? {
    guard !line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else {
      return nil
    }
    guard let request = JSONTree(line) else {
      return MCPServer.error(.parseError, "This is no JSON.", id: .null)
    }
    guard case .object(let members) = request, request["jsonrpc"]?.text == "2.0" else {
      return MCPServer.error(.invalidRequest, "A JSON-RPC 2.0 request is due.", id: .null)
    }
    guard let method = request["method"]?.text else {
      // An answer to something: nothing was asked.
      if members["result"] != nil || members["error"] != nil { return nil }
      return MCPServer.error(.invalidRequest, "A method is missing.", id: members["id"] ?? .null)
    }
    // A notification, which is never answered.
    guard let id = members["id"] else { return nil }
    switch id {
    case .string, .number: break
    default: return MCPServer.error(.invalidRequest, "This is no id.", id: .null)
    }
    switch method {
    case "initialize": return MCPServer.result(initialized(request["params"]), id: id)
    case "ping": return MCPServer.result(.object([:]), id: id)
    case "tools/list":
      return MCPServer.result(
        .object(["tools": .array(MCPTools.all.map(\.listing))]), id: id)
    case "tools/call": return await call(request["params"], id: id)
    default:
      return MCPServer.error(.methodNotFound, "There is no method \(method).", id: id)
    }
  }

  private func initialized(_ parameters: JSONTree?) -> JSONTree {
    let wanted = parameters?["protocolVersion"]?.text ?? ""
    return .object([
      "protocolVersion": .string(
        MCPServer.versions.contains(wanted) ? wanted : MCPServer.versions[0]),
      "capabilities": .object(["tools": .object(["listChanged": false])]),
      "serverInfo": .object(["name": "cospool", "version": .string(Cospool.version)]),
      "instructions": """
      Queues of prompts for coding agents, the same on every device of their person. What you queue \
      runs later, one after another, when its session is free.
      """,
    ])
  }

  private mutating func call(_ parameters: JSONTree?, id: JSONTree) async -> String {
    let name = parameters?["name"]?.text ?? ""
    guard let tool = MCPTools.all.first(where: { $0.name == name }) else {
      return MCPServer.error(.invalidParams, "There is no tool \"\(name)\".", id: id)
    }
    do {
      let arguments = try MCPTool.Arguments(
        parameters?["arguments"], of: tool, session: session)
      let key = try arguments.idempotencyKey()
      let fingerprint = "\(name) \(arguments.fingerprint)"
      if let key, let earlier = kept[key] {
        guard earlier.fingerprint == fingerprint else {
          throw CommandFailure.usage(
            "This \(MCPTool.key) was used for another call. Use a fresh one.")
        }
        return MCPServer.result(earlier.answer, id: id)
      }
      let answer = try await ask(try tool.request(arguments))
      guard let tree = JSONTree(Array(answer.json)) else {
        return MCPServer.result(
          MCPServer.content(of: "The daemon's answer is no JSON.", isError: true), id: id)
      }
      let shown = tool.answer(tree, arguments)
      var result = MCPServer.content(of: shown.line, isError: false)
      if case .object(var members) = result, case .object = shown {
        members["structuredContent"] = shown
        result = .object(members)
      }
      keep(result, key, fingerprint)
      return MCPServer.result(result, id: id)
    } catch {
      // What the tool could not do is for the agent to read, not a fault of the protocol.
      let failure = CommandRunner.failure(of: error)
      let text = "\(failure.message) (\(failure.code))"
      return MCPServer.result(MCPServer.content(of: text, isError: true), id: id)
    }
  }

  /// Failures are not kept: the next try may do better.
  private mutating func keep(_ answer: JSONTree, _ key: String?, _ fingerprint: String) {
    guard let key else { return }
    if keys.count == MCPServer.keysMax { kept[keys.removeFirst()] = nil }
    keys.append(key)
    kept[key] = Kept(fingerprint: fingerprint, answer: answer)
  }

  private static func content(of text: String, isError: Bool) -> JSONTree {
    .object([
      "content": .array([.object(["type": "text", "text": .string(text)])]),
      "isError": .boolean(isError),
    ])
  }

  private static func result(_ result: JSONTree, id: JSONTree) -> String {
    JSONTree.object(["jsonrpc": "2.0", "id": id, "result": result]).line
  }

  private static func error(_ code: Code, _ message: String, id: JSONTree) -> String {
    JSONTree.object([
      "jsonrpc": "2.0", "id": id,
      "error": .object(["code": .number(Double(code.rawValue)), "message": .string(message)]),
    ]).line
  }
}
