package import Basics
import QueueModel

/// JSON Schemas, as OpenAPI 3.1 uses them, of the types that a decoder reads. The catalog runs a
/// type's `init(from:)` with placeholder values, and records the requested keys.
package final class SchemaCatalog {
  /// The schemas that have a name.
  package private(set) var components: [String: JSONValue] = [:]

  package init() {}

  /// The schema of a type, or a reference to it if it has a name.
  package func schema<Value: Decodable>(of type: Value.Type) -> JSONValue { entry(type).schema }

  /// The names that an object of the type may have, sorted.
  package static func fieldNames<Value: Decodable>(of type: Value.Type) -> [String] {
    let recorder = FieldRecorder(catalog: SchemaCatalog(), notes: [:])
    // The type reads everything that it requests; the placeholder values need not be valid.
    _ = try? Value(from: recorder)
    return recorder.properties.keys.sorted()
  }

  /// A schema, and a value that a decoder can use meanwhile; nil if none could be made.
  fileprivate func entry<Value: Decodable>(_ type: Value.Type) -> (schema: JSONValue, value: Value?)
  {
    if let (schema, value) = SchemaCatalog.plain(type) { return (schema, value as? Value) }
    if let list = type as? any ListType.Type { return (list.schema(in: self), [] as? Value) }
    if let choice = type as? any CaseIterable.Type {
      let cases = SchemaCatalog.cases(choice)
      let names = cases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
      return (
        ["type": "string", "enum": .array(names.map { .string($0) })], cases.first as? Value
      )
    }
    let described = type as? any APIValue.Type
    let schema: JSONValue
    var value: Value?
    if let shown = (type as? any SchemaShown.Type)?.shown {
      schema = self.schema(of: shown)
    } else {
      let recorder = FieldRecorder(catalog: self, notes: described?.notes ?? [:])
      value = (try? Value(from: recorder)) ?? (type as? any SchemaExample.Type)?.example as? Value
      let isRequest = "\(type)".hasSuffix("Request")
      if !isRequest, described?.isOfDocument == false { recorder.nameSession() }
      schema = recorder.schema(isClosed: isRequest)
    }
    guard let name = described?.schemaName else { return (schema, value) }
    components[name] = schema
    return (["$ref": .string("#/components/schemas/\(name)")], value)
  }

  private static func plain(_ type: any Decodable.Type) -> (JSONValue, any Decodable)? {
    switch type {
    case is String.Type: (["type": "string"], "")
    case is Bool.Type: (["type": "boolean"], false)
    case is Double.Type: (["type": "number"], 0.0)
    case is Int.Type: (["type": "integer", "minimum": 0], 0)
    case is UInt32.Type: (["type": "integer", "minimum": 0], UInt32(0))
    case is UInt64.Type: (["type": "integer", "minimum": 0], UInt64(0))
    case is Int64.Type: (["type": "integer"], Int64(0))
    case let type as any (UniqueIdentifier & Decodable).Type:
      (["type": "string", "format": "uuid"], type.init(high: 0, low: 0))
    case let type as any SchemaGiven.Type: type.example.map { (type.schema, $0) }
    default: nil
    }
  }

  private static func cases<Choice: CaseIterable>(_ type: Choice.Type) -> [Any] {
    Array(type.allCases)
  }
}

/// A type whose schema cannot be derived from its decoding.
protocol SchemaGiven: SchemaExample {
  static var schema: JSONValue { get }
}

/// A type that refuses placeholder values, and has an example that it accepts.
protocol SchemaExample: Decodable {
  static var example: Self? { get }
}

/// A type whose fields follow from one of its values, of another type that shows them all.
protocol SchemaShown {
  static var shown: any APIValue.Type { get }
}

private protocol ListType {
  static func schema(in catalog: SchemaCatalog) -> JSONValue
}

extension Array: ListType where Element: Decodable {
  static func schema(in catalog: SchemaCatalog) -> JSONValue {
    ["type": "array", "items": catalog.schema(of: Element.self)]
  }
}

/// The decoder that records requested keys.
private final class FieldRecorder: Decoder {
  let catalog: SchemaCatalog
  let notes: [String: Note]
  var properties: [String: JSONValue] = [:]
  var required: Set<String> = []

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(catalog: SchemaCatalog, notes: [String: Note]) {
    self.catalog = catalog
    self.notes = notes
  }

  /// Adds the field that `NamedSessions` adds to answers.
  func nameSession() {
    guard properties["session"] != nil, properties["sessionName"] == nil else { return }
    properties["sessionName"] = ["type": "string", "description": "The name of `session`."]
    if required.contains("session") { required.insert("sessionName") }
  }

  func schema(isClosed: Bool) -> JSONValue {
    let schema: JSONValue = [
      "type": "object", "properties": .object(properties),
      "required": .array(required.sorted().map { .string($0) }),
    ]
    return isClosed ? schema.merging(["additionalProperties": false]) : schema
  }

  func record<Value: Decodable>(
    _ type: Value.Type, _ name: String, isRequired: Bool
  ) -> Value? {
    let (schema, value) = catalog.entry(type)
    let note = notes[name]
    let described = note.map { schema.merging($0.members) } ?? schema
    properties[name] = described
    if isRequired || note?.isAlwaysThere == true { required.insert(name) }
    return value
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(FieldContainer(recorder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NoSchema() }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw NoSchema() }
}

/// A type that is not an object needs `SchemaGiven`.
private struct NoSchema: Error {}

private struct FieldContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  var recorder: FieldRecorder

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }

  func decodeNil(forKey key: Key) throws -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    guard let value = recorder.record(type, key.stringValue, isRequired: true) else {
      throw NoSchema()
    }
    return value
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    optional(type, key)
  }

  // The protocol's default versions of these would ask whether the field is present.
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) -> Bool? { optional(type, key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? { optional(type, key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) -> Double? { optional(type, key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) -> Int? { optional(type, key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) -> Int64? { optional(type, key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) -> UInt32? { optional(type, key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) -> UInt64? { optional(type, key) }

  private func optional<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
    _ = recorder.record(type, key.stringValue, isRequired: false)
    return nil
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw NoSchema() }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw NoSchema()
  }

  func superDecoder() throws -> any Decoder { throw NoSchema() }

  func superDecoder(forKey key: Key) throws -> any Decoder { throw NoSchema() }
}
