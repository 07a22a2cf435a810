import ArgumentParser
import QueueModel

/// The command or the argument that a user probably meant by an unknown one.
enum CommandSuggestion {
  /// The probable meaning of a surplus argument, by the command's usage.
  private static let hints = [
    (usage: "<text>", hint: "Put quotation marks around a text of several words."),
    (usage: "--remark", hint: "Give a remark with --remark TEXT."),
    (usage: "--session", hint: "Name a session with -s NAME."),
  ]

  /// A usage error, with a hint below its first line if it is about a surplus argument.
  static func withHint(_ message: String) -> String {
    guard
      let first = message.split(separator: "\n", maxSplits: 1).first,
      first.lowercased().contains("unexpected argument"),
      let hint = hints.first(where: { message.contains($0.usage) })?.hint
    else { return message }
    return first + "\n" + hint + message.dropFirst(first.count)
  }

  /// The first word that is not an option; nil if there is none.
  static func command(of arguments: [String]) -> String? {
    var words = arguments[...]
    while let word = words.popFirst() {
      guard word.hasPrefix("-") else { return word }
      if word == "--data" { words = words.dropFirst() }
    }
    return nil
  }

  /// A sentence about the first word that names no command; nil if every word does.
  static func text(for arguments: [String]) -> String? {
    var group: any ParsableCommand.Type = Cospool.self
    var path = [Cospool._commandName]
    var words = arguments[...]
    var followsOption = false
    while let word = words.popFirst() {
      if word == "--data" {
        words = words.dropFirst()
        continue
      }
      if word.hasPrefix("-") {
        followsOption = word != "--json"
        continue
      }
      let subcommands = group.configuration.subcommands
      // What follows an option of the group's usual command may be its value.
      guard !subcommands.isEmpty, !followsOption || group.configuration.defaultSubcommand == nil
      else { return nil }
      if let next = subcommands.first(where: { $0._commandName == word }) {
        group = next
        path.append(word)
        continue
      }
      guard word != "help" else { return nil }
      let known = subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
      // As people know it from other programs.
      let close =
        word == "ls" && known.contains("list")
        ? ["list"] : Similarity.closest(to: word, among: known)
      let meant = close.map { "'\((path + [$0]).joined(separator: " "))'" }
      let question = meant.isEmpty ? "" : " Did you mean \(meant.joined(separator: " or "))?"
      return "There is no command '\((path + [word]).joined(separator: " "))'.\(question)"
    }
    return nil
  }
}
