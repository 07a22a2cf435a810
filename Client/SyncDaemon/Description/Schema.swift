import Basics

/// JSON Schemas, as OpenAPI 3.1 takes them, in the words that the API needs.
enum Schema {
  static func reference(_ name: String) -> JSONValue {
    ["$ref": .string("#/components/schemas/\(name)")]
  }

  static let text: JSONValue = ["type": "string"]
  static let flag: JSONValue = ["type": "boolean"]
  static let count: JSONValue = ["type": "integer", "minimum": 0]
  /// Places count from 1; 0 is none.
  static let position: JSONValue = ["type": "integer", "minimum": 0]
  static let milliseconds: JSONValue = [
    "type": "integer", "description": "Milliseconds since 1970, UTC.",
  ]
  static let time: JSONValue = ["type": "string", "format": "date-time"]
  static let uuid: JSONValue = ["type": "string", "format": "uuid"]
  static let sessionID: JSONValue = [
    "type": "string", "minLength": 1, "maxLength": 128,
    "description": "At most 128 bytes; compared in lower case.",
  ]
  static let messageName: JSONValue = [
    "type": "string", "minLength": 1, "description": "An id, or a unique prefix of one.",
  ]
  static let prompt: JSONValue = [
    "type": "string", "description": "At most 1 MiB; white space at the ends is trimmed.",
  ]

  static func described(_ schema: JSONValue, _ text: String) -> JSONValue {
    guard case .object(var members) = schema else { return schema }
    members["description"] = .string(text)
    return .object(members)
  }

  static func list(_ items: JSONValue) -> JSONValue { ["type": "array", "items": items] }

  static func choice(_ names: [String]) -> JSONValue {
    ["type": "string", "enum": .array(names.map { .string($0) })]
  }

  /// Also null, where a field is always there, or files of others may have it.
  static func nullable(_ type: String) -> JSONValue { ["type": [.string(type), "null"]] }

  /// An object; answers may get further fields in later versions.
  static func object(
    _ fields: [String: JSONValue], optional: [String: JSONValue] = [:]
  ) -> JSONValue {
    [
      "type": "object",
      "properties": .object(fields.merging(optional) { field, _ in field }),
      "required": .array(fields.keys.sorted().map { .string($0) }),
    ]
  }

  /// The body of a request, which has no further fields.
  static func body(
    _ fields: [String: JSONValue], optional: [String: JSONValue] = [:]
  ) -> JSONValue {
    guard case .object(var members) = object(fields, optional: optional) else { return [:] }
    members["additionalProperties"] = false
    return .object(members)
  }
}
