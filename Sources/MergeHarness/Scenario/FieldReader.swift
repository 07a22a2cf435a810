import Basics

/// Takes the fields of an object one by one, and records which were not used.
struct FieldReader {
  /// The object's place.
  let position: TextPosition
  /// The object's name in messages.
  private let what: String
  private var members: [PositionedJSON.Member]
  private var asked: [String] = []

  init(_ json: PositionedJSON, as what: String) throws(ScenarioError) {
    guard case .object(let members) = json.value else {
      throw ScenarioError("\(what) must be an object, not \(json.kind)", at: json.position)
    }
    position = json.position
    self.what = what
    self.members = members
  }

  func has(_ key: String) -> Bool { members.contains { $0.key == key } }

  /// The field, or nil if it is absent.
  mutating func optional(_ key: String) -> PositionedJSON? {
    asked.append(key)
    guard let index = members.firstIndex(where: { $0.key == key }) else { return nil }
    return members.remove(at: index).value
  }

  mutating func required(_ key: String) throws(ScenarioError) -> PositionedJSON {
    guard let value = optional(key) else {
      throw ScenarioError("\(what) lacks the field \"\(key)\"", at: position)
    }
    return value
  }

  /// Refuses fields that were not used.
  func finish() throws(ScenarioError) {
    guard let extra = members.first else { return }
    let known =
      asked.isEmpty
      ? "it has no fields" : "it has " + asked.map { "\"\($0)\"" }.joined(separator: ", ")
    throw ScenarioError("\(what) has no field \"\(extra.key)\"; \(known)", at: extra.position)
  }

  /// An error about the object as a whole.
  func error(_ message: String) -> ScenarioError {
    ScenarioError("\(what) \(message)", at: position)
  }
}

extension FieldReader {
  mutating func string(_ key: String) throws(ScenarioError) -> String {
    try required(key).string(as: key)
  }

  mutating func optionalString(_ key: String) throws(ScenarioError) -> String? {
    try optional(key).map { json throws(ScenarioError) in try json.string(as: key) }
  }

  mutating func boolean(_ key: String, otherwise: Bool) throws(ScenarioError) -> Bool {
    try optional(key).map { json throws(ScenarioError) in try json.boolean(as: key) } ?? otherwise
  }

  mutating func integer(
    _ key: String, in range: ClosedRange<Int64>
  ) throws(ScenarioError) -> Int64 {
    try required(key).integer(as: key, in: range)
  }
}

extension PositionedJSON {
  func string(as key: String) throws(ScenarioError) -> String {
    guard case .string(let text) = value else { throw mismatch(key, "a string") }
    return text
  }

  func boolean(as key: String) throws(ScenarioError) -> Bool {
    guard case .boolean(let flag) = value else { throw mismatch(key, "true or false") }
    return flag
  }

  func array(as key: String) throws(ScenarioError) -> [PositionedJSON] {
    guard case .array(let elements) = value else { throw mismatch(key, "an array") }
    return elements
  }

  /// A whole number, written without a decimal point or an exponent.
  func integer(
    as key: String, in range: ClosedRange<Int64>
  ) throws(ScenarioError) -> Int64 {
    guard case .number(let digits) = value else { throw mismatch(key, "a number") }
    guard let number = Int64(digits), range.contains(number) else {
      throw ScenarioError(
        "\"\(key)\" must be a whole number from \(range.lowerBound) to \(range.upperBound), "
          + "not \(digits)", at: position)
    }
    return number
  }

  private func mismatch(_ key: String, _ wanted: String) -> ScenarioError {
    ScenarioError("\"\(key)\" must be \(wanted), not \(kind)", at: position)
  }
}
