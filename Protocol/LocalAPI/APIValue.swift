package import Basics

/// A request or an answer of the local API, or a part of one. Names of fields are a contract, and
/// fields are only added. The JSON Schema of the type is derived from its decoding
/// (`SchemaCatalog`) and from `notes`.
package protocol APIValue: Codable, Equatable, Sendable {
  /// Notes on fields, in addition to their types, by their names in JSON.
  static var notes: [String: Note] { get }
  /// The name of the type in the description; nil to write it out in every place of its use.
  static var schemaName: String? { get }
  /// Whether it is part of a document, whose format has no names beside session ids.
  static var isOfDocument: Bool { get }
}

extension APIValue {
  package static var notes: [String: Note] { [:] }
  package static var isOfDocument: Bool { false }

  /// The type's name without `Answer`; nested types have none.
  package static var schemaName: String? {
    let parts = String(reflecting: Self.self).split(separator: ".")
    guard parts.count == 2, let name = parts.last else { return nil }
    return String(name.hasSuffix("Answer") ? name.dropLast("Answer".count) : name)
  }
}

/// A note on a field, in addition to its type.
package struct Note: Sendable {
  /// Members of its JSON Schema that replace those of its type.
  var members: [String: JSONValue]
  /// Whether it is present, as null, even without a value.
  var isAlwaysThere = false

  private init(_ members: [String: JSONValue]) {
    self.members = members
  }

  /// The schema of a text.
  var schema: JSONValue { .object(members.merging(["type": "string"]) { first, _ in first }) }

  /// The same with a description.
  package func saying(_ text: String) -> Note {
    var note = self
    note.members["description"] = .string(text)
    return note
  }

  package static func text(_ text: String) -> Note { Note([:]).saying(text) }

  package static func choice(_ names: [String]) -> Note {
    Note(["enum": .array(names.map { .string($0) })])
  }

  package static func range(_ range: ClosedRange<Int>) -> Note {
    Note(["minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)])
  }

  /// A list of 1 to `countMax` items, each described by a note.
  package static func list(of items: Note, upTo countMax: Int) -> Note {
    Note([
      "items": items.schema, "minItems": 1, "maxItems": .integer(countMax),
    ])
  }

  /// Also allows null: for a field that is always present, or for one of third-party files.
  package static func nullable(_ type: String, isAlwaysThere: Bool = false) -> Note {
    var note = Note(["type": [.string(type), "null"]])
    note.isAlwaysThere = isAlwaysThere
    return note
  }

  package static func constant(_ value: JSONValue) -> Note { Note(["const": value]) }

  package static let positive = Note(["minimum": 1])
  package static let time = Note(["format": "date-time"])
  package static let milliseconds = text("Milliseconds since 1970, UTC.")
  package static let uuid = Note(["format": "uuid"])
  package static let sessionID = Note(["minLength": 1, "maxLength": 128])
    .saying("At most 128 bytes; compared in lower case.")
  package static let messageName = Note(["minLength": 1]).saying(
    "An id, or a unique prefix of one.")
  package static let prompt = text("At most 1 MiB; white space at the ends is trimmed.")
  package static let priority = choice(["urgent", "normal"])
  package static let base = text("The current version of the content, for a later edit; opaque.")
}
