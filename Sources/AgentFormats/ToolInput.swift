/// The input that an agent wants to give to a tool, in the form that a user reads before allowing
/// it.
///
/// Every field appears with its name. The agent chooses the names, so a list of relevant fields
/// would let it hide the others.
package struct ToolInput: Hashable, Sendable {
  /// One field of the input.
  package struct Field: Hashable, Sendable {
    /// As the agent named it; empty if the input is a single value instead of an object.
    package var name: String
    /// A text as it is. As JSON with sorted keys: any other value, a text that reads like one, and
    /// an input that is not an object.
    package var text: String
  }

  /// The tool's main field comes first, then the other fields by name, harmless ones last.
  package let fields: [Field]
  /// The tool's main field, in a line. If no main field is known: all of the input as JSON, and
  /// empty if there are no fields.
  package let subject: String
  /// A space and the number of lines and fields that the subject omits; empty if it omits none.
  package let remainder: String
  /// Whether a single field differs from all other inputs without its name.
  private let standsAlone: Bool

  /// Names of main fields. The first one in the input counts.
  private static let subjects = [
    "command", "file_path", "filePath", "filepath", "notebook_path", "url", "query", "pattern",
    "patterns", "title", "description",
  ]
  /// Fields that explain or limit the action.
  private static let harmless: Set<String> = ["description", "timeout"]

  package init(_ input: JSONTree) {
    var subjectName: String?
    var words = input.words ?? input.line
    if case .object(let members) = input {
      if members.isEmpty { words = "" }
      subjectName = Self.subjects.first { members[$0]?.words?.isEmpty == false }
      if let text = subjectName.flatMap({ members[$0]?.words }) { words = text }
      let others = members.keys.filter { $0 != subjectName }.sorted()
      let names =
        [subjectName].compactMap(\.self) + others.filter { !Self.harmless.contains($0) }
        + others.filter(Self.harmless.contains)
      fields = names.compactMap { name in
        members[name].map { Field(name: name, text: $0.shown) }
      }
      let text = fields.count == 1 ? members[Self.subjects[0]]?.text : nil
      standsAlone = text == fields.first?.text && Self.needsNoName(text ?? "")
    } else {
      fields = [Field(name: "", text: input.line)]
      standsAlone = true
    }
    let lines = words.split(whereSeparator: \.isNewline)
    subject = JSONTree.escaped(lines.first.map(String.init) ?? "", JSONTree.isUnseen)
    let left = [
      Self.counted(lines.count - 1, "line"),
      subjectName == nil ? nil : Self.counted(fields.count - 1, "field"),
    ].compactMap(\.self)
    remainder = left.isEmpty ? "" : " (and \(left.joined(separator: ", ")))"
  }

  /// All of the input, so that two inputs never read the same. A command as the only field appears
  /// as it is, an input that is not an object as JSON, otherwise each field after its name.
  package var details: String {
    guard let first = fields.first else { return "" }
    if standsAlone { return first.text }
    return fields.map(Self.named).joined(separator: "\n")
  }

  /// A text of several lines is indented, so that no line looks like a field.
  private static func named(_ field: Field) -> String {
    let isPlain = !field.name.isEmpty && field.name.utf8.allSatisfy(isPlain)
    let name = isPlain ? field.name : JSONTree.string(field.name).line
    guard field.text.contains(where: \.isNewline) else { return "\(name): \(field.text)" }
    return field.text.reduce(into: "\(name):\n  ") { text, character in
      text.append(character)
      if character.isNewline { text += "  " }
    }
  }

  /// Whether a text cannot be mistaken for a named field or for an empty input.
  private static func needsNoName(_ text: String) -> Bool {
    guard let first = text.utf8.first, first != UInt8(ascii: "\"") else { return false }
    return text.utf8.first { !isPlain($0) } != UInt8(ascii: ":")
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static func counted(_ count: Int, _ noun: String) -> String? {
    count > 0 ? "\(count) more \(noun)\(count == 1 ? "" : "s")" : nil
  }
}

extension JSONTree {
  /// A text as it is, unless it reads like another value or has invisible characters; other values
  /// as JSON.
  fileprivate var shown: String {
    guard let text else { return line }
    if text.utf8.first == UInt8(ascii: "\"") { return line }
    if text.unicodeScalars.contains(where: JSONTree.isUnseen) { return line }
    guard let value = JSONTree(Array(text.utf8)), value.line == text else { return text }
    return line
  }

  /// A text, or a list of texts.
  fileprivate var words: String? {
    if let text { return text }
    guard case .array(let elements) = self else { return nil }
    let texts = elements.compactMap(\.text)
    return texts.count == elements.count ? texts.joined(separator: ", ") : nil
  }
}
