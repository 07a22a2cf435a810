import Foundation
import Testing

extension EndToEnd {
  /// Every command in README.md's code blocks is known to the executables, with its options.
  @Suite struct ReadmeCommandTests {
    @Test func namedCommandsExist() async throws {
      try await TestBed.run { bed in
        let commands = try Self.commands()
        #expect(commands.count >= 15)
        for command in commands {
          let help = try await bed.run(command.executable, command.subcommands + ["--help"])
          #expect(help.isSuccess, "README.md: \(command)\n\(help)")
          let usage = ([command.executable] + command.subcommands).joined(separator: " ")
          #expect(
            help.standardOutput.contains(usage), "README.md: \(command) is no command\n\(help)")
          for option in command.options {
            #expect(help.standardOutput.contains(option), "README.md: \(command): \(option)")
          }
        }
      }
    }

    struct Named: CustomStringConvertible {
      var executable: String
      var subcommands: [String]
      var options: [String]
      var description: String { "\(executable) \(subcommands) \(options)" }
    }

    /// The words that can follow an executable's name before its arguments begin.
    private static let groups: Set = [
      "queue", "thread", "session", "sync", "config", "draft", "backup", "server",
    ]

    private static func commands() throws -> [Named] {
      let readme = Executables.root.appending(path: "README.md")
      let text = try String(contentsOf: readme, encoding: .utf8)
      var inside = false
      var commands: [Named] = []
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.hasPrefix("```") {
          inside.toggle()
        } else if inside, let command = command(in: String(line)) {
          commands.append(command)
        }
      }
      return commands
    }

    private static func command(in line: String) -> Named? {
      let bare = line.replacing(#/"[^"]*"/#, with: "TEXT").replacing(#/ +[#].*/#, with: "")
      var words = bare.split(separator: " ").map(String.init)[...]
      if words.first == "$" { words.removeFirst() }
      guard let first = words.popFirst()?.split(separator: "/").last.map(String.init),
        ["cospool", "cospoold", "cospool-server"].contains(first)
      else { return nil }
      var subcommands: [String] = []
      if first != "cospoold", let word = words.first, !word.hasPrefix("-") {
        subcommands.append(word)
        words.removeFirst()
        if groups.contains(word), let next = words.first { subcommands.append(next) }
      }
      return Named(
        executable: first, subcommands: subcommands, options: words.filter { $0.hasPrefix("--") })
    }
  }
}
