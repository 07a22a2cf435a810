import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// The output of an agent, read on another device, with real daemons, a server and agents.
  @Suite struct OutputFlowTests {
    private struct Bench {
      var server: Server
      var host: Device
      var other: Device
      var folder: String

      /// Lets the agent go on.
      func touch(_ name: String) {
        _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil)
      }
    }

    /// A server, the host of `s` with an agent that waits for files, and another device.
    private static func bench(_ bed: TestBed) async throws -> Bench {
      let server = try await bed.server()
      let bench = Bench(
        server: server, host: try await bed.device("host", of: server),
        other: try await bed.device("other", of: server), folder: bed.path("agent"))
      try FileManager.default.createDirectory(
        atPath: bench.folder, withIntermediateDirectories: true)
      let wait = { (name: String) in
        "while [ ! -e \(bench.folder)/\(name) ]; do sleep 0.02; done"
      }
      let script = """
        #!/bin/sh
        case "$1" in fail*) echo "out of host"; exit 1;; esac
        case "$1" in big*) yes "a line of the large output" | head -c 1048576; exit;; esac
        echo "first of $1"
        \(wait("second"))
        echo "second of $1"
        \(wait("end"))
        echo "last of $1"
        """
      try Data(script.utf8).write(to: URL(filePath: bench.folder + "/agent.sh"))
      try await bench.host.cospool(
        "config", "set", "command", "sh \(bench.folder)/agent.sh {}")
      try await bench.host.cospool("config", "set", "agent", "command")
      try await bench.host.cospool("session", "add", "s")
      try await bench.host.cospool("session", "host", "s", "this")
      try await bed.agreement(bench.host, bench.other)
      return bench
    }

    private static func waits(
      _ bed: TestBed, for status: String, of message: String, on device: Device
    ) async throws {
      try await bed.eventually("it is \(status)", within: 90) {
        try await device.message(message).status == status
      }
    }

    private static func follow(_ bed: TestBed, _ words: [String], on device: Device) throws
      -> ChildProcess
    {
      try bed.start("cospool", ["output", "-f"] + words + ["--data", device.data], name: "follow")
    }

    @Test func aTurnIsReadLiveFromAnotherDevice() async throws {
      try await TestBed.run { bed in
        let bench = try await Self.bench(bed)
        let message = try await bench.host.send("s", "work")
        try await Self.waits(bed, for: "running", of: message, on: bench.other)
        // Two at once, by the session and by the message.
        let followers = [
          try Self.follow(bed, ["s"], on: bench.other),
          try Self.follow(bed, [String(message.prefix(8))], on: bench.other),
        ]
        for follower in followers { _ = try await follower.line(holding: "first of work") }
        #expect(!followers[0].standardOutput.contains("second"))
        bench.touch("second")
        for follower in followers { _ = try await follower.line(holding: "second of work") }
        // The questions are over with the server, and asked again.
        try await bench.server.stop()
        try await bench.server.start()
        bench.touch("end")
        for follower in followers {
          #expect(try await follower.ended() == .code(0), "\(follower.transcript)")
          #expect(
            follower.standardOutput == "first of work\nsecond of work\nlast of work\n",
            "\(follower.transcript)")
        }
        try await Self.waits(bed, for: "succeeded", of: message, on: bench.other)
        // The finished turn, on both devices.
        for device in [bench.other, bench.host] {
          let shown = try await device.cospool("output", "s")
          #expect(shown == "first of work\nsecond of work\nlast of work\n")
        }
        let answer = try await bench.other.cospool("output", message, "--json")
        let output = try JSONDecoder().decode(OutputAnswer.self, from: Data(answer.utf8))
        #expect(output.device == "host" && output.attempt == 1 && !output.running)
        let log = try await bench.other.cospool("log", message)
        #expect(log.contains("its output is on host: cospool output \(message.prefix(8))"))
      }
    }

    /// An earlier attempt ran here: its output is not shown as that of the last one.
    @Test func theOutputIsThatOfTheLastAttempt() async throws {
      try await TestBed.run { bed in
        let bench = try await Self.bench(bed)
        let message = try await bench.host.send("s", "fail once")
        try await Self.waits(bed, for: "failed", of: message, on: bench.other)
        #expect(try await bench.other.cospool("output", "s") == "out of host\n")
        let script = bed.path("other.sh")
        try Data("echo out of other\n".utf8).write(to: URL(filePath: script))
        try await bench.other.cospool("config", "set", "command", "sh \(script) {}")
        try await bench.other.cospool("config", "set", "agent", "command")
        try await bench.other.cospool("session", "host", "s", "this")
        try await bench.other.cospool("queue", "retry", message)
        try await Self.waits(bed, for: "succeeded", of: message, on: bench.host)
        #expect(try await bench.host.cospool("output", "s") == "out of other\n")
        let log = try await bench.host.cospool("log", message)
        #expect(log.contains("its output is on other"), "\(log)")
        // That of an earlier attempt is read where it ran.
        let first = try await bench.other.cospool("output", message, "--attempt", "1")
        #expect(first == "out of host\n")
      }
    }

    /// The replicated state stays what it was.
    @Test func aLargeOutputComesWhole() async throws {
      try await TestBed.run { bed in
        let bench = try await Self.bench(bed)
        let message = try await bench.host.send("s", "big one")
        try await Self.waits(bed, for: "succeeded", of: message, on: bench.other)
        let before = try await bench.other.dump()
        let here = try await bench.host.cospool("output", "s")
        #expect(here.utf8.count > 500_000)
        #expect(try await bench.other.cospool("output", "s") == here)
        #expect(try await bench.other.dump() == before)
      }
    }

    @Test func anAbsentHostIsReportedAtOnce() async throws {
      try await TestBed.run { bed in
        let bench = try await Self.bench(bed)
        bench.touch("second")
        let message = try await bench.host.send("s", "work")
        try await Self.waits(bed, for: "running", of: message, on: bench.other)
        let follower = try Self.follow(bed, ["s"], on: bench.other)
        _ = try await follower.line(holding: "second of work")
        // In the middle of a question.
        try await bench.host.kill()
        #expect(try await follower.ended(within: 150) == .code(4), "\(follower.transcript)")
        #expect(
          follower.standardError.contains("Its output is on host, which has been away since"),
          "\(follower.transcript)")
        let begin = ContinuousClock.now
        let refused = try await bench.other.attempt("output", "s")
        #expect(refused.code == 4 && .now - begin < .seconds(5), "\(refused)")
        #expect(refused.standardError.contains("has been away since"), "\(refused)")
        bench.touch("end")
        try await bench.host.start()
        try await bed.eventually("it is there again", within: 90) {
          try await bench.other.attempt("output", "s").standardOutput.contains("second of work")
        }
      }
    }

    @Test func withoutAServerTheAnswerSaysSo() async throws {
      try await TestBed.run { bed in
        let bench = try await Self.bench(bed)
        let none = try await bench.other.attempt("output", "s")
        #expect(none.code == 1 && none.standardError.contains("shows no run in s"), "\(none)")
        bench.touch("second")
        bench.touch("end")
        let message = try await bench.host.send("s", "work")
        try await Self.waits(bed, for: "succeeded", of: message, on: bench.other)
        try await bench.server.stop()
        let refused = try await bench.other.attempt("output", "s")
        #expect(refused.code == 4, "\(refused)")
        #expect(refused.standardError.contains("the server did not answer"), "\(refused)")
      }
    }
  }
}
