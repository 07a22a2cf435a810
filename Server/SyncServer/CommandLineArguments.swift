/// Lets `--data DIR` stand before the subcommand as well as after it.
package enum CommandLineArguments {
  /// Moves `--data DIR` and `--data=DIR` from before a subcommand to right behind it.
  package static func movingGlobalOptions(
    _ arguments: [String], behind subcommands: [String]
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
    return [arguments[index]] + moved + arguments[(index + 1)...]
  }
}

/// Where the server's data lie.
package enum DataDirectory {
  /// The option, else `$COSPOOL_SERVER_DATA`, else the XDG base directory's place.
  package static func resolve(
    option: String?, environment: [String: String], home: String
  ) -> String {
    if let option, !option.isEmpty { return option }
    if let chosen = environment["COSPOOL_SERVER_DATA"], !chosen.isEmpty { return chosen }
    if let base = environment["XDG_DATA_HOME"], base.hasPrefix("/") {
      return base + "/cospool-server"
    }
    return home + "/.local/share/cospool-server"
  }
}
