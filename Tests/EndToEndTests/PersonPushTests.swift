import Foundation
import PushTestSupport
import Testing

extension EndToEnd {
  /// An address of the user, not of a device. With one machine, on which everything runs and stays
  /// connected, the phone gets notifications unless a user sits at that machine.
  @Suite struct PersonPushTests {
    private struct Targets: Decodable {
      struct Target: Decodable {
        var id: String
        var person: Bool
      }
      var targets: [Target]
    }

    private func categories(_ web: FakeWebServer, _ event: String) -> [String] {
      web.requests.filter { $0.json["event"] as? String == event }.map { request in
        (request.json["notice"] as? [String: Any])?["category"] as? String ?? "none"
      }
    }

    @Test func aUserWhoLooksAtNoDeviceIsNotified() async throws {
      let web = try await FakeWebServer.start()
      try await TestBed.run { bed in
        let server = try await bed.server()
        try await server.stop()
        _ = try await server.command(["push", "configure", "network", "--allow", "127.0.0.1"])
          .succeeded()
        try await server.start()
        let laptop = try await bed.device("laptop", of: server)
        let desk = try await bed.device("desk", of: server)
        try await laptop.cospool("config", "set", "notifyMeAfter", "0")
        let secret = bed.directory + "/secret"
        try Data("0123456789abcdef\n".utf8).write(to: URL(filePath: secret))
        try await laptop.cospool(
          "push", "add", "webhook", web.url + "/hook", "--secret-file", secret,
          "--me")
        #expect(try await desk.cospool("push", "list").contains("  you  "))
        try await laptop.send("api", "begin")
        try await laptop.synchronise()

        // Events that ended while a user was looking count as seen.
        try await desk.cospool("notifications", "visible", "--for", "3600")
        for event in ["UserPromptSubmit", "Stop"] { try await tell(laptop, event) }
        try await bed.eventually("the desk shows it", within: 60) {
          try await desk.cospool("notifications", "list", "--json").contains("TASK_COMPLETE")
        }
        try await desk.cospool("notifications", "visible", "--no")

        try await tell(laptop, "UserPromptSubmit")
        let asking = try bed.start(
          "cospool", ["hook", "-s", "api", "--approvals", "300", "--data", laptop.data],
          name: "agent",
          input: """
            {"hook_event_name":"PermissionRequest","session_id":"api","tool_name":"Bash",
             "tool_input":{"command":"swift test"}}
            """)
        try await bed.eventually("the person is told", within: 60) {
          categories(web, "notification") == ["APPROVAL_REQUEST"]
        }
        try await desk.cospool("approve", "api")
        _ = try await asking.ended(within: 60)
        try await bed.eventually("and told that it is over", within: 60) {
          categories(web, "retracted").count == 1
        }

        let list: Targets = try await desk.attempt("push", "list", "--json").succeeded().decoded()
        #expect(list.targets.map(\.person) == [true])
        let id = try #require(list.targets.first?.id)
        try await desk.cospool("push", "test", id)
        try await desk.cospool("push", "remove", id)
        #expect(try await laptop.cospool("push", "list").contains("no push targets"))
      }
      try await web.stop()
    }

    private func tell(_ device: Device, _ event: String) async throws {
      _ = try await device.attempt(
        ["hook", "-s", "api", "--timeout", "60"],
        input: #"{"hook_event_name":"\#(event)","session_id":"api"}"#
      ).succeeded()
    }
  }
}
