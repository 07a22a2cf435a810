import ArgumentParser
import Basics

/// The options of a command by their names with dashes, from the parser's own description of it.
struct OptionTable: Sendable {
  /// Whether the option with a name has a value after it.
  private var takesValue: [String: Bool] = [:]
  /// Whether the command keeps arguments after `--` separate from the others.
  private(set) var keepsTerminator = false
  /// The places of texts among the arguments that are not options.
  private var textPlaces: [Int] = []
  private var takesMoreTexts = false
  private var placeCount = 0

  /// The names that the parser handles itself.
  static let builtIn: Set<String> = ["-h", "--help", "--help-hidden", "--version"]
  /// The names that commands give to an argument that is a text.
  private static let textNames: Set<JSONValue> = ["text", "words", "value", "name"]

  /// A table of options without values.
  init(flags: Set<String>) {
    for flag in flags { takesValue[flag] = false }
  }

  /// - Complexity: O(options of the types and of commands below them).
  init(of types: [any ParsableArguments.Type]) {
    for type in types {
      guard let json = try? JSONReader.read(Array(type._dumpHelp().utf8)),
        case .array(let arguments) = JSONValue(json)["command"]?["arguments"]
      else { continue }
      for argument in arguments { add(argument) }
    }
  }

  private mutating func add(_ argument: JSONValue) {
    if argument["parsingStrategy"] == "postTerminator" { keepsTerminator = true }
    if argument["kind"] == "positional" {
      if let name = argument["valueName"], OptionTable.textNames.contains(name) {
        textPlaces.append(placeCount)
        takesMoreTexts = argument["isRepeating"] == true
      }
      placeCount += 1
    }
    guard case .array(let names) = argument["names"] else { return }
    for name in names {
      guard case .string(let word) = name["name"] else { continue }
      let written = (name["kind"] == "long" ? "--" : "-") + word
      guard !OptionTable.builtIn.contains(written) else { continue }
      takesValue[written] = argument["kind"] == "option"
    }
  }

  /// Whether a value follows the option with this name; nil if there is no such option.
  func takesValue(_ name: some StringProtocol) -> Bool? { takesValue[String(name)] }

  /// Whether a text is missing after this number of arguments that are not options, or the command
  /// accepts any number of texts.
  func lacksText(behind count: Int) -> Bool {
    takesMoreTexts || textPlaces.contains { $0 >= count }
  }

  /// Whether an argument is `--name=value` or `-n=value` of an option.
  func holdsValue(_ argument: String) -> Bool {
    guard let sign = argument.firstIndex(of: "=") else { return false }
    return takesValue[String(argument[..<sign])] != nil
  }
}
