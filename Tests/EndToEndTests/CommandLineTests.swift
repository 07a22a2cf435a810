import Foundation
import Testing

extension EndToEnd {
  /// The interface for scripts: exit codes, forms, ids, options.
  @Suite struct CommandLineTests {
    /// An upgrade replaces the target of the link.
    @Test func hooksNameTheLinkThatTheProgramWasCalledBy() async throws {
      try await TestBed.run { bed in
        let link = bed.path("bin/cospool")
        try FileManager.default.createDirectory(
          atPath: bed.path("bin"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
          atPath: link, withDestinationPath: try Executables.path(of: "cospool"))
        for (program, settings) in [(link, "a.json"), ("cospool", "b.json")] {
          let arguments = ["hooks", "install", "claude", "--file", bed.path(settings)]
          // A shell passes the plain name to a program that it found in PATH.
          let process = try bed.launch(
            "/bin/sh", ["-c", "\(program) \(arguments.joined(separator: " "))"], name: program,
            environment: ["PATH": bed.path("bin") + ":/usr/bin:/bin"])
          _ = try await bed.finish(process, arguments).succeeded()
          let text = try String(contentsOfFile: bed.path(settings), encoding: .utf8)
          #expect(text.contains("\"\(link) hook"), "\(text)")
        }
      }
    }

    @Test func usageErrorsExitWithTwo() async throws {
      try await TestBed.run { bed in
        for arguments in [
          ["queue", "nonsense"], ["send"], ["queue", "move"], ["--nope"],
        ] {
          let output = try await bed.run("cospool", arguments + ["--data", bed.path("a")])
          #expect(output.code == 2, "\(output)")
          #expect(output.standardOutput.isEmpty, "messages go to standard error: \(output)")
        }
        #expect(try await bed.run("cospool-server", ["nonsense"]).code == 2)
        #expect(try await bed.run("cospoold", ["--nonsense"]).code == 2)
      }
    }

    @Test func aMissingDaemonExitsWithFour() async throws {
      try await TestBed.run { bed in
        let output = try await Device(bed, "a").attempt("status")
        #expect(output.code == 4, "\(output)")
        #expect(output.standardError.contains("cospoold"), "it says what to start: \(output)")
        #expect(output.standardError.contains("cospool setup"), "\(output)")
      }
    }

    /// A code works only while a server runs; a mistyped directory has none.
    @Test func aCodeOfNoServerExitsWithFourAndMakesNothing() async throws {
      try await TestBed.run { bed in
        let data = bed.path("mistyped")
        let none = try await bed.run("cospool-server", ["pair", "--data", data])
        #expect(none.code == 4 && none.standardOutput.isEmpty, "\(none)")
        #expect(none.standardError.contains("cospool-server serve --data \(data)"), "\(none)")
        #expect(!FileManager.default.fileExists(atPath: data))
        let server = try await bed.server()
        _ = try await server.code()
        try await server.stop()
        #expect(try await server.command(["pair"]).code == 4)
        // Whoever has no rights to the data learns who has.
        let setpriv = "/usr/bin/setpriv"
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: setpriv) else { return }
        #expect(chmod(bed.directory, 0o755) == 0 && chmod(server.data, 0o700) == 0)
        func asStranger(_ arguments: String...) async throws -> Output {
          let account = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
          let words = account + [try Executables.path(of: "cospool-server")] + arguments
          return try await bed.finish(bed.launch(setpriv, words, name: "stranger"), words)
        }
        // The executables may be in a folder that only root can access.
        guard try await asStranger("--version").isSuccess else { return }
        let stranger = try await asStranger("pair", "--data", server.data)
        #expect(stranger.code == 4, "\(stranger)")
        #expect(stranger.standardError.contains("sudo cospool-server pair"), "\(stranger)")
      }
    }

    /// A mistyped name does not make a workspace in which a device would be alone.
    @Test func aCodeOfAnUnknownWorkspaceWantsNew() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        #expect(try await server.command(["pair", "--workspace", "team"]).isSuccess)
        let refused = try await server.command(["pair", "--workspace", "taem"])
        #expect(refused.code == 2 && refused.standardOutput.isEmpty, "\(refused)")
        #expect(refused.standardError.contains("but team"), "\(refused)")
        #expect(try await server.command(["pair", "--workspace", "taem", "--new"]).isSuccess)
        #expect(try await server.command(["pair", "--new", "--workspace-id", "x"]).code == 2)
      }
    }

    /// Its agent works on the text that it has.
    @Test func aChangeThatIsTooLateExitsWithFive() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let agent = bed.path("agent")
        try "#!/bin/sh\nexec sleep 600\n".write(toFile: agent, atomically: true, encoding: .utf8)
        #expect(chmod(agent, 0o755) == 0)
        try await a.cospool("config", "set", "command", "\(agent) {}")
        try await a.cospool("config", "set", "agent", "command")
        try await a.cospool("session", "add", "s")
        try await a.cospool("session", "host", "s", "this")
        let id = try await a.send("s", "text")
        try await bed.eventually("it runs", within: 60) {
          try await a.message(id).status == "running"
        }
        for words in [["queue", "edit", id, "other"], ["queue", "cancel", id]] {
          let late = try await a.attempt(words)
          #expect(late.code == 5, "\(late)")
          #expect(late.standardError.contains("cospool queue stop -s s\n"), "\(late)")
        }
        try await a.cospool("queue", "stop", "-s", "s")
      }
    }

    @Test func aMistypedCommandOfTheServerHasASuggestion() async throws {
      try await TestBed.run { bed in
        for words in [["devcies"], ["devcies", "--json"], ["--data", ""]] {
          let output = try await bed.run("cospool-server", words)
          #expect(output.code == 2, "\(output)")
          #expect(
            output.standardError.contains(
              words[0] == "devcies"
                ? "Did you mean 'cospool-server devices'?" : "--data is empty"), "\(output)")
        }
      }
    }

    @Test func aMissingServerExitsWithFour() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let server = try await bed.server()
        let code = try await server.code()
        try await server.stop()
        let output = try await a.attempt("pair", server.url, code)
        #expect(output.code == 4, "\(output)")
      }
    }

    /// For example a log on a full disk: it does not stop the server.
    @Test func unwritableOutputIsReportedAndStopsNoServer() async throws {
      try await TestBed.run { bed in
        let program = try Executables.path(of: "cospool-server")
        let data = bed.path("server")
        func launch(_ command: String, _ direction: String) throws -> ChildProcess {
          try bed.launch(
            "/bin/sh",
            ["-c", "exec \"$0\" \(command) --data \"$1\" \(direction) /dev/full", program, data],
            name: command)
        }
        let server = try launch("serve --port 0", ">")
        for _ in 0..<3_000 where !FileManager.default.fileExists(atPath: data + "/listening") {
          try await Task.sleep(for: .milliseconds(10))
        }
        _ = try await server.line(holding: "output cannot be written")
        let pair = try await bed.finish(launch("pair", ">"), [])
        #expect(pair.code == 7, "\(pair)")
        #expect(pair.standardError.split(separator: "\n").count == 1, "\(pair)")
        let devices = try await bed.finish(launch("devices", "2>"), [])
        #expect(devices.code == 0, "\(devices)")
        let answered = try await bed.run("cospool-server", ["pair", "--json", "--data", data])
        #expect(answered.standardOutput.contains("ws://127.0.0.1:"), "\(answered)")
        server.send(SIGTERM)
        #expect(try await server.ended() == .code(0))
      }
    }

    // I-313
    @Test func aChangeWhoseOutputIsLostIsDone() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let words = [
          "-c", "exec \"$0\" send -s s --new one --data \"$1\" > /dev/full",
          try Executables.path(of: "cospool"), a.data,
        ]
        let sent = try await bed.finish(bed.launch("/bin/sh", words, name: "send"), words)
        #expect(sent.code == 8 && sent.standardError.contains("The command is done"), "\(sent)")
        #expect(try await a.contents("s") == ["one"])
      }
    }

    @Test func everyExecutableExplainsItself() async throws {
      try await TestBed.run { bed in
        for name in ["cospool", "cospoold", "cospool-server"] {
          let help = try await bed.run(name, ["--help"]).succeeded()
          #expect(help.standardOutput.contains("USAGE"), "\(help)")
          let version = try await bed.run(name, ["--version"]).succeeded()
          #expect(version.standardOutput.contains("0.1.0"), "\(version)")
        }
      }
    }

    @Test func dataMayPrecedeTheSubcommand() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        try await a.send("s", "text")
        for arguments in [
          ["--data", a.data, "queue", "list", "-s", "s", "--json"],
          ["queue", "--data", a.data, "list", "-s", "s", "--json"],
          ["queue", "list", "--data", a.data, "-s", "s", "--json"],
          ["queue", "list", "-s", "s", "--json", "--data", a.data],
        ] {
          let list: QueueLists = try await bed.run("cospool", arguments).succeeded().decoded()
          #expect(list.queues.flatMap(\.messages).map(\.content) == ["text"])
        }
        let server = try await bed.server()
        let pair = try await bed.run("cospool-server", ["--data", server.data, "pair", "--json"])
        #expect(pair.isSuccess, "\(pair)")
      }
    }

    @Test func ambiguousPrefixesListTheCandidates() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let ids = try [
          "aaaa1111-0000-4000-8000-000000000001", "aaaa2222-0000-4000-8000-000000000002",
        ]
        .map { try #require(UUID(uuidString: $0)) }
        for id in ids { try await a.send("s", "text \(id)", id: id) }
        let refused = try await a.attempt("queue", "cancel", "aaaa")
        #expect(refused.code == 1, "\(refused)")
        for id in ids {
          let line = "\(id.uuidString.lowercased().prefix(8))  s: text "
          #expect(refused.standardError.contains(line), "\(refused)")
        }
        #expect(try await a.queue("s").messages.count == 2)
        try await a.cospool("queue", "cancel", "aaaa1")
        #expect(try await a.queue("s").messages.map(\.id) == [ids[1].uuidString.lowercased()])
      }
    }

    @Test func jsonHasTheDocumentedShape() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let before = Date().addingTimeInterval(-1)
        let id = UUID().uuidString.lowercased()
        try await a.cospool(
          "send", "-s", "Login", "--id", id, "--urgent", "--project", "/p/shop", "Do it")
        let queue = try await a.attempt("queue", "list", "-s", "login", "--json").succeeded()
        #expect(try keys(queue.standardOutput) == ["queues"])
        let list = try #require(try queue.decoded(QueueLists.self).queues.first)
        #expect(list.session == "login")
        #expect(!list.paused)
        let message = try #require(list.messages.first)
        #expect(message.id == id)
        #expect(message.content == "Do it")
        #expect(message.priority == "urgent")
        #expect(message.status == "queued")
        #expect(message.position == 1)
        #expect(try time(message.createdAt) > before)
        let thread = try #require(try await a.threads().threads.first)
        #expect(thread.session == "login")
        #expect(thread.project == "/p/shop")
        #expect(thread.position == 1)
        #expect(try time(thread.queuedAt) > before)
        try await a.cospool("queue", "pause", "-s", "login", "--reason", "wait for the review")
        #expect(try await a.queue("login").paused)
        try await a.cospool("queue", "resume", "-s", "login")
        #expect(try await !a.queue("login").paused)
      }
    }

    @Test func textIsReadFromStandardInput() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let text = "first line\nsecond line: ünïcödé 🧵"
        _ = try await a.attempt(["send", "-s", "s", "-"], input: text).succeeded()
        #expect(try await a.contents("s") == [text])
      }
    }

    @Test func theQueueHasItsLimit() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        for index in 1...10 { try await a.send("s", "prompt \(index)") }
        let refused = try await a.attempt("send", "-s", "s", "one too many")
        #expect(refused.code == 1, "\(refused)")
        #expect(
          refused.standardError.contains(
            "Queue full (10/10). Cancel a message or wait for one to complete."), "\(refused)")
        #expect(try await a.queue("s").messages.count == 10)
      }
    }

    private func time(_ text: String) throws -> Date {
      try Date(text, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
    }

    private func keys(_ text: String) throws -> Set<String> {
      let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
      return Set(try #require(value as? [String: Any]).keys)
    }
  }
}
