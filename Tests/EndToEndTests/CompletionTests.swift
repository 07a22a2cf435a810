import Foundation
import Testing

extension EndToEnd {
  /// TAB in real shells, with the script that `cospool completions` prints.
  @Suite struct CompletionTests {
    /// Ids that a shell would run or expand, with the characters that a user types before TAB.
    private static let hostile = [
      "p$(touch pwned)": "p", "q`touch pwned`": "q", "r${pwned:=x}": "r", "s;touch pwned": "s",
      "$(touch pwned)": "\\$", "!!": "\\!", "~root": "\\~r",
    ]
    private static let unusual = [
      "t b'c\"d\\e": "t", "u*?[x]{a,b}": "u", "v:w=x@y": "v", "#h": "\\#", "ünï": "ü",
    ]

    @Test(arguments: [hostile, unusual]) func bash(sessions: [String: String]) async throws {
      try await complete(sessions, in: .bash)
    }

    /// Within quotes, an id is escaped for them.
    @Test(arguments: ["'", "\""]) func bashWithinQuotes(quote: String) async throws {
      let sessions = [
        "p$(touch pwned)": "p", "q`touch pwned`": "q", "t b'c\"d\\e": "t", "v:w=x@y": "v",
      ]
      try await complete(sessions.mapValues { quote + $0 }, in: .bash)
    }

    @Test(
      .enabled(if: RealShell.zsh.isInstalled, "\(RealShell.missing)"),
      arguments: [hostile, unusual])
    func zsh(sessions: [String: String]) async throws {
      try await complete(sessions, in: .zsh)
    }

    @Test(
      .enabled(if: RealShell.fish.isInstalled, "\(RealShell.missing)"),
      arguments: [hostile, unusual])
    func fish(sessions: [String: String]) async throws {
      try await complete(sessions, in: .fish)
    }

    /// Types each session's beginning, TAB and a message, and expects the message in the session.
    private func complete(_ sessions: [String: String], in shell: RealShell) async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        for id in sessions.keys { try await device.cospool("session", "add", id) }
        let typed =
          ["cd", shell.load] + sessions.values.map { "cospool send -s \($0)\t note" } + ["exit"]
        let folder = URL(filePath: try Executables.path(of: "cospool")).deletingLastPathComponent()
        let process = try bed.launch(
          shell.path, shell.arguments, name: shell.program,
          input: typed.map { $0 + "\n" }.joined(),
          environment: [
            "COSPOOL_DATA": device.data, "PATH": "\(folder.path):/usr/bin:/bin", "TERM": "dumb",
          ])
        let output = try await bed.finish(process, shell.arguments)
        let made = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
        #expect(!made.contains { $0.hasPrefix("pwned") }, "\(output)")
        for id in sessions.keys {
          #expect(try await device.contents(id) == ["note"], "\(id): \(output)")
        }
      }
    }
  }

  /// A shell in which a test presses TAB.
  struct RealShell {
    var program: String
    /// The program that starts it, so that it reads what is typed.
    var path: String
    var arguments: [String]
    /// Loads the completions.
    var load: String

    static let missing = "The shell is not installed: make setup SHELLS=1 installs it."

    static let bash = RealShell(
      program: "/bin/bash", path: "/bin/bash", arguments: ["--norc", "--noprofile", "-i"],
      load: "source <(cospool completions bash)")
    /// The line editors of the other two need a terminal.
    static let zsh = RealShell(
      program: "/usr/bin/zsh", path: "/usr/bin/script",
      arguments: ["-qefc", "zsh -f -i", "/dev/null"],
      load: "autoload -Uz compinit; compinit -u -D; source <(cospool completions zsh)")
    static let fish = RealShell(
      program: "/usr/bin/fish", path: "/usr/bin/script",
      arguments: ["-qefc", "fish --no-config -i", "/dev/null"],
      load: "cospool completions fish | source")

    var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }
  }
}
