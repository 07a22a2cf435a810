import Foundation
import Testing

extension EndToEnd {
  /// A session in which a script asks its user.
  @Suite struct AskingTests {
    /// A script that asked outside a turn sends nothing more: its session does not stay busy
    /// forever.
    @Test func aSessionIsIdleAgainAfterAScriptAskedInIt() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        try await host.cospool("session", "add", "deploy")
        try await host.synchronise()
        let questions = try ["Which branch?", "Which database?"].map { text in
          try bed.start(
            "cospool", ["ask", "-s", "deploy", text, "--data", host.data], name: "script")
        }
        for (count, answer) in [(2, "main"), (1, "main")] {
          try await bed.eventually("the phone is asked \(count) times", within: 60) {
            try await requests(phone).count == count
          }
          let request = try await requests(phone).first
          try await phone.cospool("answer", try #require(request), answer)
        }
        for question in questions {
          let output = try await bed.finish(question, ["ask"])
          #expect(output.standardOutput == "main\n", "\(output)")
        }
        for device in [host, phone] {
          try await bed.eventually("\(device.name) shows it idle", within: 60) {
            try await device.task("deploy")?.status == "idle"
          }
        }
        let kinds = try await phone.attempt("notifications", "list", "--json").succeeded()
        #expect(!kinds.standardOutput.contains("TASK_"), "no end that causes a notification")
      }
    }

    private func requests(_ device: Device) async throws -> [String] {
      let list: Notices = try await device.attempt("notifications", "list", "--json").succeeded()
        .decoded()
      return list.notifications.compactMap(\.request)
    }

    private struct Notices: Decodable {
      struct Notice: Decodable { var request: String? }
      var notifications: [Notice]
    }

    /// M7: a text that was written at the same time as a cancel is not lost, and the edit's answer
    /// names its place.
    @Test func editsConcurrentWithACancelShowAmongTheCancelled() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let laptop = try await bed.device("laptop", of: server)
        let desk = try await bed.device("desk", of: server)
        try await laptop.cospool("config", "set", "agent", "command")
        try await laptop.cospool("config", "set", "command", "cat")
        try await laptop.cospool("session", "add", "review")
        try await laptop.cospool("queue", "pause", "-s", "review")
        try await laptop.cospool("session", "host", "review", "this")
        let id = try await laptop.send("review", "Fix the test")
        try await bed.agreement(laptop, desk)
        // Only the host's agent asks in its session; a script elsewhere gets the reason at once.
        let asked = try await desk.attempt("ask", "-s", "review", "--leave", "git push")
        #expect(
          asked.code == 5 && asked.standardError.contains("laptop runs this session's agent"),
          "\(asked)")
        try await desk.cospool("sync", "off")
        try await laptop.cospool("queue", "cancel", id)
        try await laptop.synchronise()
        let edited = try await desk.attempt("queue", "edit", id, "Fix both tests").succeeded()
        #expect(edited.standardError.contains("cospool queue list --cancelled"), "\(edited)")
        try await desk.cospool("sync", "on")
        try await bed.agreement(laptop, desk)
        for device in [laptop, desk] {
          let cancelled = try await device.cospool("queue", "list", "-s", "review", "--cancelled")
          #expect(cancelled.contains("Fix both tests"), "\(cancelled)")
        }
        #expect(try await desk.cospool("log").contains("made laptop the session's host"))
        try await desk.cospool("queue", "restore", id)
        #expect(try await desk.contents("review") == ["Fix both tests"])
      }
    }
  }
}
