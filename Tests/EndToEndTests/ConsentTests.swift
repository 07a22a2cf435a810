import Foundation
import Testing

extension EndToEnd {
  /// S-6: a machine runs what its own user allowed.
  @Suite struct ConsentTests {
    /// The commands that a user at the host reads and types.
    private func hosting(_ host: Device) async throws -> String {
      try await host.cospool("status").split(separator: "\n")
        .first { $0.hasPrefix("hosting") }.map(String.init) ?? ""
    }

    @Test(arguments: ["own", "ask"])
    func assignedSessionsWaitForConsentHere(policy: String) async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        let agent = try ScriptAgent(bed)
        if policy != "own" { try await host.cospool("config", "set", "hosts", policy) }
        try await agent.serve([], on: host)
        let sent = try await phone.send("night", "one")
        let answer = try await phone.cospool("session", "host", "night", "host")
        #expect(answer.contains("once you confirm there: cospool session host night this"))
        try await bed.eventually("the host knows it", within: 90) {
          try await hosting(host).contains("night")
        }
        if policy == "ask" {
          try await bed.eventually("the phone is told", within: 90) {
            try await phone.cospool("task", "list").contains("May night run on host?")
          }
          // It needs an answer at the host, not from any device.
          let late = try await phone.attempt("answer", "night", "yes")
          #expect(late.code == 5, "\(late)")
          // No device is asked about a session that runs elsewhere.
          try await phone.cospool("session", "host", "night", "--none")
          try await bed.eventually("it is not asked for", within: 90) {
            try await phone.task("night")?.status == "completed"
          }
          try await phone.cospool("session", "host", "night", "host")
          try await bed.eventually("the phone is told again", within: 90) {
            try await phone.cospool("task", "list").contains("May night run on host?")
          }
        }
        // Everything that could start by itself would have started before this.
        try await agent.serve(["other"], on: host)
        let other = try await phone.send("other", "two")
        try await bed.eventually("the other has run", within: 90) { agent.ends() == [other] }
        #expect(try await phone.message(sent).status == "queued")
        try await host.cospool("session", "host", "night", "this")
        try await bed.eventually("it has run", within: 90) { agent.ends() == [other, sent] }
        #expect(try await hosting(host) == "")
      }
    }

    @Test func withHostsAnyNoUserIsAsked() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        let agent = try ScriptAgent(bed)
        try await host.cospool("config", "set", "hosts", "any")
        try await agent.serve([], on: host)
        let sent = try await phone.send("night", "one")
        try await phone.cospool("session", "host", "night", "host")
        try await bed.eventually("it has run", within: 90) { agent.ends() == [sent] }
      }
    }
  }
}
