/// One message of the Agent Client Protocol, version 1: JSON-RPC 2.0, one object in a line.
package enum ACPMessage: Hashable, Sendable {
  case request(id: JSONTree, method: String, params: JSONTree)
  case notification(method: String, params: JSONTree)
  /// - Parameter error: nil if there is a result.
  case response(id: JSONTree, result: JSONTree, error: JSONTree?)

  /// The error codes that this side sends.
  package enum ErrorCode: Int {
    case parseError = -32_700
    case invalidRequest = -32_600
    case methodNotFound = -32_601
    case invalidParameters = -32_602
    case internalError = -32_603
    case resourceNotFound = -32_002
    case cancelled = -32_800
  }

  /// The agent wants its user to log in.
  static let authenticationRequired: Int64 = -32_000

  /// Bytes of a request's id.
  static let idBytesMax = 256

  /// Returns nil if the line is not a message.
  package init?(_ line: [UInt8]) {
    guard let tree = JSONTree(line), case .object = tree else { return nil }
    let params = tree["params"] ?? .object([:])
    guard let id = tree["id"] else {
      guard let method = tree["method"]?.text else { return nil }
      self = .notification(method: method, params: params)
      return
    }
    if let method = tree["method"]?.text {
      self = .request(id: id, method: method, params: params)
    } else if let error = tree["error"], error != .null {
      self = .response(id: id, result: .null, error: error)
    } else if let result = tree["result"] {
      self = .response(id: id, result: result, error: nil)
    } else {
      return nil
    }
  }

  /// The message as a line, without its end.
  package var line: String {
    var members: [String: JSONTree] = ["jsonrpc": "2.0"]
    switch self {
    case .request(let id, let method, let params):
      members["id"] = id
      members["method"] = .string(method)
      members["params"] = params
    case .notification(let method, let params):
      members["method"] = .string(method)
      members["params"] = params
    case .response(let id, let result, let error):
      members["id"] = id
      if let error { members["error"] = error } else { members["result"] = result }
    }
    return JSONTree.object(members).line
  }

  package static func refusal(
    _ id: JSONTree, _ code: ErrorCode, _ message: String
  ) -> ACPMessage {
    .response(
      id: id, result: .null,
      error: ["code": .number(Double(code.rawValue)), "message": .string(message)])
  }
}
