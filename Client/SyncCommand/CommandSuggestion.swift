import ArgumentParser
import QueueModel

/// What a person may have meant by a command or an argument that there is not.
enum CommandSuggestion {
  /// What an argument too many was probably meant as, by what the command's usage has.
  private static let hints = [
    (usage: "<text>", hint: "Put quotation marks around a text of several words."),
    (usage: "--remark", hint: "Give a remark with --remark TEXT."),
    (usage: "--session", hint: "Name a session with -s NAME."),
  ]

  /// A usage error, with a hint below its first line if it is about an argument too many.
  static func withHint(_ message: String) -> String {
    guard
      let first = message.split(separator: "\n", maxSplits: 1).first,
      first.lowercased().contains("unexpected argument"),
      let hint = hints.first(where: { message.contains($0.usage) })?.hint
    else { return message }
    return first + "\n" + hint + message.dropFirst(first.count)
  }

  /// The first word that is no option; nil where there is none.
  static func command(of arguments: [String]) -> String? {
    var words = arguments[...]
    while let word = words.popFirst() {
      guard word.hasPrefix("-") else { return word }
      if word == "--data" { words = words.dropFirst() }
    }
    return nil
  }

  /// A sentence about the first word that names no command; nil where every one does.
  static func text(for arguments: [String]) -> String? {
    var group: any ParsableCommand.Type = Cospool.self
    var path = [Cospool._commandName]
    var words = arguments[...]
    while let word = words.popFirst() {
      if word == "--data" {
        words = words.dropFirst()
        continue
      }
      if word.hasPrefix("-") { continue }
      let subcommands = group.configuration.subcommands
      guard !subcommands.isEmpty else { return nil }
      if let next = subcommands.first(where: { $0._commandName == word }) {
        group = next
        path.append(word)
        continue
      }
      guard word != "help" else { return nil }
      let known = subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
      let close = Similarity.closest(to: word, among: known)
      let meant = close.map { "'\((path + [$0]).joined(separator: " "))'" }
      let question = meant.isEmpty ? "" : " Did you mean \(meant.joined(separator: " or "))?"
      return "There is no command '\((path + [word]).joined(separator: " "))'.\(question)"
    }
    return nil
  }
}
