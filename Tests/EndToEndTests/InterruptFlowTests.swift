import Foundation
import Testing

extension EndToEnd {
  /// A message from one device stops the turn of another, with real daemons and a real server.
  @Suite struct InterruptFlowTests {
    private static func bench(
      _ bed: TestBed, role: String = "host"
    ) async throws -> (server: Server, a: Device, b: Device, agent: ScriptAgent, message: String) {
      let server = try await bed.server()
      let (a, b) = (try await bed.device("a", of: server), Device(bed, "b"))
      try await b.start()
      let grant: Server.PairingCode = try await server.command(["pair", "--role", role, "--json"])
        .succeeded().decoded()
      try await b.pair(url: server.url, code: grant.code)
      let agent = try ScriptAgent(bed)
      try await agent.serve(["s"], on: a)
      let message = try await a.send("s", "stuck one")
      try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
      try await a.send("s", "two")
      try await a.synchronise()
      try await b.synchronise()
      return (server, a, b, agent, message)
    }

    // I-400
    @Test func aMessageStopsTheTurnOfAnotherDeviceAndStartsNext() async throws {
      try await TestBed.run { bed in
        let (_, a, b, agent, message) = try await Self.bench(bed)
        let text = try await b.cospool("send", "-s", "s", "--interrupt", "now")
        #expect(
          text.hasPrefix(#"queued, position 2 of 3, for a; stopping "stuck one" in s on a"#),
          "\(text)")
        try await bed.eventually("all ended", within: 90) { agent.ends().count == 2 }
        #expect(agent.starts().map(\.prompt) == ["stuck one", "now", "two"])
        #expect(try await a.message(message).status == "cancelled")
        let none = try await b.attempt("send", "-s", "s", "--interrupt", "and more")
        #expect(none.isSuccess && !none.standardOutput.contains("stopping"), "\(none)")
        #expect(none.standardError.contains("Nothing was stopped: no such turn is running."))
        try await bed.eventually("it ran", within: 90) { agent.ends().count == 3 }
      }
    }

    // I-405
    @Test func withoutTheServerNothingIsStoppedThenOrLater() async throws {
      try await TestBed.run { bed in
        let (server, a, b, agent, message) = try await Self.bench(bed)
        try await server.kill()
        let sent = try await b.attempt("send", "-s", "s", "--interrupt", "now")
        #expect(sent.isSuccess, "\(sent)")
        #expect(
          sent.standardError.contains(
            "Nothing was stopped: another device runs the agent, and the server did not answer."),
          "\(sent)")
        try await server.start()
        try await a.synchronise()
        try await b.synchronise()
        try await a.synchronise()
        #expect(try await a.message(message).status == "running")
        #expect(try await a.contents("s") == ["stuck one", "now", "two"])
        agent.letGo()
        try await bed.eventually("all ended", within: 90) { agent.ends().count == 3 }
        #expect(agent.starts().map(\.prompt) == ["stuck one", "now", "two"])
      }
    }

    // I-404
    @Test func anAuthorInterruptsOnlyWhatItSent() async throws {
      try await TestBed.run { bed in
        let (_, a, b, agent, message) = try await Self.bench(bed, role: "author")
        let refused = try await b.attempt("send", "-s", "s", "--interrupt", "stuck now")
        #expect(refused.isSuccess, "\(refused)")
        #expect(
          refused.standardError.contains("which interrupts only what it sent."), "\(refused)")
        #expect(try await a.message(message).status == "running")
        agent.letGo()
        try await bed.eventually("all ended", within: 90) { agent.ends().count == 3 }
        #expect(agent.starts().map(\.prompt) == ["stuck one", "stuck now", "two"])
        try FileManager.default.removeItem(atPath: agent.folder + "/go")
        try await b.send("s", "stuck mine")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 4 }
        try await b.synchronise()
        try await bed.eventually("b shows that", within: 90) {
          try await b.cospool("queue", "list", "-s", "s").contains("[running]")
        }
        let own = try await b.cospool("send", "-s", "s", "--interrupt", "instead")
        #expect(own.contains(#"; stopping "stuck mine" in s on a"#), "\(own)")
        try await bed.eventually("it ran", within: 90) { agent.ends().count == 4 }
      }
    }
  }
}
