import Foundation
import PushTestSupport
import Testing

extension EndToEnd {
  /// An agent asks, its user's phone shows an ntfy notice, and a tap on its button decides. Real
  /// processes, and a stand-in for the ntfy server.
  @Suite struct ButtonFlowTests {
    /// The posts of the notices' buttons, in the order in which the notices came.
    private static func buttons(_ web: FakeWebServer) -> [(url: String, bodies: [String])] {
      web.requests.compactMap { request in
        let actions = (request.json["actions"] as? [[String: Any]] ?? [])
          .filter { $0["action"] as? String == "http" }
        let bodies = actions.compactMap { $0["body"] as? String }
        guard bodies.count == 2, let url = actions[0]["url"] as? String else { return nil }
        return (url, bodies)
      }
    }

    private static func ask(_ bed: TestBed, on host: Device) throws -> ChildProcess {
      try bed.start(
        "cospool",
        [
          "hook", "-s", "api", "--explain", "--timeout", "60", "--approvals", "300", "--data",
          host.data,
        ],
        name: "agent",
        input: #"{"hook_event_name":"PermissionRequest","session_id":"api","#
          + #""tool_name":"Bash","tool_input":{"command":"planted"}}"#)
    }

    // S4-33, S4-16, N-5
    @Test func aTapOnTheNoticeReachesTheAgent() async throws {
      let web = try await FakeWebServer.start()
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        _ = try await server.command([
          "push", "configure", "network", "--allow", "127.0.0.1",
        ]).succeeded()
        let set = try await server.command([
          "push", "configure", "answers", "--server", "http://127.0.0.1:\(server.port)",
        ]).succeeded()
        #expect(set.standardOutput.contains("within a second"))
        _ = try await phone.attempt("push", "add", "ntfy", "\(web.url)/planted-topic").succeeded()
        _ = try await phone.attempt("config", "set", "notifyDetails", "on").succeeded()
        try await host.send("api", "begin")
        try await bed.agreement(host, phone)
        try await phone.stop()
        try await bed.eventually("the server takes answers", within: 120) {
          let url = "http://127.0.0.1:\(server.port)/v1/answers"
          return try await TestPost.send("{}", to: url).status == 400
        }
        let status = try await server.command(["status"]).succeeded()
        #expect(status.standardOutput.contains("/v1/answers"))

        for (index, (tap, behavior)) in [(0, "allow"), (1, "deny")].enumerated() {
          let agent = try Self.ask(bed, on: host)
          try await bed.eventually("the notice has buttons", within: 120) {
            Self.buttons(web).count > index
          }
          let (url, bodies) = Self.buttons(web)[index]
          let altered = bodies[tap].replacing(#""expiresAt":1"#, with: #""expiresAt":2"#)
          #expect(altered != bodies[tap])
          #expect(try await TestPost.send(altered, to: url).status == 403)
          #expect(try await TestPost.send(bodies[tap], to: url).status == 200)
          let output = try await bed.finish(agent, ["hook"], within: 180)
          #expect(output.standardOutput.contains(#""behavior":"\#(behavior)""#), "\(output)")
          #expect(try await TestPost.send(bodies[tap], to: url).status == 200)
          #expect(try await TestPost.send(bodies[1 - tap], to: url).status == 409)
          try await bed.eventually("the task goes on", within: 120) {
            try await host.task("api")?.status == "processing"
          }
        }
        // The server's signing key is only in its own file.
        let settings = try String(contentsOfFile: server.data + "/push.json", encoding: .utf8)
        let key = try #require(settings.firstMatch(of: #/"key" : "([0-9a-f]{64})"/#)).1
        for request in web.requests {
          let text = String(decoding: request.body, as: UTF8.self)
          #expect(!text.contains(key))
        }
        #expect(server.process?.transcript.contains(key) == false)
      }
      try await web.stop()
    }
  }
}
