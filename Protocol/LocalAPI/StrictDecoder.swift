package import Basics

/// Reads requests from JSON. Refuses unknown fields, nulls, duplicate keys and anything after the
/// value, and reports the place.
package enum StrictDecoder {
  /// Why a text does not decode as a type.
  package enum Fault: Error, Equatable {
    /// The text is not JSON, from a place on.
    case malformed(JSONFault)
    /// It has a field that the type does not have.
    case unknownField(String, known: [String])
    /// The value, or a field, has the wrong kind.
    case unfit(String)
  }

  /// - Throws: `Fault`, or the type's own error about its values.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8]
  ) throws -> Value {
    let json: PositionedJSON
    do {
      json = try JSONReader.read(bytes)
    } catch {
      throw Fault.malformed(error)
    }
    guard case .object = json.value else {
      throw Fault.unfit("The body must be a JSON object, not \(json.kind).")
    }
    return try TreeDecoder(json: json, codingPath: []).decoded(type)
  }

  fileprivate static func place(_ json: PositionedJSON, _ path: [any CodingKey]) -> String {
    "The field \(name(path)) (line \(json.position.line), column \(json.position.column))"
  }

  fileprivate static func name(_ path: [any CodingKey]) -> String {
    path.map(\.stringValue).joined(separator: ".")
  }
}

/// A decoder over a parsed tree.
private struct TreeDecoder: Decoder {
  var json: PositionedJSON
  var codingPath: [any CodingKey]
  /// The type being read.
  var type: (any Decodable.Type)?

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    var decoder = self
    decoder.type = type
    do {
      if type is JSONValue.Type, let value = JSONValue(json) as? Value { return value }
      return try Value(from: decoder)
    } catch DecodingError.dataCorrupted(let context) {
      throw StrictDecoder.Fault.unfit(
        "\(StrictDecoder.place(json, codingPath)) is not valid: \(context.debugDescription).")
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = json.value else { throw unfit("an object") }
    for member in members where Key(stringValue: member.key) == nil {
      throw StrictDecoder.Fault.unknownField(
        "\"\(member.key)\" (line \(member.position.line), column \(member.position.column))",
        known: self.type.map { SchemaCatalog.fieldNames(of: $0) } ?? [])
    }
    for member in members where member.value.value == .null {
      throw StrictDecoder.Fault.unfit(
        "The field \"\(member.key)\" is null: give it a value, or leave it out.")
    }
    return KeyedDecodingContainer(
      MemberContainer(
        members: Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first },
        codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = json.value else { throw unfit("a list") }
    return ElementContainer(elements: elements, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func unfit(_ wanted: String) -> StrictDecoder.Fault {
    .unfit(
      "\(StrictDecoder.place(json, codingPath)) has the wrong type: it is \(json.kind), not "
        + "\(wanted).")
  }

  func number<Number: LosslessStringConvertible>(_ type: Number.Type, _ kind: String) throws
    -> Number
  {
    guard case .number(let text) = json.value, let number = Number(text) else { throw unfit(kind) }
    return number
  }
}

extension TreeDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { json.value == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value: Any
    switch type {
    case is String.Type:
      guard case .string(let text) = json.value else { throw unfit("a text") }
      value = text
    case is Bool.Type:
      guard case .boolean(let flag) = json.value else { throw unfit("true or false") }
      value = flag
    case is Double.Type: value = try number(Double.self, "a number")
    case is Float.Type: value = try number(Float.self, "a number")
    // Their own decoding would call this function again, without end.
    case let whole as any FixedWidthInteger.Type:
      value = try number(whole, whole.isSigned ? "a whole number" : "a whole number from 0 on")
    default: return try decoded(type)
    }
    guard let value = value as? Value else { throw unfit("the requested value") }
    return value
  }
}

private struct MemberContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  var members: [String: PositionedJSON]
  var codingPath: [any CodingKey]

  var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

  private func decoder(_ key: Key) throws -> TreeDecoder {
    guard let json = members[key.stringValue] else {
      throw StrictDecoder.Fault.unfit(
        "The field \(StrictDecoder.name(codingPath + [key])) is missing.")
    }
    return TreeDecoder(json: json, codingPath: codingPath + [key])
  }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    throw StrictDecoder.Fault.unfit("A request has no parts that others share.")
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct ElementContainer: UnkeyedDecodingContainer {
  struct Index: CodingKey {
    var number: Int

    var stringValue: String { "\(number)" }
    var intValue: Int? { number }

    init(number: Int) { self.number = number }

    init?(stringValue: String) { nil }

    init?(intValue: Int) { number = intValue }
  }

  var elements: [PositionedJSON]
  var codingPath: [any CodingKey]
  var currentIndex = 0

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  private mutating func next() throws -> TreeDecoder {
    guard !isAtEnd else { throw StrictDecoder.Fault.unfit("The list has too few items.") }
    defer { currentIndex += 1 }
    return TreeDecoder(
      json: elements[currentIndex], codingPath: codingPath + [Index(number: currentIndex)])
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex].value == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next().decode(type)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try next().container(keyedBy: type) }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try next() }
}
