import Basics
import LocalAPI
import Testing

/// The answers of all routes are one language; the daemon's tests hold each answer against its schema.
@Suite struct AnswerLanguageTests {
  private static let schemas = APIDescription.document["components"]?["schemas"]
  /// Files with a format of their own.
  private static let documents: Set<String> = ["Document", "Dump", "QueueFile"]

  private static func isTime(_ name: String) -> Bool {
    ["at", "since", "notBefore", "heldUntil", "limitUntil"].contains(name)
      || ["At", "Time", "Since"].contains { name.hasSuffix($0) }
  }

  /// The parts of a schema that do not follow the language, with their places.
  private static func faults(of schema: JSONValue, at place: String) -> [String] {
    guard case .object(let members) = schema else {
      guard case .array(let items) = schema else { return [] }
      return items.flatMap { faults(of: $0, at: place) }
    }
    var found = members.flatMap { faults(of: $1, at: "\(place).\($0)") }
    guard case .object(let fields)? = members["properties"] else { return found }
    for (name, field) in fields {
      if isTime(name), field["type"] != "string" || field["format"] != "date-time" {
        found.append("\(place).\(name) is a time in another form")
      }
      if ["sessionId", "projectPath", "sessionID"].contains(name) {
        found.append("\(place).\(name) has another name")
      }
      if case .string(let words)? = field["description"], words.contains("since 1970") {
        found.append("\(place).\(name) counts milliseconds")
      }
    }
    let isRequest = members["additionalProperties"] == false
    if fields["session"] != nil, fields["sessionName"] == nil, !isRequest {
      found.append("\(place) names a session by its id alone")
    }
    return found
  }

  @Test func timesAndSessionsHaveOneForm() {
    guard case .object(let schemas)? = Self.schemas else {
      Issue.record("there are no schemas")
      return
    }
    #expect(schemas.count > 50 && Self.documents.isSubset(of: schemas.keys))
    for (name, schema) in schemas where !Self.documents.contains(name) {
      #expect(Self.faults(of: schema, at: name) == [])
    }
  }

  /// A rule that never applies would check nothing.
  @Test func anotherFormIsFound() {
    let wrong: JSONValue = [
      "properties": [
        "sessionId": ["type": "string"], "session": ["type": "string"],
        "startedAt": ["type": "integer"], "since": ["type": "string"],
        "other": ["type": "integer", "description": "Milliseconds since 1970, UTC."],
      ]
    ]
    #expect(Self.faults(of: wrong, at: "Wrong").count == 5)
  }

  /// A list is an object: its items are under one name, and `next` leads to its next page.
  @Test func listsHaveOneShape() {
    for route in Route.all where route.id.hasPrefix("list") && route.id != "listMessages" {
      guard case .json(let type) = route.answer, let name = type.schemaName else { continue }
      let catalog = SchemaCatalog()
      _ = catalog.schema(of: type)
      guard case .object(let fields)? = catalog.components[name]?["properties"] else {
        Issue.record("\(route.id) answers no object")
        continue
      }
      let lists = fields.filter { isListOfObjects($1) }
      #expect(lists.count == 1, "\(route.id): \(lists.keys.sorted())")
      #expect(lists.keys.allSatisfy { $0.hasSuffix("s") || $0.hasSuffix("ies") }, "\(route.id)")
    }
  }

  private func isListOfObjects(_ schema: JSONValue) -> Bool {
    guard let items = schema["items"] else { return false }
    return items["$ref"] != nil || items["type"] == "object"
  }
}
