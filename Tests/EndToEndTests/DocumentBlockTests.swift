import Foundation
import Testing

extension EndToEnd {
  /// Every line of the shell blocks in the documents for users is run, or the table below has the
  /// reason why it cannot run here. `ReadmeSessionTests` plays the blocks with prompts and output,
  /// and compares the output.
  @Suite struct DocumentBlockTests {
    /// Documents whose lines run here, one after the other, and the kind of their blocks.
    /// COMMANDS.md follows README.md, and runs its session with its own agent.
    private static let documents: KeyValuePairs = [
      "README.md": "sh", "Client/COMMANDS.md": "sh", "Client/INSTALLING.md": "sh",
      "Client/PAGE.md": "sh", "Client/TOUR.md": "sh", "Server/OPERATIONS.md": "sh",
      "Client/FAQ.md": "sh", "Tests/README.md": "sh",
      "Client/SyncDaemon/HOOKING-UP.md": "console", "Client/SyncDaemon/RUNNING.md": "console",
      "Server/PushDelivery/SETTING-UP.md": "sh",
    ]

    /// Documents whose blocks with prompts `ReadmeSessionTests` plays, or whose blocks are only for
    /// people who work on Cospool, such as measurements and long runs.
    private static let otherDocuments: Set = [
      "README.md console", "Client/COMMANDS.md console", "Client/TOUR.md console",
      "Client/SyncCommand/README.md console",
      "Client/SyncDaemon/README.md console", "Tests/Benchmarks/RESULTS.md sh",
      "Tests/Scenarios/README.md sh", "Tests/Fuzzing/README.md sh",
    ]

    /// Beginnings of lines that do not run here, and where they run.
    private static let elsewhere: KeyValuePairs = [
      "sudo apt install": "packages need a clean machine: make dist-check",
      "sh install.sh": "archives: theInstallerChecksWhatItInstalls; packages: make dist-check",
      "make ": "builds for minutes",
      "sudo systemctl": "a machine that systemd booted: make systemd-check",
      "sudo cospool-server backup": "BackupFlowTests: the timer's first backup is not there yet",
      "cospool-server backup list": "BackupFlowTests: no backup was made here",
      "sudo make install": "PackagingTests.anInstallationHasAllThatBelongsToIt",
      "cospool config set agent claude": "make agents-check: it would start the real one",
      "cospool setup": "SetupTests: it makes what this machine has already",
      "cospool web --address 0.0.0.0": "WebElsewhereTests: it listens for all",
      "cospool web revoke": "WebKeyTests: no browser has a key here",
      "cospool web rename": "WebKeyTests: no browser has a key here",
      "cospool push add ntfy": "PersonPushTests: it goes to a stranger's server",
      "cospool-server serve --metrics": "it serves until it is stopped: MetricsTests",
      "cospool-server serve --trusted-proxy": "AdministrationTests: behindAProxy…",
      "curl http://127.0.0.1:9420": "MetricsTests: the port may be another's",
      "cospool queue import --lines": "FileCommandTests: the file is the reader's own",
      "cospool queue list -s review --watch": "TerminalTests: it watches until it is stopped",
      "cospool output review": "OutputFlowTests: no agent has run here",
      "claude mcp add": "the agents' own programs: make agents-check",
      "codex mcp add": "the agents' own programs: make agents-check",
    ]

    @Test func everyLineRunsOrItsReasonIsGiven() async throws {
      try await TestBed.run { bed in
        // The default addresses of both programs.
        let server = Server(
          bed, data: bed.path(".local/share/cospool-server"), options: ["--devices-may-pair"])
        try await server.start()
        let a = Device(bed, "a", data: bed.path(".local/share/cospool"))
        try await a.start()
        try await a.pair(with: server)
        let message = try await a.send("login-page", "Write the failing test first")
        _ = try await server.code(workspace: "old")
        try FileManager.default.createDirectory(
          atPath: bed.path("units"), withIntermediateDirectories: true)
        var used: Set<String> = []
        var count = 0
        for (document, kind) in Self.documents {
          var printed = ""
          for line in try Self.lines(of: document, in: kind) {
            if line.hasPrefix("# ") {
              #expect(printed.contains(line.dropFirst(2)), "\(document): \(line)")
              continue
            }
            if let known = Self.elsewhere.first(where: { line.hasPrefix($0.key) }) {
              used.insert(known.key)
              continue
            }
            let command = Self.fitted(line, to: server, bed).replacing("3f2a", with: message)
            let output = try await run(command, in: bed, server)
            #expect(output.isSuccess, "\(document): \(line)\n\(output)")
            printed = output.standardOutput
            count += 1
            // The following lines need the server again.
            if line == "cospool unpair" { try await a.pair(with: server) }
          }
        }
        #expect(count >= 25)
        #expect(used.count == Self.elsewhere.count, "reasons without a line")
      }
    }

    /// The line with the addresses and folders of this test.
    private static func fitted(_ line: String, to server: Server, _ bed: TestBed) -> String {
      var line = line.replacing(#/ +#.*/#, with: "").replacing(#/^sudo /#, with: "")
      for (words, others) in [
        ("service install", "service install --dry-run"), ("wss://new.example.org", server.url),
        ("wss://cospool.example.org", server.url), ("/etc/systemd/system", bed.path("units")),
        (" /backup", " " + bed.path("backup")),
      ] {
        line = line.replacing(words, with: others)
      }
      guard line.hasPrefix("cospool web"), !line.hasSuffix("status"), !line.hasSuffix("off") else {
        return line
      }
      return line.replacing(" --print", with: "") + " --port 0 --print"
    }

    private func run(_ command: String, in bed: TestBed, _ server: Server) async throws -> Output {
      let bin = URL(filePath: try Executables.path(of: "cospool")).deletingLastPathComponent()
      let process = try bed.launch(
        "/bin/bash", ["-c", "cd \"$HOME\" && \(command)"], name: command,
        environment: [
          "PATH": "\(bin.path):/usr/sbin:/usr/bin:/sbin:/bin", "COSPOOL_SERVER_DATA": server.data,
        ])
      return try await bed.finish(process, [command])
    }

    /// The lines in the blocks of a kind, without prompts.
    private static func lines(of document: String, in kind: String) throws -> [String] {
      let text = try String(
        contentsOf: Executables.root.appending(path: document), encoding: .utf8)
      var lines: [String] = []
      var isInside = false
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.hasPrefix("```") {
          isInside = !isInside && line == "```\(kind)"
        } else if isInside, !line.isEmpty {
          lines.append(String(line.hasPrefix("$ ") ? line.dropFirst(2) : line))
        }
      }
      return lines
    }

    @Test func everyDocumentWithBlocksIsKnown() throws {
      let root = Executables.root.standardizedFileURL.path(percentEncoded: false)
      let files = try #require(
        FileManager.default.enumerator(
          at: Executables.root, includingPropertiesForKeys: nil, options: .skipsHiddenFiles))
      var found: Set<String> = []
      for case let file as URL in files where file.pathExtension == "md" {
        let name = file.standardizedFileURL.path(percentEncoded: false).dropFirst(root.count)
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        for kind in ["sh", "console"] where lines.contains("```\(kind)") {
          found.insert("\(name) \(kind)")
        }
      }
      let known = Self.otherDocuments.union(Self.documents.map { "\($0.key) \($0.value)" })
      #expect(found.subtracting(known) == [], "neither run nor listed")
      #expect(Self.otherDocuments.subtracting(found) == [], "listed, and not there")
    }

    /// The package's options file has examples: a server accepts them.
    @Test func theExamplesOfOptionsAreServes() async throws {
      try await TestBed.run { bed in
        let path = "Server/Packaging/debian/cospool-server.default"
        let text = try String(contentsOf: Executables.root.appending(path: path), encoding: .utf8)
        let examples = text.matches(of: /#   COSPOOL_SERVER_OPTIONS="([^"]+)"/)
        #expect(examples.count >= 4)
        let file = bed.path("file.pem")
        try Data().write(to: URL(filePath: file))
        for example in examples {
          let words = example.output.1.split(separator: " ")
            .map { $0.hasPrefix("/") ? file : String($0) }
          let output = try await bed.run(
            "cospool-server", ["service", "install", "--user", "--dry-run", "--"] + words)
          #expect(output.isSuccess, "\(example.output.0)\n\(output)")
        }
      }
    }
  }
}
