import AgentFormats

/// Reads the details of a request as a careful user does, back to the input that they show.
enum ShownInput {
  /// - Returns: nil if the details do not have the documented form.
  static func read(_ details: String) -> JSONTree? {
    if details.isEmpty { return .object([:]) }
    if let value = canonical(details) { return value }
    let scalars = Array(details.unicodeScalars)
    guard name(of: scalars[...]) != nil else { return ["command": .string(details)] }
    var members: [String: JSONTree] = [:]
    for field in fields(of: scalars) {
      guard let (name, rest) = name(of: field), let text = text(of: rest),
        members.updateValue(canonical(text) ?? .string(text), forKey: name) == nil
      else { return nil }
    }
    return .object(members)
  }

  /// A value, as it is written.
  private static func canonical(_ text: String) -> JSONTree? {
    JSONTree(Array(text.utf8)).flatMap { $0.line.utf8.elementsEqual(text.utf8) ? $0 : nil }
  }

  /// Further lines of a field are indented.
  private static func fields(of scalars: [Unicode.Scalar]) -> [ArraySlice<Unicode.Scalar>] {
    var fields: [ArraySlice<Unicode.Scalar>] = []
    var start = 0
    for (index, scalar) in scalars.enumerated() where scalar == "\n" {
      let next = index + 1
      if next < scalars.count, scalars[next] == " " { continue }
      fields.append(scalars[start..<index])
      start = next
    }
    return fields + [scalars[start...]]
  }

  /// The name at the beginning, and what follows its colon.
  private static func name(
    of field: ArraySlice<Unicode.Scalar>
  ) -> (String, ArraySlice<Unicode.Scalar>)? {
    var end = field.startIndex
    if field.first == "\"" {
      var isEscaped = false
      end += 1
      while end < field.endIndex, isEscaped || field[end] != "\"" {
        isEscaped = !isEscaped && field[end] == "\\"
        end += 1
      }
      end += 1
    } else {
      end = field.firstIndex { !($0.isASCII && isPlain($0)) } ?? field.endIndex
    }
    guard end < field.endIndex, field[end] == ":" else { return nil }
    let name = text(field[..<end])
    guard field.first == "\"" else { return (name, field[(end + 1)...]) }
    return JSONTree(Array(name.utf8))?.text.map { ($0, field[(end + 1)...]) }
  }

  /// After a space, a text of one line; after a line feed, a text with indented lines.
  private static func text(of rest: ArraySlice<Unicode.Scalar>) -> String? {
    guard rest.first == "\n" else { return rest.first == " " ? text(rest.dropFirst()) : nil }
    var scalars: [Unicode.Scalar] = []
    var rest = rest.dropFirst()
    guard indent(&rest) else { return nil }
    while let scalar = rest.popFirst() {
      scalars.append(scalar)
      if scalar == "\r", rest.first == "\n" { continue }
      if Character(scalar).isNewline, !indent(&rest) { return nil }
    }
    return text(scalars[...])
  }

  private static func indent(_ rest: inout ArraySlice<Unicode.Scalar>) -> Bool {
    guard rest.popFirst() == " " else { return false }
    return rest.popFirst() == " "
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    Character(scalar).isLetter || Character(scalar).isNumber || scalar == "_" || scalar == "-"
  }

  private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(scalars))
  }
}
