import AgentFormats

/// The options with which an MCP server was started.
struct MCPSurroundings: Sendable {
  /// The default wait of a permission request.
  static let patienceSecondsDefault: Double = 300

  /// The session for calls that name none.
  var session: String?
  /// How long a permission request waits for an answer.
  var patienceSeconds = MCPSurroundings.patienceSecondsDefault
}

/// A tool that an agent can call: its arguments, and the request that it makes.
struct MCPTool: Sendable {
  var name: String
  /// The description for the agent that has to choose it.
  var description: String
  var fields: [Field]
  /// Whether it changes something, and therefore takes an idempotency key.
  var changes: Bool
  /// Whether it may wait for a user: other calls are answered meanwhile. It changes nothing.
  var waits = false
  /// Whether the agent gets the answer as structured content, too, and not only as a block of text.
  var isStructured = true
  /// - Throws: `CommandFailure` if the arguments are wrong.
  var request: @Sendable (Arguments) throws -> APIRequest
  /// The part of the daemon's answer that the agent receives.
  var answer: @Sendable (JSONTree, Arguments) -> JSONTree = { answer, _ in answer }

  struct Field: Sendable {
    enum Kind: Sendable {
      case text, number, flag, texts, object
      case choice([String])
    }

    var name: String
    var kind: Kind
    var description: String
    var isRequired = false
  }

  /// The name of the argument that makes repetitions safe.
  static let key = "idempotency_key"
  static let keyBytesMax = 256

  /// The form that `tools/list` shows.
  var listing: JSONTree {
    var properties: [String: JSONTree] = [:]
    for field in allFields { properties[field.name] = field.schema }
    return .object([
      "name": .string(name), "description": .string(description),
      "inputSchema": .object([
        "type": "object", "properties": .object(properties), "additionalProperties": false,
        "required": .array(fields.filter(\.isRequired).map { .string($0.name) }),
      ]),
      "annotations": .object([
        "readOnlyHint": .boolean(!changes), "openWorldHint": false,
      ]),
    ])
  }

  /// Whether the key counts for ever: the id of the message derives from it.
  private var isLasting: Bool { name == "queue_add" }

  var allFields: [Field] {
    guard changes else { return fields }
    return fields + [
      Field(
        name: MCPTool.key, kind: .text,
        description:
          "A text that you choose. While this server runs, a repeated call with the same key "
          + "returns the first answer again, and has no further effect."
          + (isLasting ? " A restart changes nothing about that." : ""))
    ]
  }
}

extension MCPTool.Field {
  var schema: JSONTree {
    let note = JSONTree.string(description)
    return switch kind {
    case .text: .object(["type": "string", "description": note])
    case .number: .object(["type": "integer", "description": note])
    case .flag: .object(["type": "boolean", "description": note])
    case .texts:
      .object(["type": "array", "items": .object(["type": "string"]), "description": note])
    case .object: .object(["type": "object", "description": note])
    case .choice(let names):
      .object([
        "type": "string", "enum": .array(names.map { .string($0) }), "description": note,
      ])
    }
  }

  /// Whether a value is of the kind.
  func fits(_ value: JSONTree) -> Bool {
    switch (kind, value) {
    case (.text, .string), (.flag, .boolean), (.object, .object): true
    case (.number, .number(let number)): Int64(exactly: number) != nil
    case (.number, .whole): true
    case (.texts, .array(let elements)):
      elements.allSatisfy { if case .string = $0 { true } else { false } }
    case (.choice(let names), .string(let name)): names.contains(name)
    default: false
    }
  }
}

extension MCPTool {
  /// Arguments that fit the fields.
  struct Arguments: Sendable {
    private var values: [String: JSONTree]
    private var surroundings: MCPSurroundings

    /// - Throws: `CommandFailure` that says which argument is wrong.
    init(_ given: JSONTree?, of tool: MCPTool, in surroundings: MCPSurroundings) throws {
      self.surroundings = surroundings
      switch given {
      case nil, .null: values = [:]
      case .object(let members): values = members
      default: throw CommandFailure.usage("The arguments must be an object.")
      }
      for (name, value) in values.sorted(by: { $0.key < $1.key }) {
        guard let field = tool.allFields.first(where: { $0.name == name }) else {
          throw CommandFailure.usage(
            "\(tool.name) has no argument \"\(name)\": choose from "
              + tool.allFields.map(\.name).joined(separator: ", ") + ".")
        }
        guard field.fits(value) else {
          throw CommandFailure.usage(
            "\"\(name)\" of \(tool.name): \(value.line) is not a valid value. See the "
              + "tool's schema.")
        }
      }
      for field in tool.fields where field.isRequired && values[field.name] == nil {
        throw CommandFailure.usage("\(tool.name) needs \"\(field.name)\".")
      }
    }

    func text(_ name: String) -> String? { values[name]?.text }
    func number(_ name: String) -> Int? { values[name]?.integer.flatMap { Int(exactly: $0) } }
    func tree(_ name: String) -> JSONTree? { values[name] }
    var patienceSeconds: Double { surroundings.patienceSeconds }
    func flag(_ name: String) -> Bool { values[name]?.flag ?? false }
    func texts(_ name: String) -> [String] { values[name]?.elements.compactMap(\.text) ?? [] }

    /// A required text.
    func needed(_ name: String) throws -> String {
      guard let text = text(name) else {
        throw CommandFailure.usage("The argument \"\(name)\" is missing.")
      }
      return text
    }

    /// The named session, otherwise the one for which the server was started.
    func sessionID() throws -> String {
      guard let id = text("session") ?? surroundings.session else {
        throw CommandFailure.usage(
          "Name the session: this server has no default session, because COSPOOL_SESSION is "
            + "not set.")
      }
      return id
    }

    /// The key by which a repeated call is recognized; nil if there is none.
    func idempotencyKey() throws -> String? {
      guard let key = text(MCPTool.key) else { return nil }
      guard (1...MCPTool.keyBytesMax).contains(key.utf8.count) else {
        throw CommandFailure.usage(
          "\(MCPTool.key) must have 1 to \(MCPTool.keyBytesMax) bytes.")
      }
      return key
    }

    /// The text that distinguishes two calls.
    var fingerprint: String { JSONTree.object(values).line }
  }
}
