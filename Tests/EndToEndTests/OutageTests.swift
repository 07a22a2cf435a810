import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// Turns and their servers, with real daemons: running turns continue, and end if a user wants
  /// it.
  @Suite struct OutageTests {
    private static func bench(
      _ bed: TestBed
    ) async throws -> (server: Server, a: Device, b: Device, agent: ScriptAgent, message: String) {
      let server = try await bed.server()
      let (a, b) = (
        try await bed.device("a", of: server), try await bed.device("b", of: server)
      )
      let agent = try ScriptAgent(bed)
      try await agent.serve(["s"], on: a)
      let message = try await a.send("s", "stuck one")
      try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
      try await a.synchronise()
      try await b.synchronise()
      return (server, a, b, agent, message)
    }

    // M1, M2: the server goes away and returns; the turn is stopped from the other device.
    @Test func aTurnOutlivesItsServerAndIsStoppedFromAnotherDevice() async throws {
      try await TestBed.run { bed in
        let (server, a, b, agent, message) = try await OutageTests.bench(bed)
        try await server.kill()
        let offline = try await b.attempt("queue", "stop", "-s", "s")
        #expect(!offline.isSuccess && offline.standardError.contains("the server did not answer"))
        try await server.start()
        try await a.synchronise()
        try await b.synchronise()
        #expect(try await a.message(message).status == "running" && agent.starts().count == 1)
        let refused = try await b.attempt("session", "take-over", "s")
        #expect(!refused.isSuccess && refused.standardError.contains("a is connected"))
        let stopping = try await b.cospool("queue", "stop", "-s", "s")
        #expect(stopping.hasPrefix("stopping \"") && stopping.contains("in s on a"), "\(stopping)")
        try await bed.eventually("it is cancelled on both", within: 90) {
          let (there, here) = (
            try await a.message(message).status, try await b.message(message).status
          )
          return there == "cancelled" && here == "cancelled"
        }
        #expect(agent.ends() == [])
        #expect(
          try await b.cospool("queue", "stop", "-s", "s").contains("no agent is running"))
      }
    }

    @Test func aTurnIsTakenOverFromADeviceThatIsAway() async throws {
      try await TestBed.run { bed in
        let (_, a, b, agent, message) = try await OutageTests.bench(bed)
        try await b.cospool("session", "host", "s", "this")
        try await a.synchronise()
        try await a.kill()
        try await bed.eventually("b says who is away", within: 90) {
          try await b.cospool("queue", "list", "-s", "s").contains("a has been away since")
        }
        let other = try ScriptAgent(bed, name: "other")
        try await other.serve([], on: b)
        let text = try await b.cospool("session", "take-over", "s")
        #expect(text.contains("runs on b") && text.contains("unknown"))
        try await bed.eventually("it is unknown", within: 90) {
          try await b.message(message).status == "unknown"
        }
        #expect(other.starts() == [])
        // What its agent wrote is still there.
        let output = try await b.attempt("output", message)
        #expect(output.standardError.contains("is on a, which has been away since"), "\(output)")
        // Nothing works there any more, and its user decides.
        let task = try await b.task("s")
        #expect(task?.status == "error", "\(String(describing: task))")
        let stop = try await b.cospool("queue", "stop", "-s", "s")
        #expect(stop.hasPrefix("no agent is running. Message "), "\(stop)")
        #expect(
          stop.contains("cospool queue retry ") && stop.contains("when it is back"), "\(stop)")
        try await b.cospool("queue", "retry", message)
        try await bed.eventually("it runs on b", within: 90) { other.starts().count == 1 }
        #expect(other.starts().map(\.attempt) == [2] && agent.starts().count == 1)
      }
    }

    // It never reports: every device shows that, with the way to continue.
    @Test func theTurnOfADeviceThatWasRemovedIsTakenOver() async throws {
      try await TestBed.run { bed in
        let (server, _, b, _, message) = try await OutageTests.bench(bed)
        _ = try await server.command(["revoke", "a"]).succeeded()
        try await bed.eventually("b says who was removed", within: 90) {
          let list = try await b.cospool("queue", "list", "-s", "s")
          return list.contains("was revoked; its turn may still be running")
            && list.contains("cospool session take-over s")
        }
        #expect(
          try await b.cospool("queue", "stop", "-s", "s").contains("cospool session take-over s"))
        let output = try await b.attempt("output", message)
        #expect(output.standardError.contains(", which was revoked"), "\(output)")
        let text = try await b.cospool("session", "take-over", "s")
        #expect(text.contains("the interrupted message counts as cancelled"), "\(text)")
        // The stop counts, even if its device never hears of it.
        try await bed.eventually("it is cancelled", within: 90) {
          try await b.message(message).status == "cancelled"
        }
        // I-136: its session does not stay at work.
        let task = try await b.task("s")
        #expect(task?.status == "completed", "\(String(describing: task))")
        #expect(try await !b.cospool("session", "list").contains("working"))
      }
    }

    @Test func aDeviceThatLostItsDatabaseSaysWhatItWaitsFor() async throws {
      try await TestBed.run { bed in
        let (_, a, b, agent, message) = try await OutageTests.bench(bed)
        try await a.kill()
        for ending in ["", "-wal", "-shm"] {
          try FileManager.default.removeItem(atPath: "\(a.data)/cospool.sqlite\(ending)")
        }
        try await a.start()
        try await bed.eventually("a says what it lost", within: 90) {
          try await a.cospool("queue", "list", "-s", "s").contains(
            "this device has lost its records")
        }
        try await a.cospool("session", "take-over", "s")
        try await bed.eventually("it is unknown everywhere", within: 90) {
          try await b.message(message).status == "unknown"
        }
        // Its agent has continued, and no daemon knew of it.
        try Data().write(to: URL(filePath: agent.folder + "/go"))
        #expect(agent.starts().count == 1)
      }
    }

    // The host slept while the message was granted to it and cancelled: it does not keep the
    // session.
    @Test func messagesCancelledBeforeTheirBeginningBlockNoSession() async throws {
      try await TestBed.run { bed in
        let (_, a, b, agent, _) = try await OutageTests.bench(bed)
        try Data().write(to: URL(filePath: agent.folder + "/go"))
        try await bed.eventually("the first is done", within: 90) { agent.ends().count == 1 }
        try await a.synchronise()
        try await Task.sleep(for: .seconds(1))
        a.daemon?.send(SIGSTOP)
        let message = try await b.send("s", "never begun")
        try await b.synchronise()
        _ = try await b.attempt("queue", "cancel", message)
        try await Task.sleep(for: .seconds(22))
        a.daemon?.send(SIGCONT)
        try await a.synchronise()
        let other = try ScriptAgent(bed, name: "other")
        try await other.serve(["s"], on: b)
        try await b.send("s", "on the other one")
        try await bed.eventually("it runs on b", within: 90) { other.starts().count == 1 }
        #expect(agent.starts().count == 1)
      }
    }
  }
}
