import Foundation
import Testing

extension EndToEnd {
  /// Every line of the blocks for shells in the documents for people is run, or the table below says why it
  /// cannot be here. `ReadmeSessionTests` plays the blocks with prompts, and compares what they print.
  @Suite struct DocumentBlockTests {
    /// Beginnings of lines that are not run here, and who runs them.
    private static let elsewhere: KeyValuePairs = [
      "sudo apt install": "packages need a clean machine: make dist-check",
      "sh install.sh": "archives: theInstallerChecksWhatItInstalls; packages: make dist-check",
      "make ": "builds for minutes",
      "sudo make install": "PackagingTests.anInstallationHasAllThatBelongsToIt",
      ".build-harness/": "MergeHarnessTests runs scenario, matrix and seeds",
      "cospool setup": "SetupTests: it makes what this machine has already",
      "cospool web --address 0.0.0.0": "WebElsewhereTests: it listens for all",
      "cospool web revoke": "WebKeyTests: no browser has a key here",
      "cospool push add ntfy": "PersonPushTests: it goes to a stranger's server",
      "cospool-server serve --metrics": "it serves until it is stopped: MetricsTests",
      "cospool-server serve --trusted-proxy": "AdministrationTests: behindAProxy…",
      "curl http://127.0.0.1:9420": "MetricsTests: the port may be another's",
    ]

    @Test func everyLineRunsOrItsReasonIsGiven() async throws {
      try await TestBed.run { bed in
        // Where both programs look where nothing is said.
        let server = Server(
          bed, data: bed.path(".local/share/cospool-server"), options: ["--devices-may-pair"])
        try await server.start()
        let a = Device(bed, "a", data: bed.path(".local/share/cospool"))
        try await a.start()
        try await a.pair(with: server)
        try await a.send("login-page", "Write the failing test first")
        _ = try await server.code(workspace: "old")
        try FileManager.default.createDirectory(
          atPath: bed.path("units"), withIntermediateDirectories: true)
        var used: Set<String> = []
        var count = 0
        for document in ["README.md", "Client/TOUR.md", "Server/OPERATIONS.md", "Client/FAQ.md"] {
          for line in try Self.lines(of: document) {
            if let known = Self.elsewhere.first(where: { line.hasPrefix($0.key) }) {
              used.insert(known.key)
              continue
            }
            let command = Self.fitted(line, to: server, bed)
            let output = try await run(command, in: bed, server)
            #expect(output.isSuccess, "\(document): \(line)\n\(output)")
            count += 1
            // What comes behind it needs the server again.
            if line == "cospool unpair" { try await a.pair(with: server) }
          }
        }
        #expect(count >= 25)
        #expect(used.count == Self.elsewhere.count, "reasons without a line")
      }
    }

    /// The same with the addresses and folders of this test.
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

    /// What stands in the blocks that are marked as for a shell.
    private static func lines(of document: String) throws -> [String] {
      let text = try String(
        contentsOf: Executables.root.appending(path: document), encoding: .utf8)
      var lines: [String] = []
      var isInside = false
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.hasPrefix("```") {
          isInside = !isInside && line == "```sh"
        } else if isInside, !line.isEmpty {
          lines.append(String(line))
        }
      }
      return lines
    }
  }
}
