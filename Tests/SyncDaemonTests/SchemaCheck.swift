import Basics
import LocalAPI

@testable import SyncDaemon

/// Checks values against the schemas of the description, as far as these go. In one point it is
/// stricter: a field without a description is a fault, so that the description stays complete.
struct SchemaCheck {
  var schemas: [String: JSONValue] = {
    guard case .object(let schemas)? = APIDescription.document["components"]?["schemas"] else {
      return [:]
    }
    return schemas
  }()

  /// The faults, with their places; empty if there are none.
  func faults(of value: JSONValue, against schema: JSONValue, at place: String = "$") -> [String] {
    if case .string(let reference)? = schema["$ref"] {
      let name = String(reference.split(separator: "/").last ?? "")
      guard let target = schemas[name] else { return ["\(place): there is no schema \(name)"] }
      return faults(of: value, against: target, at: place)
    }
    if let constant = schema["const"] {
      return value == constant ? [] : ["\(place): \(value) is not \(constant)"]
    }
    if case .array(let choices)? = schema["enum"], !choices.contains(value) {
      return ["\(place): \(value) is none of \(choices)"]
    }
    let types = SchemaCheck.types(of: schema)
    guard types.isEmpty || types.contains(where: { SchemaCheck.is(value, of: $0) }) else {
      return ["\(place): \(value) is no \(types.joined(separator: " or "))"]
    }
    switch value {
    case .object(let members): return faults(of: members, against: schema, at: place)
    case .array(let items):
      guard let schema = schema["items"] else { return [] }
      return items.enumerated().flatMap { faults(of: $1, against: schema, at: "\(place)[\($0)]") }
    case .integer(let number):
      if case .integer(let minimum)? = schema["minimum"], number < minimum {
        return ["\(place): \(number) is below \(minimum)"]
      }
      return []
    case .string(let text): return SchemaCheck.faults(of: text, against: schema, at: place)
    case .null, .bool, .number: return []
    }
  }

  private func faults(
    of members: [String: JSONValue], against schema: JSONValue, at place: String
  ) -> [String] {
    // A schema without properties does not restrict them.
    guard case .object(let properties)? = schema["properties"] else { return [] }
    var faults: [String] = []
    if case .array(let required)? = schema["required"] {
      for case .string(let name) in required where members[name] == nil {
        faults.append("\(place): \(name) is missing")
      }
    }
    for (name, value) in members {
      guard let schema = properties[name] else {
        faults.append("\(place).\(name) is not described")
        continue
      }
      faults += self.faults(of: value, against: schema, at: "\(place).\(name)")
    }
    return faults
  }

  private static func types(of schema: JSONValue) -> [String] {
    switch schema["type"] {
    case .string(let name)?: [name]
    case .array(let names)?:
      names.compactMap { if case .string(let name) = $0 { name } else { nil } }
    default: []
    }
  }

  private static func `is`(_ value: JSONValue, of type: String) -> Bool {
    switch (type, value) {
    case ("null", .null), ("boolean", .bool), ("integer", .integer), ("number", .integer),
      ("number", .number), ("string", .string), ("array", .array), ("object", .object):
      true
    default: false
    }
  }

  private static func faults(
    of text: String, against schema: JSONValue, at place: String
  ) -> [String] {
    let isFine =
      switch schema["format"] {
      case "uuid"?: text.wholeMatch(of: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil
      case "date-time"?:
        text.wholeMatch(of: /-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
      default: true
      }
    return isFine ? [] : ["\(place): \"\(text)\" is not of its format"]
  }
}
