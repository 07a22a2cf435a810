import Foundation
import Testing

extension EndToEnd {
  /// The programs of `make run` and `make demo`, and other scripts.
  @Suite struct ScriptTests {
    @Test func theDemoEndsInAgreement() async throws {
      try await TestBed.run { bed in
        let process = try script("demo.sh", in: bed)
        #expect(try await process.ended(within: 60) == .code(0), "\(process.transcript)")
        #expect(process.standardOutput.contains("Equal: both devices hold the same queues."))
        let left = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
        #expect(left.isEmpty, "it cleans up")
      }
    }

    /// Problems that users of other products reported, as shell commands.
    @Test func reportedProblemsAreSolved() async throws {
      try await TestBed.run { bed in
        let process = try script("intent.sh", in: bed)
        #expect(try await process.ended(within: 240) == .code(0), "\(process.transcript)")
        for report in ["F1", "F2", "F3", "F4", "F12"] {
          #expect(process.standardOutput.contains("\(report): as users expect"))
        }
      }
    }

    @Test func everyCommandHasItsManualPage() async throws {
      try await TestBed.run { bed in
        let pages = bed.path("man")
        let script = Executables.root.appending(path: "Tests/Scripts/man.py").path
        let names = ["cospool", "cospoold", "cospool-server"]
        let arguments = [script, pages] + (try names.map(Executables.path(of:)))
        let process = try bed.launch("/usr/bin/env", ["python3"] + arguments, name: "man.py")
        let output = try await bed.finish(process, arguments)
        #expect(output.isSuccess, "\(output)")
        let files = try FileManager.default.contentsOfDirectory(atPath: pages)
        #expect(files.count > 45)
        #expect(Set(files).isSuperset(of: names.map { "\($0).1" }))
        let page = try String(contentsOfFile: pages + "/cospool-thread-move.1", encoding: .utf8)
        for part in [
          ".SH EXAMPLES", "cospool thread move review", ".SH OPTIONS", "cospool\\-thread",
        ] {
          #expect(page.contains(part), "\(part) in \(page)")
        }
        let main = try String(contentsOfFile: pages + "/cospool.1", encoding: .utf8)
        #expect(main.contains(".SH EXIT STATUS"))
        #expect(!files.contains("cospool-complete.1"))
      }
    }

    @Test func commandsPrintedByMakeRunCanBePasted() async throws {
      try await TestBed.run { bed in
        let port = try await freePort(in: bed)
        var process = try script("run.sh", in: bed, port: port)
        _ = try await process.line(holding: "Ctrl-C stops both.", within: 60)
        let printed = process.standardOutput.split(separator: "\n").filter { $0.hasPrefix("  ") }
        #expect(printed.count >= 8)
        // A user types the code that the third command of the second part printed.
        let paste = printed.map { $0.replacing(" CODE ", with: " \"$code\" ") }.map { line in
          line.contains("cospool-server pair")
            ? "code=$(\(line) | grep -o '[A-Z]\\{4\\}-[A-Z]\\{4\\}' | head -n 1)" : line
        }.map { line in
          line.hasSuffix("&")
            ? "\(line) second=$!; until test -S \(bed.path("run"))/second/cospool.sock; do :; done"
            : line
        }
        let lines = ["trap 'kill $second' EXIT"] + paste
        let arguments = ["-e", "-c", lines.joined(separator: "\n")]
        let pasted = try bed.launch("/bin/bash", arguments, name: "pasted")
        let output = try await bed.finish(pasted, arguments)
        #expect(output.isSuccess, "\(output)")
        #expect(output.standardOutput.contains("Write the failing test first"), "\(output)")

        process.send(SIGINT)
        #expect(try await process.ended() == .code(0), "\(process.transcript)")
        // A second time: the data exists, and the device is still paired.
        process = try script("run.sh", in: bed, port: port)
        _ = try await process.line(holding: "Ctrl-C stops both.", within: 60)
        let device = Device(bed, "device", data: "\(bed.path("run"))/device")
        #expect(try await device.queue("login-page").messages.count == 2)
        process.send(SIGTERM)
        #expect(try await process.ended() == .code(0), "\(process.transcript)")
      }
    }

    private func script(_ name: String, in bed: TestBed, port: Int = 0) throws -> ChildProcess {
      let bin = URL(filePath: try Executables.path(of: "cospool")).deletingLastPathComponent()
      let path = Executables.root.appending(path: "Tests/Scripts/\(name)").path
      return try bed.launch(
        "/bin/bash", [path], name: name,
        environment: [
          "COSPOOL_BIN": bin.path, "RUN_DIR": bed.path("run"), "RUN_PORT": "\(port)",
        ])
    }

    /// A port that was free a moment ago; the script needs the same one twice.
    private func freePort(in bed: TestBed) async throws -> Int {
      let server = try await bed.server()
      try await server.stop()
      try FileManager.default.removeItem(atPath: server.data)
      return server.port
    }
  }
}
