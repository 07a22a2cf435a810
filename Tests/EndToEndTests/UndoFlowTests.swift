import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// Undo with real daemons and agents: it never touches what ran, and starts nothing.
  @Suite struct UndoFlowTests {
    /// A server, the host of `s` with a script as the agent, and another device.
    private static func bench(
      _ bed: TestBed
    ) async throws -> (host: Device, other: Device, agent: ScriptAgent) {
      let server = try await bed.server()
      let (host, other) = (
        try await bed.device("host", of: server), try await bed.device("other", of: server)
      )
      let agent = try ScriptAgent(bed)
      try await agent.serve(["s", "probe"], on: host)
      // The setup is not undone by these tests.
      try await host.forgetChanges()
      try await bed.agreement(host, other)
      return (host, other, agent)
    }

    /// Returns when everything that may start on a host has started: it runs a message of another
    /// session.
    private static func settle(_ bed: TestBed, _ host: Device, _ agent: ScriptAgent) async throws {
      let probe = try await host.send("probe", "probe")
      try await bed.eventually("the probe is done", within: 90) { agent.ends().contains(probe) }
    }

    private static func undo(
      _ device: Device, _ words: String...
    ) async throws -> Output {
      try await device.attempt(["undo"] + words)
    }

    // H3: from the host and from the other device.
    @Test(arguments: [true, false]) func runningMessagesContinue(isSentByHost: Bool) async throws {
      try await TestBed.run { bed in
        let (host, other, agent) = try await Self.bench(bed)
        let sender = isSentByHost ? host : other
        let message = try await sender.send("s", "stuck one")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
        try await bed.agreement(host, other)
        let refused = try await Self.undo(sender)
        #expect(refused.code == 1, "\(refused)")
        #expect(
          refused.standardError.contains("stuck one")
            && refused.standardError.contains("cospool queue stop -s s"), "\(refused)")
        let shown = try await sender.cospool("undo", "--show")
        #expect(shown.contains(#"sending "stuck one" to s"#), "\(shown)")
        #expect(shown.contains("cospool queue stop -s s"), "\(shown)")
        try await bed.agreement(host, other)
        #expect(try await host.message(message).status == "running")
        agent.letGo()
        try await bed.eventually("it has ended", within: 90) { agent.ends() == [message] }
        try await bed.eventually("it is done on both", within: 90) {
          let (there, here) = (
            try await host.message(message).status, try await other.message(message).status
          )
          return there == "succeeded" && here == "succeeded"
        }
        #expect(agent.starts().count == 1)
      }
    }

    // H4: nothing is removed, and an answer shows why.
    @Test func finishedMessagesStayWithTheirSession() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        let agent = try ScriptAgent(bed)
        for number in 1...3 { try await device.send("s", "prompt \(number)") }
        try await agent.serve(["s"], on: device)
        try await bed.eventually("all are done", within: 90) {
          let done = try await device.cospool("queue", "list", "--done", "-s", "s")
          return (1...3).allSatisfy { done.contains("prompt \($0)") }
            && agent.ends().count == 3
        }
        let (before, log) = (
          try await device.cospool("queue", "list", "--done", "--json"),
          try await device.cospool("log", "--json")
        )
        // The host and the settings are the latest changes.
        while try await device.cospool("undo", "--show").contains("Reverse it with") {
          try await device.cospool("undo", "--skip")
        }
        for _ in 1...4 { _ = try await Self.undo(device) }
        let last = try await Self.undo(device)
        #expect(last.code == 1 && last.standardError.contains("An agent has had"), "\(last)")
        #expect(try await device.cospool("queue", "list", "--done", "--json") == before)
        #expect(try await device.cospool("log", "--json") == log)
        #expect(try await device.cospool("session", "list").contains("s"))
        #expect(agent.starts().count == 3)
      }
    }

    // H3: a user's latest action is named with the command that reverses it, and stays first until
    // it is skipped.
    @Test func irreversibleChangesAreNamed() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        try await device.send("s", "one")
        try await device.cospool("session", "host", "s", "this")
        for _ in 1...2 {
          let refused = try await Self.undo(device)
          #expect(refused.code == 1, "\(refused)")
          #expect(
            refused.standardError.contains("cospool session host --none s"), "\(refused)")
        }
        #expect(try await device.contents("s") == ["one"])
        let skipped = try await Self.undo(device, "--skip").succeeded()
        #expect(skipped.standardOutput.contains("left as it is"), "\(skipped)")
        let undone = try await Self.undo(device).succeeded()
        #expect(undone.standardOutput.contains(#"undone: sending "one" to s"#), "\(undone)")
        #expect(try await device.contents("s") == [])
        try await device.cospool("config", "set", "maxQueueSize", "20")
        let setting = try await Self.undo(device)
        #expect(
          setting.code == 1
            && setting.standardError.contains("cospool config unset maxQueueSize"), "\(setting)")
        try await device.cospool("config", "set", "maxQueueSize", "30")
        #expect(
          try await Self.undo(device).standardError.contains("cospool config set maxQueueSize 20"))
      }
    }

    // H5: restored messages wait until a user lets them start.
    @Test func restoredMessagesStartNothing() async throws {
      try await TestBed.run { bed in
        let (host, other, agent) = try await Self.bench(bed)
        let first = try await other.send("s", "stuck one")
        let second = try await other.send("s", "two")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
        try await bed.agreement(host, other)
        try await other.cospool("session", "delete", "s")
        try await bed.eventually("its agent is stopped", within: 90) {
          try await host.cospool("log", first).contains("attempt 1: cancelled")
        }
        try await bed.agreement(host, other)
        let undone = try await Self.undo(other).succeeded().standardOutput
        #expect(undone.contains("undone: deleting session s"), "\(undone)")
        #expect(undone.contains("cospool queue resume -s s"), "\(undone)")
        try await bed.agreement(host, other)
        try await Self.settle(bed, host, agent)
        #expect(agent.starts().filter { $0.message == first || $0.message == second }.count == 1)
        let list = try await host.cospool("queue", "list", "-s", "s")
        #expect(list.contains("paused") && list.contains("two"), "\(list)")
        try await other.cospool("queue", "resume", "-s", "s")
        agent.letGo()
        try await bed.eventually("the second runs", within: 90) { agent.ends().contains(second) }
      }
    }

    // H5: a redone send; the pause shows the reason.
    @Test func messagesSentAgainByRedoStartNothing() async throws {
      try await TestBed.run { bed in
        let (host, other, agent) = try await Self.bench(bed)
        try await host.cospool("queue", "pause", "-s", "s")
        try await bed.agreement(host, other)
        try await other.send("s", "later")
        _ = try await Self.undo(other).succeeded()
        try await bed.agreement(host, other)
        try await host.cospool("queue", "resume", "-s", "s")
        try await bed.agreement(host, other)
        let redone = try await other.attempt("redo").succeeded().standardOutput
        #expect(redone.contains(#"redone: sending "later" to s"#), "\(redone)")
        #expect(redone.contains("cospool queue resume -s s"), "\(redone)")
        try await bed.agreement(host, other)
        try await Self.settle(bed, host, agent)
        #expect(!agent.starts().contains { $0.prompt == "later" })
        let list = try await host.cospool("queue", "list", "-s", "s")
        #expect(list.contains("later") && list.contains("paused:"), "\(list)")
        try await host.cospool("queue", "resume", "-s", "s")
        try await bed.eventually("it runs", within: 90) {
          agent.starts().contains { $0.prompt == "later" }
        }
      }
    }

    // An undo without a connection uses an old copy: it does not start what others did meanwhile.
    @Test func withoutAConnectionNothingStartsByIt() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (host, other) = (
          try await bed.device("host", of: server), try await bed.device("other", of: server)
        )
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s", "probe"], on: host)
        let back = try await other.send("q", "comes back")
        try await other.cospool("queue", "cancel", back)
        try await host.forgetChanges()
        try await bed.agreement(host, other)
        try await server.stop()
        // Here the session has no host, and there it gets one.
        try await agent.serve(["q"], on: host)
        let undone = try await Self.undo(other).succeeded()
        #expect(undone.standardOutput.contains("cospool queue resume -s q"), "\(undone)")
        try await server.start()
        try await bed.agreement(host, other)
        try await Self.settle(bed, host, agent)
        #expect(!agent.starts().contains { $0.message == back })
        try await other.cospool("queue", "pause", "-s", "s")
        try await bed.agreement(host, other)
        try await server.stop()
        let later = try await host.send("s", "sent to a paused queue")
        let refused = try await Self.undo(other)
        #expect(
          refused.code == 1 && refused.standardError.contains("cospool queue resume -s s"),
          "\(refused)")
        try await server.start()
        try await bed.agreement(host, other)
        try await host.send("probe", "probe 2")
        try await bed.eventually("the probes are done", within: 90) { agent.ends().count == 2 }
        #expect(!agent.starts().contains { $0.message == later })
        for session in ["q", "s"] { try await other.cospool("queue", "resume", "-s", session) }
        try await bed.eventually("both run", within: 90) {
          agent.ends().contains(back) && agent.ends().contains(later)
        }
      }
    }

    /// By its number in the answer, as in the page's notices.
    @Test func anOlderChangeIsUndoneAlone() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        let first = try await device.send("s", "one")
        try await device.send("s", "two")
        let made: ReceiptAnswer = try await device.attempt([
          "queue", "priority", first, "urgent", "--json",
        ]).succeeded().decoded()
        let change = try #require(made.change)
        try await device.cospool("session", "rename", "s", "Search")
        try await device.send("s", "three")
        let socket = try #require(
          FileManager.default.contentsOfDirectory(atPath: device.data).first {
            $0.hasSuffix(".sock")
          })
        func post(_ body: String) async throws -> String {
          let process = try bed.launch(
            "/usr/bin/curl",
            [
              "-s", "--unix-socket", "\(device.data)/\(socket)", "-d", body,
              "http://localhost/v1/undo",
            ], name: "curl")
          return try await bed.finish(process, ["undo"]).succeeded().standardOutput
        }
        let undone = try await post(#"{"change":\#(change)}"#)
        #expect(undone.contains(#""result":"undone""#), "\(undone)")
        #expect(undone.contains("one"), "\(undone)")
        #expect(try await device.contents("s") == ["one", "two", "three"])
        #expect(try await device.queue("s").messages.map(\.priority).contains("urgent") == false)
        #expect(try await device.cospool("session", "list").contains("Search"))
        let again = try await post(#"{"change":\#(change)}"#)
        #expect(again.contains(#""error""#), "\(again)")
      }
    }

    // A change that others have built on since is shown first, and a plain Enter undoes nothing.
    @Test func aTerminalAsksBeforeWhatOthersWorkedOn() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        let message = try await a.send("s", "one")
        // The change is recent and the user's own: it is undone without a question.
        let plain = try await atTerminal(["undo"], on: a, input: "")
        #expect(plain.isSuccess && plain.standardOutput.contains("undone: sending"), "\(plain)")
        try await a.cospool("redo")
        try await bed.agreement(a, b)
        try await b.cospool("queue", "priority", message, "urgent")
        try await bed.agreement(a, b)
        for input in ["\n", "n\n"] {
          let asked = try await atTerminal(["undo"], on: a, input: input)
          #expect(asked.code == 1, "\(asked)")
          #expect(asked.standardOutput.contains("[y/N]"), "\(asked)")
          #expect(asked.standardOutput.contains("Others have worked on it since"), "\(asked)")
        }
        #expect(try await a.contents("s") == ["one"])
        let asked = try await atTerminal(["undo"], on: a, input: "y\n")
        #expect(asked.isSuccess && asked.standardOutput.contains("undone:"), "\(asked)")
        #expect(try await a.message(message).status == "cancelled")
        // A yes does not remove a text that another user wrote from the queue.
        let other = try await a.send("s", "two")
        try await bed.agreement(a, b)
        try await b.cospool("queue", "edit", other, "two, and more")
        try await bed.agreement(a, b)
        let refused = try await atTerminal(["undo"], on: a, input: "y\n")
        #expect(
          refused.code == 1 && refused.standardOutput.contains("cospool queue cancel"), "\(refused)"
        )
        #expect(try await a.contents("s") == ["two, and more"])
      }
    }

    private func atTerminal(
      _ arguments: [String], on device: Device, input: String
    ) async throws -> Output {
      let executable = try Executables.path(of: "cospool")
      let words = ([executable] + arguments + ["--data", device.data]).map { "'\($0)'" }
      let process = try device.bed.launch(
        "/usr/bin/script", ["-qefc", words.joined(separator: " "), "/dev/null"], name: "terminal",
        input: input, environment: ["TERM": "dumb"])
      return try await device.bed.finish(process, arguments)
    }
  }
}

extension Device {
  /// Leaves all changes so far as they are.
  fileprivate func forgetChanges() async throws {
    while try await attempt("undo", "--skip").isSuccess {}
  }
}
