import Basics
import Platform

/// One request to the daemon's local API.
struct APIRequest: Equatable, Sendable {
  enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  var method: Method
  /// Percent-encoded, below `/v1/`.
  var path: String
  /// JSON with sorted keys.
  var body: String?
  /// How long the daemon may take.
  var timeoutSeconds = APIRequest.timeoutSecondsDefault

  static let timeoutSecondsDefault: Double = 60
  /// For whole workspaces and queues: a large one on a slow disk takes long.
  static let documentTimeoutSeconds: Double = 600

  /// Puts a request together; `path` holds the components, not encoded yet.
  init(_ method: Method, _ path: [String]) {
    self.method = method
    self.path = path.map { ASCII.percentEncoded($0) }.joined(separator: "/")
  }

  init(_ method: Method, _ path: [String], body: some Encodable) throws {
    self.init(method, path)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.body = String(decoding: try encoder.encode(body), as: UTF8.self)
  }

  /// The same with fields after a question mark; fields without a value are omitted.
  init(_ method: Method, _ path: [String], query: [(name: String, value: String?)]) {
    self.init(method, path)
    let fields = query.compactMap { field in
      field.value.map { "\(field.name)=\(ASCII.percentEncoded($0))" }
    }
    if !fields.isEmpty { self.path += "?" + fields.joined(separator: "&") }
  }

  /// Whether a component of the path is empty, for example because a script's variable was empty.
  var hasEmptyPart: Bool {
    path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
      .contains(where: \.isEmpty)
  }
}

/// The daemon's answer: the JSON as it arrived.
struct Answer: Equatable, Sendable {
  var json: Data
  /// How far the daemon's best known time, which is the server's, is ahead of this process's clock.
  var secondsAhead = 0.0

  /// Answers are equal if the daemon says the same, whenever that is.
  static func == (left: Answer, right: Answer) -> Bool { left.json == right.json }

  /// The style with the daemon's time, from which ages are counted.
  func timed(_ style: TextStyle) -> TextStyle {
    var style = style
    style.now += secondsAhead
    return style
  }

  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    do {
      return try JSONDecoder().decode(type, from: json)
    } catch {
      throw CommandFailure(
        code: "unexpectedAnswer",
        message:
          "The daemon's answer cannot be read (\(error)). Check that cospool and cospoold have "
          + "the same version.", exitCode: ExitStatus.failed)
    }
  }
}

/// Why a command failed: the text for the user, and the exit code of the process.
struct CommandFailure: Error, Equatable, Codable {
  var code: String
  var message: String
  var exitCode: Int32
  var candidates: [String]?

  static func usage(_ message: String) -> CommandFailure {
    CommandFailure(code: "usage", message: message, exitCode: ExitStatus.usage)
  }

  /// For users, on stderr; it may contain names of devices and sessions.
  var text: String {
    let more =
      code == "queueFull" ? "\nTo raise the limit: cospool config set maxQueueSize NUMBER" : ""
    return "cospool: \(TextStyle.block(message))\(more)"
  }

  /// For scripts, on stderr: the same shape as the daemon's error answers.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(["error": self]) else { return text }
    return TextStyle.json(String(decoding: data, as: UTF8.self))
  }
}
