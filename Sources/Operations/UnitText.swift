/// Words of unit files; systemd.syntax(7), systemd.service(5).
package enum UnitText {
  /// A word of a command, in which `$` begins a variable.
  package static func word(_ text: String) -> String {
    quoted(text.split(separator: "$", omittingEmptySubsequences: false).joined(separator: "$$"))
  }

  /// A text in quotes. Characters that systemd would interpret are doubled or escaped.
  package static func quoted(_ text: String) -> String {
    var quoted = "\""
    for character in text {
      switch character {
      case "\\", "\"": quoted += "\\\(character)"
      case "%": quoted += "%%"
      default: quoted.append(character)
      }
    }
    return quoted + "\""
  }

  /// Whether a unit can contain a text; a unit cannot contain a control character.
  package static func canHold(_ text: String) -> Bool {
    !text.utf8.contains { $0 < 32 || $0 == 127 }
  }
}
