package import Basics

/// A request or an answer of the local API, or a part of one. Names of fields are a contract, and
/// fields are only added. What JSON Schema says of the type is derived from how it is decoded
/// (`SchemaCatalog`), with what `notes` add.
package protocol APIValue: Codable, Equatable, Sendable {
  /// What is said of fields besides their types, by their names in JSON.
  static var notes: [String: Note] { get }
  /// What the description calls the type; nil: if it is used it is written out.
  static var schemaName: String? { get }
}

extension APIValue {
  package static var notes: [String: Note] { [:] }

  /// The type's name without `Answer`; types inside of others have none.
  package static var schemaName: String? {
    let parts = String(reflecting: Self.self).split(separator: ".")
    guard parts.count == 2, let name = parts.last else { return nil }
    return String(name.hasSuffix("Answer") ? name.dropLast("Answer".count) : name)
  }
}

/// What is said of a field besides its type.
package struct Note: Sendable {
  /// Members of its JSON Schema, in place of those that its type gives.
  var members: [String: JSONValue]
  /// It is there even if it has no value, as null.
  var isAlwaysThere = false
  /// What it may be instead of what its type says, whatever that is.
  var alternative: JSONValue?

  private init(_ members: [String: JSONValue]) {
    self.members = members
  }

  /// What is said of a text.
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

  /// A list of 1 to so many things, each as a note says.
  package static func list(of items: Note, upTo countMax: Int) -> Note {
    Note([
      "items": items.schema, "minItems": 1, "maxItems": .integer(countMax),
    ])
  }

  /// Also null, if a field is always there or files of others may have it so.
  package static func nullable(_ type: String, isAlwaysThere: Bool = false) -> Note {
    var note = Note(["type": [.string(type), "null"]])
    note.isAlwaysThere = isAlwaysThere
    return note
  }

  /// For readers of answers it is what its type says; in a request nobody reads it, so anything does.
  package static let unread: Note = {
    var note = Note([:])
    note.alternative = ["description": "Ignored in an import."]
    return note
  }()

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
