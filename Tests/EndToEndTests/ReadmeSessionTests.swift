import Foundation
import Testing

extension EndToEnd {
  /// The sessions in the documents are real: their commands run one after the other, and their
  /// output is compared. Ids, times, paths and addresses differ in each run; the document's server
  /// has a certificate.
  @Suite struct ReadmeSessionTests {
    struct Step {
      /// Before the prompt; empty if the document has one machine.
      var device: String
      var command: String
      var output: [String]
    }

    @Test(arguments: [("README.md", 4), ("Client/COMMANDS.md", 20)])
    func theSessionsAreReal(document: String, countMin: Int) async throws {
      let steps = try Self.steps(of: document)
      #expect(steps.count >= countMin)
      try await play(steps)
    }

    /// The tour, in which two machines take part.
    @Test func theTourIsReal() async throws {
      let steps = try Self.steps(of: "Client/TOUR.md")
      #expect(steps.count >= 15 && Set(steps.map(\.device)) == ["laptop", "desk"])
      try await play(steps)
    }

    /// The references of the command line and of the local API.
    @Test(arguments: ["Client/SyncCommand/README.md", "Client/SyncDaemon/README.md"])
    func theExamplesOfTheReferencesAreReal(document: String) async throws {
      let steps = try Self.steps(of: document)
      #expect(steps.count >= 3)
      try await play(steps)
    }

    private func play(_ steps: [Step]) async throws {
      try await TestBed.run { bed in
        // The project that the documents send prompts for.
        try FileManager.default.createDirectory(
          atPath: bed.path("shop"), withIntermediateDirectories: true)
        let server = try await bed.server()
        let laptop = try await bed.device("laptop", of: server)
        let desk = try await bed.device("desk", of: server)
        var ids: [String: String] = [:]
        var variables = ""
        for step in steps {
          let device = step.device == "desk" ? desk : laptop
          var command = Self.translated(step.command, ids: ids)
            .replacing("$HOME/.local/share/cospool", with: device.data)
          if command.contains(/^[A-Z]+=/) { variables += command + "\n" }
          // Events do not end, and the document has the first of them.
          let isEndless = command.contains(" -N ")
          if isEndless { command.replace(" -N ", with: " -N --max-time 3 ") }
          if command.contains("cospool status") {
            // Readers type more slowly than this.
            try await bed.eventually("the other device has everything") {
              !(try await device.cospool("status")).contains("catching up")
            }
          }
          let output = try await run(variables + command, in: bed, data: device.data)
          var lines = output.split(separator: "\n").map(String.init)
          if isEndless { lines = Array(lines.prefix(step.output.count)) }
          for (expected, actual) in zip(step.output, lines) {
            for (written, real) in zip(Self.ids(in: expected), Self.ids(in: actual)) {
              ids[written] = real
            }
          }
          #expect(
            lines.map { Self.masked($0, home: bed.directory) }
              == step.output.filter { !$0.isEmpty && !$0.hasPrefix("certificate ") }
              .map { Self.masked($0, home: "/home/ada") },
            "$ \(step.command)\nprints\n\(output)")
        }
        #expect(try await laptop.stop() == .code(0))
        #expect(try await desk.stop() == .code(0))
      }
    }

    /// The commands of a new user in one night: two machines, three agents. A message fails, an
    /// agent asks, a machine dies. At most 20 commands, and no full ids.
    @Test func aNightOfTwoMachinesAndThreeAgents() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let laptop = try await bed.device("laptop", of: server)
        let desk = try await bed.device("desk", of: server)
        let agents = [
          laptop.name: try ScriptAgent(bed, name: "laptop-agent"),
          desk.name: try ScriptAgent(bed, name: "desk-agent"),
        ]
        var typed: [String] = []
        func at(_ device: Device, _ words: String...) async throws -> String {
          typed.append(words.joined(separator: " "))
          return try await device.attempt(words).succeeded().standardOutput
        }
        for device in [laptop, desk] {
          let agent = try #require(agents[device.name])
          _ = try await at(device, "config", "set", "command", "\(agent.path) {}")
          _ = try await at(device, "config", "set", "agent", "command")
        }
        _ = try await at(laptop, "send", "-s", "login", "the test fails")
        _ = try await at(laptop, "send", "-s", "login", "then mend it")
        _ = try await at(laptop, "send", "-s", "release", "it asks before it pushes")
        _ = try await at(desk, "send", "-s", "docs", "write the handbok")
        let shown = try await at(desk, "queue", "list", "-s", "docs")
        _ = try await at(
          desk, "queue", "edit", try id("handbok", in: shown), "write the handbook")
        _ = try await at(laptop, "session", "host", "login", "this")
        _ = try await at(laptop, "session", "host", "release", "this")
        _ = try await at(desk, "session", "host", "docs", "this")

        // The request on the laptop is approved at the desk.
        try await bed.eventually("it asks, and it failed", within: 90) {
          let picture = try await desk.cospool("overview")
          return picture.contains("git push") && picture.contains("stopped: needs you")
        }
        let picture = try await at(desk)
        _ = try await at(desk, "approve", "release")
        #expect(picture.split(separator: "\n").dropFirst().first?.hasPrefix("release") == true)
        #expect(picture.contains("exit code 3: no such branch"))
        try await bed.eventually("both are done", within: 90) {
          let release = try await laptop.queue("release").messages
          return try await desk.queue("docs").messages.isEmpty && release.isEmpty
        }
        #expect(agents[desk.name]?.starts().map(\.prompt) == ["write the handbook"])

        // The laptop dies; the desk takes the session over and tries the failed message again.
        try await desk.synchronise()
        try await laptop.kill()
        // Its unfinished thread is no longer hidden: a user has to decide.
        try await bed.eventually("its threads show", within: 90) {
          try await desk.cospool("thread", "list", "--all").contains("locked") == false
        }
        _ = try await at(desk, "session", "host", "login", "this")
        agents[desk.name]?.mend()
        let left = try await at(desk, "queue", "list", "-s", "login")
        _ = try await at(desk, "queue", "retry", try id("the test fails", in: left))
        try await bed.eventually("the desk has done it", within: 120) {
          try await desk.queue("login").messages.isEmpty
        }
        #expect(
          agents[desk.name]?.starts().map(\.prompt).suffix(2) == ["the test fails", "then mend it"])
        let done = try await at(desk, "queue", "list", "--done")
        for words in ["the test fails", "then mend it", "it asks", "handbook"] {
          #expect(done.contains(words))
        }
        #expect(typed.count <= 20, "\(typed)")
        #expect(!typed.contains { $0.contains(/[0-9a-f]{8}-/) }, "\(typed)")
      }
    }

    /// The beginning of the id of the message with these words, as a list shows it.
    private func id(_ words: String, in list: String) throws -> String {
      let line = try #require(list.split(separator: "\n").first { $0.contains(words) })
      return String(try #require(line.firstMatch(of: /[0-9a-f]{8}/)).0.prefix(6))
    }

    private func run(_ command: String, in bed: TestBed, data: String) async throws -> String {
      let bin = URL(filePath: try Executables.path(of: "cospool")).deletingLastPathComponent()
      let process = try bed.launch(
        "/bin/bash", ["-c", "{ \(command)\n} 2>&1"], name: command,
        environment: [
          "COSPOOL_DATA": data, "PATH": "\(bin.path):/usr/sbin:/usr/bin:/sbin:/bin",
        ])
      return try await bed.finish(process, [command]).standardOutput
    }

    /// The commands in the boxes of a document, with the output below each.
    private static func steps(of document: String) throws -> [Step] {
      let text = try String(contentsOf: Executables.root.appending(path: document), encoding: .utf8)
      var steps: [Step] = []
      var inside = false
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.hasPrefix("```") {
          inside = !inside && line == "```console"
        } else if inside, let prompt = line.prefixMatch(of: #/([a-z]*)\$ /#) {
          steps.append(
            Step(
              device: String(prompt.1), command: String(line[prompt.range.upperBound...]),
              output: []))
        } else if inside, !steps.isEmpty, !line.isEmpty {
          steps[steps.count - 1].output.append(String(line))
        }
      }
      return steps
    }

    /// Shortened ids, or the beginnings of full ones.
    private static func ids(in line: String) -> [String] {
      line.matches(of: #/\b[0-9a-f]{8}\b/#).map { String($0.output) }
    }

    /// The command with the ids of this run instead of those in the text.
    private static func translated(_ command: String, ids: [String: String]) -> String {
      command.split(separator: " ", omittingEmptySubsequences: false).map { word in
        word.split(separator: "/", omittingEmptySubsequences: false).map { part in
          // The mark of a choice between texts, as in 1-7d41c0fe.
          if let choice = part.wholeMatch(of: #/(\d|merged)-([0-9a-f]{8})/#) {
            return "\(choice.1)-\(ids[String(choice.2)] ?? String(choice.2))"
          }
          guard part.count >= 4, part.allSatisfy(\.isHexDigit) else { return String(part) }
          let written = ids.keys.first { $0.hasPrefix(part) }
          return written.flatMap { ids[$0] } ?? String(part)
        }.joined(separator: "/")
      }.joined(separator: " ")
    }

    private static func masked(_ line: String, home: String) -> String {
      line
        .replacing(home, with: "HOME")
        .replacing(#/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/#, with: "UUID")
        .replacing(#/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/#, with: "TIME")
        .replacing(#/\b[0-9a-f]{8}\b/#, with: "ID")
        .replacing(#/process \d+/#, with: "process N")
        .replacing(#/wss?://[^ ]+/#, with: "URL")
        .replacing(#/^data +[^ ]+, \d+ MiB/#, with: "data PATH, N MiB")
        .replacing(#/ ?\b(now|\d+[smhd])\b( ago)?/#, with: " AGE")
        .replacing(#/ (for|since) AGE/#, with: "")
        .replacing(#/has everything|behind/#, with: "SEEN")
        .replacing(#/ +/#, with: " ")
        .trimmingCharacters(in: .whitespaces)
    }
  }
}
