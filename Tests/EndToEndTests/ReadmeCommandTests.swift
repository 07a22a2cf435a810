import Foundation
import Testing

extension EndToEnd {
  /// Every command in the code blocks of the documents is known to the executables, with its
  /// options.
  @Suite struct ReadmeCommandTests {
    @Test(arguments: [
      ("README.md", 10), ("Client/INSTALLING.md", 7), ("Client/COMMANDS.md", 25),
      ("Client/PAGE.md", 7), ("Client/TOUR.md", 15), ("Server/OPERATIONS.md", 3),
      ("Client/SyncDaemon/RUNNING.md", 6), ("Client/SyncDaemon/HOOKING-UP.md", 9),
      ("Server/PushDelivery/SETTING-UP.md", 2), ("Client/SyncCommand/README.md", 3),
    ])
    func namedCommandsExist(document: String, countMin: Int) async throws {
      try await TestBed.run { bed in
        let commands = try Self.commands(of: document)
        #expect(commands.count >= countMin)
        for command in commands {
          // `ask` exits with 0 only for an answer.
          let words =
            command.subcommands == ["ask"] ? ["help", "ask"] : command.subcommands + ["--help"]
          let help = try await bed.run(command.executable, words)
          #expect(help.isSuccess, "\(document): \(command)\n\(help)")
          let usage = ([command.executable] + command.subcommands).joined(separator: " ")
          #expect(
            help.standardOutput.contains(usage), "\(document): \(command) is not a command\n\(help)"
          )
          for option in command.options {
            #expect(help.standardOutput.contains(option), "\(document): \(command): \(option)")
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
      "queue", "thread", "session", "sync", "config", "draft", "backup", "server", "push",
      "configure", "workspace", "service", "hooks", "web", "task", "notifications",
    ]

    private static func commands(of document: String) throws -> [Named] {
      let readme = Executables.root.appending(path: document)
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
      if let first = words.first, first == "sudo" || first.hasSuffix("$") { words.removeFirst() }
      guard let first = words.popFirst()?.split(separator: "/").last.map(String.init),
        ["cospool", "cospoold", "cospool-server"].contains(first)
      else { return nil }
      var subcommands: [String] = []
      if first != "cospoold", let word = words.first, !word.hasPrefix("-") {
        subcommands.append(word)
        words.removeFirst()
        while let group = subcommands.last, groups.contains(group), let next = words.first,
          !next.hasPrefix("-")
        {
          subcommands.append(next)
          words.removeFirst()
        }
      }
      return Named(
        executable: first, subcommands: subcommands,
        options: words.prefix { $0 != "--" }.filter { $0.hasPrefix("--") })
    }
  }
}
