/// Lets `--data DIR` stand before the subcommand as well as after it.
package enum CommandLineArguments {
  /// Moves `--data DIR` and `--data=DIR` from before a subcommand to right behind it.
  ///
  /// - Parameter groups: commands that have subcommands of their own, behind which options do not stand.
  package static func movingGlobalOptions(
    _ arguments: [String], behind subcommands: [String], groups: Set<String> = []
  ) -> [String] {
    var moved: [String] = []
    var index = 0
    while index < arguments.count {
      if arguments[index] == "--data", index + 1 < arguments.count {
        moved += arguments[index...index + 1]
        index += 2
      } else if arguments[index].hasPrefix("--data=") {
        moved.append(arguments[index])
        index += 1
      } else {
        break
      }
    }
    guard index < arguments.count, subcommands.contains(arguments[index]) else { return arguments }
    let first = index
    while groups.contains(arguments[index]), index + 1 < arguments.count,
      !arguments[index + 1].hasPrefix("-")
    {
      index += 1
    }
    return Array(arguments[first...index]) + moved + arguments[(index + 1)...]
  }
}
