/// A form that an agent asks its user to fill in (`elicitation/create`): a question for users, and
/// their answer in the agent's format.
package struct ACPForm: Hashable, Sendable {
  private enum Kind: Hashable, Sendable {
    case string
    case number
    case integer
    case boolean
    /// One of these values.
    case one([Choice])
    /// Any of them.
    case several([Choice])
  }

  private struct Choice: Hashable, Sendable {
    var value: String
    var title: String
  }

  private struct Field: Hashable, Sendable {
    var name: String
    var label: String
    var kind: Kind
    var isRequired: Bool
    /// The schema's other rules, verbatim.
    var rules: String
  }

  /// The maximum number of fields of one form.
  static let fieldsMax = 50
  /// The answer that declines a form.
  package static let decline = "/decline"
  /// Members of a schema that are shown with other words.
  private static let names: Set<String> = [
    "type", "title", "description", "enum", "oneOf", "items",
  ]

  private let message: String
  private let fields: [Field]

  /// Reads the parameters; nil if the form has a field of an unknown kind, or too many.
  init?(_ params: JSONTree) {
    guard params["mode"]?.text == "form", let message = params["message"]?.text,
      case .object(let properties) = params["requestedSchema"]?["properties"] ?? .object([:]),
      properties.count <= ACPForm.fieldsMax
    else { return nil }
    let required = Set((params["requestedSchema"]?["required"]?.elements ?? []).compactMap(\.text))
    var fields: [Field] = []
    for (name, schema) in properties.sorted(by: { $0.key < $1.key }) {
      guard let kind = ACPForm.kind(schema), !name.isEmpty, !name.contains(where: \.isNewline)
      else { return nil }
      let words = [schema["title"]?.text, schema["description"]?.text].compactMap(\.self)
      fields.append(
        Field(
          name: name, label: words.joined(separator: ". "), kind: kind,
          isRequired: required.contains(name), rules: ACPForm.rules(schema)))
    }
    self.message = message
    self.fields = fields
  }

  private static func kind(_ schema: JSONTree) -> Kind? {
    switch schema["type"]?.text {
    case "string":
      let choices = choices(schema["oneOf"], schema["enum"])
      return choices.isEmpty ? .string : .one(choices)
    case "number": return .number
    case "integer": return .integer
    case "boolean": return .boolean
    case "array":
      let choices = choices(schema["items"]?["anyOf"], schema["items"]?["enum"])
      return choices.isEmpty ? nil : .several(choices)
    default: return nil
    }
  }

  private static func choices(_ titled: JSONTree?, _ plain: JSONTree?) -> [Choice] {
    let titled = (titled?.elements ?? []).compactMap { option in
      option["const"]?.text.map { Choice(value: $0, title: option["title"]?.text ?? $0) }
    }
    guard titled.isEmpty else { return titled }
    return (plain?.elements ?? []).compactMap { $0.text.map { Choice(value: $0, title: $0) } }
  }

  private static func rules(_ schema: JSONTree) -> String {
    guard case .object(let members) = schema else { return "" }
    let rules = members.filter { !names.contains($0.key) && $0.value != .null }
    return rules.isEmpty ? "" : JSONTree.object(rules).line
  }

  /// The question.
  package var text: String {
    var lines = [message]
    for field in fields {
      let words = [
        field.label, ACPForm.description(of: field.kind), field.isRequired ? "required" : "",
        field.rules,
      ].filter { !$0.isEmpty }
      lines.append("\(field.name): \(words.joined(separator: "; "))")
    }
    if fields.count > 1 {
      lines.append("Answer with a line NAME: VALUE for each field.")
    }
    lines.append("\(ACPForm.decline) declines.")
    return lines.joined(separator: "\n")
  }

  /// The answers that a user can choose with one press.
  package var options: [String] {
    guard fields.count == 1, let field = fields.first else { return [] }
    return switch field.kind {
    case .boolean: ["yes", "no"]
    case .one(let choices): choices.map(\.title)
    case .string, .number, .integer, .several: []
    }
  }

  private static func description(of kind: Kind) -> String {
    switch kind {
    case .string: "text"
    case .number: "number"
    case .integer: "whole number"
    case .boolean: "yes or no"
    case .one(let choices): "one of \(choices.map(shown).joined(separator: ", "))"
    case .several(let choices):
      "some of \(choices.map(shown).joined(separator: ", ")), with commas between"
    }
  }

  private static func shown(_ choice: Choice) -> String {
    choice.value == choice.title ? choice.value : "\(choice.value) (\(choice.title))"
  }

  /// An invalid answer, with the reason.
  package struct Fault: Error, Hashable, Sendable {
    package var reason: String
  }

  /// The content of an answer.
  func content(of answer: String) throws(Fault) -> JSONTree {
    var members: [String: JSONTree] = [:]
    for (name, words) in try values(answer) {
      guard let field = fields.first(where: { $0.name == name }) else {
        throw Fault(reason: "The form has no field \"\(name)\".")
      }
      members[name] = try ACPForm.value(words, of: field)
    }
    if let missing = fields.first(where: { $0.isRequired && members[$0.name] == nil }) {
      throw Fault(reason: "The field \"\(missing.name)\" is required.")
    }
    return .object(members)
  }

  /// The description of each field.
  private func values(_ answer: String) throws(Fault) -> [(name: String, words: String)] {
    if fields.isEmpty { return [] }
    guard fields.count > 1 else { return [(fields[0].name, answer)] }
    var values: [(name: String, words: String)] = []
    for line in answer.split(whereSeparator: \.isNewline) {
      guard let colon = line.firstIndex(of: ":") else {
        throw Fault(reason: "The line \"\(line)\" is not NAME: VALUE.")
      }
      let words = ACPForm.trimmed(line[line.index(after: colon)...])
      if !words.isEmpty { values.append((ACPForm.trimmed(line[..<colon]), words)) }
    }
    return values
  }

  private static func value(_ words: String, of field: Field) throws(Fault) -> JSONTree {
    let trimmed = trimmed(words[...])
    switch field.kind {
    case .string: return .string(words)
    case .number:
      guard let number = Double(trimmed), number.isFinite else {
        throw Fault(reason: "The field \"\(field.name)\" needs a number.")
      }
      return .number(number)
    case .integer:
      guard let number = Int64(trimmed) else {
        throw Fault(reason: "The field \"\(field.name)\" needs a whole number.")
      }
      return .whole(number)
    case .boolean:
      switch trimmed.lowercased() {
      case "yes", "true", "y": return true
      case "no", "false", "n": return false
      default: throw Fault(reason: "The field \"\(field.name)\" needs yes or no.")
      }
    case .one(let choices): return .string(try value(trimmed, of: choices, field.name))
    case .several(let choices):
      var values: [JSONTree] = []
      for part in trimmed.split(separator: ",") {
        values.append(.string(try value(Self.trimmed(part), of: choices, field.name)))
      }
      return .array(values)
    }
  }

  private static func value(
    _ words: String, of choices: [Choice], _ name: String
  ) throws(Fault) -> String {
    let choice =
      choices.first { $0.value == words } ?? choices.first { $0.title == words }
      ?? choices.first { $0.title.lowercased() == words.lowercased() }
    guard let choice else {
      throw Fault(reason: "The field \"\(name)\" does not offer \"\(words)\".")
    }
    return choice.value
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
