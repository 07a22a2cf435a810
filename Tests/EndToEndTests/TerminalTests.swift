import Foundation
import Testing

extension EndToEnd {
  /// The command line on a pseudo-terminal, which `script` makes.
  @Suite struct TerminalTests {
    private func run(
      _ arguments: [String], on device: Device, columns: Int, rows: Int = 24,
      environment: [String: String] = [:]
    ) async throws -> Output {
      let process = try launch(
        arguments, on: device, columns: columns, rows: rows, environment: environment)
      return try await device.bed.finish(process, arguments)
    }

    /// Prints its process id first, so that a signal can reach it and not the terminal.
    private func launch(
      _ arguments: [String], on device: Device, columns: Int, rows: Int = 24,
      environment: [String: String] = [:]
    ) throws -> ChildProcess {
      let executable = try Executables.path(of: "cospool")
      let words = ([executable] + arguments + ["--data", device.data]).map { "'\($0)'" }
      let command =
        "stty cols \(columns) rows \(rows) && echo process $$ && exec "
        + words.joined(separator: " ")
      return try device.bed.launch(
        "/usr/bin/script", ["-qefc", command, "/dev/null"], name: "terminal",
        environment: ["TERM": "xterm-256color"].merging(environment) { $1 })
    }

    /// The text that a terminal shows, without colours and the line that names the process.
    private func shown(_ output: String) -> [String] {
      output.replacing(#/\u{1B}\[[0-9;?]*[a-zA-Z]/#, with: "")
        .split(whereSeparator: \.isNewline).map(String.init)
        .filter { !$0.hasPrefix("process ") }
    }

    @Test(arguments: [40, 80]) func tablesFitTheTerminal(columns: Int) async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a-device-with-quite-a-name")
        try await device.start()
        for text in [
          String(repeating: "Fix the flaky test. ", count: 8), "修正してください、急いで。テストが壊れている",
          "🎉🇩🇪 naïve cafe\u{301} 👩‍👩‍👧‍👦", "שלום עולם, this goes both ways",
        ] { try await device.cospool("send", "-s", "a-session-with-a-name", text) }
        for arguments in [
          ["queue", "list", "-s", "a-session-with-a-name"], ["thread", "list", "--all"],
          ["session", "list"], ["status"], ["log"], ["thread", "stats"],
        ] {
          let output = try await run(arguments, on: device, columns: columns).succeeded()
          let lines = shown(output.standardOutput)
          #expect(!lines.isEmpty)
          for line in lines {
            #expect(Self.columns(line) <= columns, "\(arguments): \(line)")
          }
        }
      }
    }

    /// Columns as the C library counts them, one scalar at a time, joined emoji as one.
    private static func columns(_ line: String) -> Int {
      line.reduce(0) { sum, character in
        guard let first = character.unicodeScalars.first else { return sum }
        let isFormat = first.properties.generalCategory == .format
        let isWide =
          first.properties.isEmojiPresentation || (0x3000...0x9FFF).contains(first.value)
        return sum + (isFormat ? 0 : isWide ? 2 : 1)
      }
    }

    @Test func coloursAreForTerminalsThatWantThem() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        try await device.cospool("send", "-s", "a", "--urgent", "go")
        let list = ["queue", "list", "-s", "a"]
        let coloured = try await run(list, on: device, columns: 80).succeeded()
        #expect(coloured.standardOutput.contains("\u{1B}[31murgent\u{1B}[0m"))
        for environment in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
          let plain = try await run(list, on: device, columns: 80, environment: environment)
          #expect(plain.isSuccess && !plain.standardOutput.contains("\u{1B}"), "\(plain)")
        }
        let piped = try await device.attempt(list)
        #expect(!piped.standardOutput.contains("\u{1B}"))
      }
    }

    @Test func watchingFollowsChangesAndRestoresTheTerminal() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        let watch = try launch(
          ["thread", "list", "--all", "--watch"], on: device, columns: 60, rows: 10)
        try await watch.output(holding: "no thread needs you")
        try await device.cospool("send", "-s", "first-one", "go")
        try await watch.output(holding: "first-one")
        // The daemon stops and starts again; the picture stays and continues.
        try await device.stop()
        try await watch.output(holding: "the daemon stopped")
        try await device.start()
        try await device.cospool("send", "-s", "second-one", "go")
        try await watch.output(holding: "second-one")
        let named = try #require(watch.standardOutput.firstMatch(of: #/process (\d+)/#))
        kill(try #require(pid_t(named.1)), SIGINT)
        #expect(try await watch.ended() == .code(0), "\(watch.transcript)")
        let text = watch.standardOutput
        #expect(text.contains("\u{1B}[?1049h\u{1B}[?25l"))
        let after = try #require(text.firstRange(of: "\u{1B}[?25h\u{1B}[?1049l"))
        // The last picture stays on the screen.
        #expect(text[after.upperBound...].contains("second-one"))
        #expect(text.split(separator: "\u{1B}[?2026h").count >= 4)
      }
    }

    @Test func watchingIntoAPipeWritesEachAnswerOnce() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        try await device.cospool("send", "-s", "a", "one")
        let watch = try bed.start(
          "cospool", ["queue", "list", "-s", "a", "--watch", "--json", "--data", device.data],
          name: "watch")
        try await watch.output(holding: #""content":"one""#)
        try await device.cospool("send", "-s", "a", "two")
        try await watch.output(holding: #""content":"two""#)
        watch.send(SIGTERM)
        #expect(try await watch.ended() == .code(0))
        #expect(watch.standardOutput.split(separator: "\n").count == 2, "\(watch.transcript)")
      }
    }

    @Test func watchingNeedsADaemonToBeginWith() async throws {
      try await TestBed.run { bed in
        let output = try await Device(bed, "none").attempt("status", "--watch")
        #expect(output.code == 4)
        #expect(output.standardError.contains("No daemon is running"))
      }
    }
  }
}
