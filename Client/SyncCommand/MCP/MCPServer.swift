import AgentFormats
import Basics
import Platform

/// The Model Context Protocol over lines of JSON-RPC: lines in, lines out.
///
/// It serves only tools. Requests are answered one after another, in their order, except for calls
/// that wait for a user: those are answered when they are done, and can be cancelled.
struct MCPServer: Sendable {
  /// The revisions of the protocol that it speaks, the newest first. For these tools, they do not
  /// differ. 2025-03-26 is omitted, because it requires batches of requests.
  static let versions = ["2025-11-25", "2025-06-18", "2024-11-05"]
  /// The maximum bytes of one request.
  static let lineBytesMax = 8 << 20
  /// The number of answers that are kept for their keys.
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
  private let surroundings: MCPSurroundings
  /// The waiting calls.
  let waiting = MCPWaiting()
  private var kept: [String: Kept] = [:]
  private var keys: [String] = []

  init(
    _ surroundings: MCPSurroundings, ask: @escaping @Sendable (APIRequest) async throws -> Answer
  ) {
    self.surroundings = surroundings
    self.ask = ask
  }

  /// The consequence of one line.
  enum Step: Sendable {
    /// The answer to write; nil if there is none.
    case answer(String?)
    /// Awaited in parallel with later lines; nil if the call was cancelled.
    case wait(@Sendable () async -> String?)
  }

  /// The answer to one line; nil if it needs none. Waits as long as necessary.
  mutating func answer(to line: [UInt8]) async -> String? {
    switch await step(line) {
    case .answer(let answer): answer
    case .wait(let work): await work()
    }
  }

  mutating func step(_ line: [UInt8]) async -> Step {
    guard let request = JSONTree(line, isShown: true), let call = waitingCall(of: request) else {
      return .answer(await answerAtOnce(to: line))
    }
    let (tool, id) = call
    guard let ends = waiting.begin(id) else {
      return .answer(
        MCPServer.error(
          .invalidRequest,
          "A call with this id is waiting already, or \(MCPWaiting.callsMax) calls are "
            + "waiting. Cancel one first.",
          id: id))
    }
    let (ask, surroundings, waiting) = (ask, surroundings, waiting)
    return .wait {
      let answer = await MCPServer.first(of: ends) {
        await MCPServer.call(tool, request["params"], in: surroundings, ask: ask, id: id)
      }
      // A cancelled call is not answered, as the protocol requires.
      return waiting.end(id) ? answer : nil
    }
  }

  /// The tool and the id of a call that waits for a user.
  private func waitingCall(of request: JSONTree) -> (tool: MCPTool, id: JSONTree)? {
    guard request["jsonrpc"]?.text == "2.0", request["method"]?.text == "tools/call",
      let id = request["id"],
      let tool = MCPTools.all.first(where: { $0.name == request["params"]?["name"]?.text }),
      tool.waits
    else { return nil }
    switch id {
    case .string, .number, .whole: return (tool, id)
    default: return nil
    }
  }

  /// The result of `work`; nil if `ends` ended first.
  private static func first(
    of ends: AsyncStream<Void>, _ work: @escaping @Sendable () async -> String
  ) async -> String? {
    await withTaskGroup(of: String?.self) { group in
      group.addTask { await work() }
      group.addTask {
        for await _ in ends {}
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  private mutating func answerAtOnce(to line: [UInt8]) async -> String? {
    guard !line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else {
      return nil
    }
    guard let request = JSONTree(line, isShown: true) else {
      return MCPServer.error(.parseError, "The message is not valid JSON.", id: .null)
    }
    guard case .object(let members) = request, request["jsonrpc"]?.text == "2.0" else {
      return MCPServer.error(
        .invalidRequest, "The message is not a JSON-RPC 2.0 request.", id: .null)
    }
    guard let method = request["method"]?.text else {
      // An answer, although nothing was asked.
      if members["result"] != nil || members["error"] != nil { return nil }
      return MCPServer.error(
        .invalidRequest, "The request has no method.", id: members["id"] ?? .null)
    }
    // A notification, which is never answered.
    guard let id = members["id"] else {
      if method == "notifications/cancelled", let taken = request["params"]?["requestId"] {
        waiting.cancel(taken)
      }
      return nil
    }
    switch id {
    case .string, .number, .whole: break
    default:
      return MCPServer.error(.invalidRequest, "The id is neither a string nor a number.", id: .null)
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
      "serverInfo": .object(["name": "cospool", "version": .string(Version.number)]),
      "instructions": """
      Queues of prompts for coding agents, the same on all of the user's devices. Prompts that you \
      queue run later, one after another, when their session is free.
      """,
    ])
  }

  private mutating func call(_ parameters: JSONTree?, id: JSONTree) async -> String {
    let name = parameters?["name"]?.text ?? ""
    guard let tool = MCPTools.all.first(where: { $0.name == name }) else {
      return MCPServer.error(
        .invalidParams, "There is no tool \"\(name)\". Call tools/list for the names.", id: id)
    }
    do {
      let arguments = try MCPTool.Arguments(
        parameters?["arguments"], of: tool, in: surroundings)
      let key = try arguments.idempotencyKey()
      let fingerprint = "\(name) \(arguments.fingerprint)"
      if let key, let earlier = kept[key] {
        guard earlier.fingerprint == fingerprint else {
          throw CommandFailure.usage(
            "This \(MCPTool.key) was used for another call. Use a new one.")
        }
        return MCPServer.result(earlier.answer, id: id)
      }
      let result = try await MCPServer.result(of: tool, arguments, ask: ask)
      keep(result, key, fingerprint)
      return MCPServer.result(result, id: id)
    } catch {
      return MCPServer.failed(error, id: id)
    }
  }

  /// A call that the server does not handle.
  private static func call(
    _ tool: MCPTool, _ parameters: JSONTree?, in surroundings: MCPSurroundings,
    ask: @Sendable (APIRequest) async throws -> Answer, id: JSONTree
  ) async -> String {
    do {
      let arguments = try MCPTool.Arguments(
        parameters?["arguments"], of: tool, in: surroundings)
      return MCPServer.result(try await result(of: tool, arguments, ask: ask), id: id)
    } catch {
      return failed(error, id: id)
    }
  }

  private static func result(
    of tool: MCPTool, _ arguments: MCPTool.Arguments,
    ask: @Sendable (APIRequest) async throws -> Answer
  ) async throws -> JSONTree {
    let answer = try await ask(try tool.request(arguments))
    guard let tree = JSONTree(Array(answer.json)) else {
      throw CommandFailure(
        code: "unexpectedAnswer", message: "The daemon's answer is not valid JSON.",
        exitCode: ExitStatus.failed)
    }
    let shown = tool.answer(tree, arguments)
    let result = MCPServer.content(of: shown.line, isError: false)
    guard tool.isStructured, case .object(var members) = result, case .object = shown else {
      return result
    }
    members["structuredContent"] = shown
    return .object(members)
  }

  /// The agent reads a tool's failure; it is not a fault of the protocol.
  private static func failed(_ error: any Error, id: JSONTree) -> String {
    let failure = CommandRunner.failure(of: error)
    let text = "\(failure.message) (\(failure.code))"
    return MCPServer.result(MCPServer.content(of: text, isError: true), id: id)
  }

  /// Failures are not kept: the next attempt may succeed.
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
