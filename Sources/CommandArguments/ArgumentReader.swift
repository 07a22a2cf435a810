package import ArgumentParser

/// Wrong usage, found before anything was done.
package struct ArgumentFault: Error {
  /// The fault, and the correct form.
  package var message: String
  /// The message, the command's usage, and how to get its help.
  package var text: String
  /// The command that the words of the line name.
  package var command: any ParsableCommand.Type
}

/// Decides which arguments of a line are options and which are text; see the room's README.
package struct ArgumentReader: Sendable {
  /// The result of reading.
  package struct Reading {
    /// The command that the words of the line name.
    package var command: any ParsableCommand.Type
    /// The arguments in the form for the parser.
    package var arguments: [String]
    /// Whether a `-` comes after `--`: then it is a text, and not standard input.
    package var isDashText: Bool
  }

  private let root: any ParsableCommand.Type
  private let shared: [any ParsableArguments.Type]
  private let flags: Set<String>

  /// - Parameters:
  ///   - shared: options that may also come before the words of a command.
  ///   - flags: the shared options without a value, by their names with dashes. A line with no
  ///     other options is read without the parser's description of the command.
  package init(
    _ root: any ParsableCommand.Type, shared: [any ParsableArguments.Type] = [],
    flags: Set<String> = []
  ) {
    self.root = root
    self.shared = shared
    self.flags = flags
  }

  /// Reads the arguments after the executable's name.
  ///
  /// - Throws: `ArgumentFault` if one is neither an option of the command nor text.
  /// - Complexity: O(characters of the arguments + options of the command).
  package func read(_ arguments: [String]) throws(ArgumentFault) -> Reading {
    // The help of a command, and the parser's own output for completions and manuals.
    let first = arguments.first ?? ""
    if first == "help" || first == "---completion" || first == "--experimental-dump-help"
      || first.hasPrefix("--generate-completion-script")
    {
      return Reading(command: root, arguments: arguments, isDashText: false)
    }
    var line = try words(arguments)
    if line.rest.count == 1, OptionTable.builtIn.contains(line.rest[line.rest.startIndex]) {
      line.options += line.rest
      return Reading(command: line.command, arguments: line.assembled, isDashText: false)
    }
    if !isPlain(line.rest) {
      // A group of commands has only the shared options.
      let isGroup = !line.command.configuration.subcommands.isEmpty
      line.table = OptionTable(of: isGroup ? shared : shared + [line.command])
    }
    while !line.rest.isEmpty { try line.take() }
    line.settle()
    return Reading(
      command: line.command, arguments: line.assembled,
      isDashText: line.textsBehindTerminator.contains("-"))
  }

  /// Whether no arguments begin with a dash, except the known flags.
  private func isPlain(_ arguments: some Sequence<String>) -> Bool {
    arguments.allSatisfy { !$0.hasPrefix("-") || $0 == "-" || flags.contains($0) }
  }

  /// The words that name the command, with the options before the last of them.
  private func words(_ arguments: [String]) throws(ArgumentFault) -> Line {
    var line = Line(root: root, command: root, rest: arguments[...])
    line.table = OptionTable(flags: flags)
    // Reads on until the first argument that is neither a word nor a shared option, then returns to
    // the position after the last word.
    var ahead = line
    while let argument = ahead.rest.first {
      if argument.hasPrefix("-") {
        if !ahead.hasSharedOptions, !flags.contains(argument) {
          ahead.table = OptionTable(of: shared)
          ahead.hasSharedOptions = true
        }
        guard ahead.table.takesValue(argument) != nil || ahead.table.holdsValue(argument) else {
          break
        }
        try ahead.take()
      } else {
        guard
          let next = ahead.command.configuration.subcommands.first(where: {
            $0._commandName == argument || $0.configuration.aliases.contains(argument)
          })
        else { break }
        ahead.command = next
        ahead.words.append(argument)
        ahead.rest.removeFirst()
        line = ahead
      }
    }
    while let next = line.command.configuration.defaultSubcommand, !line.rest.isEmpty {
      line.command = next
    }
    return line
  }
}

/// A line of arguments that is being read.
private struct Line {
  var root: any ParsableCommand.Type
  var command: any ParsableCommand.Type
  var rest: ArraySlice<String>
  var table = OptionTable(flags: [])
  var hasSharedOptions = false
  var words: [String] = []
  var options: [String] = []
  var texts: [String] = []
  /// Arguments with white space that are texts, or options with their values, and the number of
  /// texts before each.
  var undecided: [(argument: String, place: Int)] = []
  var textsBehindTerminator: ArraySlice<String> = []
  var hasTerminator = false

  /// The arguments in an order that is unambiguous for the parser.
  var assembled: [String] {
    // The parser treats the word `help` as a command wherever a command is possible.
    let needsTerminator =
      hasTerminator || texts.contains { $0.hasPrefix("-") && $0 != "-" }
      || words.isEmpty && texts.first == "help"
    if table.keepsTerminator {
      return words + options + texts + (hasTerminator ? ["--"] : []) + textsBehindTerminator
    }
    return words + options + (needsTerminator ? ["--"] : []) + texts + textsBehindTerminator
  }

  /// Reads the next argument, with its value if it is an option that has one.
  mutating func take() throws(ArgumentFault) {
    let argument = rest.removeFirst()
    if argument == "--" {
      hasTerminator = true
      textsBehindTerminator = rest
      rest = []
    } else if !argument.hasPrefix("-") || argument == "-" {
      texts.append(argument)
    } else if OptionTable.builtIn.contains(argument) {
      throw fault(
        "\(argument) must be the command's only argument. If it is a text, write -- before it.")
    } else if let takesValue = table.takesValue(argument) {
      options.append(argument)
      if takesValue { try takeValue(of: argument) }
    } else if table.holdsValue(argument) {
      if argument.contains(where: \.isWhitespace) {
        undecided.append((argument, texts.count))
      } else {
        options.append(argument)
      }
    } else if argument.contains(where: \.isWhitespace), !table.keepsTerminator {
      texts.append(argument)
    } else {
      throw refusal(of: argument)
    }
  }

  /// Treats `--name=a b` as a text if the command's text is missing, and otherwise as an option.
  mutating func settle() {
    var added = 0
    for (argument, place) in undecided {
      if table.lacksText(behind: texts.count + textsBehindTerminator.count) {
        texts.insert(argument, at: place + added)
        added += 1
      } else {
        options.append(argument)
      }
    }
    undecided = []
  }

  private mutating func takeValue(of option: String) throws(ArgumentFault) {
    guard let value = rest.first, value != "--", !OptionTable.builtIn.contains(value),
      table.takesValue(value) == nil,
      !table.holdsValue(value) || value.contains(where: \.isWhitespace)
    else { throw fault("The value of \(option) is missing.") }
    if value.hasPrefix("-"), value != "-" {
      // A number may be a value that the option refuses.
      guard value.contains(where: \.isWhitespace) || Double(value) != nil else {
        throw fault(
          "\(value) is not an option of this command. If it is the value of \(option), write "
            + "\(option)=\(value)")
      }
      options[options.count - 1] = "\(option)=\(value)"
    } else {
      options.append(value)
    }
    rest.removeFirst()
  }

  private func refusal(of argument: String) -> ArgumentFault {
    let short = String(argument.prefix(2))
    if table.takesValue(short) == true {
      return fault("Write \(short) \(argument.dropFirst(2)), with a space in between.")
    }
    return fault(
      "\(argument) is not an option of this command. If it is a text, write -- before it.")
  }

  private func fault(_ message: String) -> ArgumentFault {
    let usage = root.usageString(for: command)
    let name = ([root._commandName] + words).joined(separator: " ")
    return ArgumentFault(
      message: message,
      text: "Error: \(message)\nUsage: \(usage)\n  See '\(name) --help' for more information.",
      command: command)
  }
}
