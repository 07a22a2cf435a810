import Foundation
import LocalAPI
import PushTestSupport
import Testing

extension EndToEnd {
  /// The four flows of an absent phone: a live status begins, an approval is pushed, it is
  /// answered, and what a push could not bring comes over the connection. Real processes, and a
  /// stand-in for Apple's service over HTTP/2 and TLS.
  @Suite struct PushFlowTests {
    private static let topic = "org.example.app"
    private static let alertToken = String(repeating: "0123456789abcdef", count: 4)
    private static let startToken = String(repeating: "fedcba9876543210", count: 4)

    /// A host with an agent, an absent phone with tokens, a tablet that answers.
    private struct Scene {
      var bed: TestBed
      var server: Server
      var host: Device
      var phone: Device
      var tablet: Device

      init(_ bed: TestBed, _ apns: FakeAPNs, _ key: TestSigningKey) async throws {
        self.bed = bed
        server = try await bed.server()
        try await server.stop()
        let keyFile = bed.path("AuthKey.p8")
        try key.pem.write(toFile: keyFile, atomically: true, encoding: .utf8)
        _ = try await server.command([
          "push", "configure", "apns", "--key-file", keyFile, "--key-id", key.keyID, "--team-id",
          key.teamID, "--topic", PushFlowTests.topic, "--trusted-root",
          TestAuthority.certificateFile, "--production-server", apns.url,
        ]).succeeded()
        try await server.start()
        host = try await bed.device("host", of: server)
        phone = try await bed.device("phone", of: server)
        tablet = try await bed.device("tablet", of: server)
        for (token, options) in [(alertToken, []), (startToken, ["--live-start"])] {
          _ = try await phone.attempt(
            [
              "push", "add", "apns", token, "--topic", PushFlowTests.topic, "--environment",
              "production",
            ] + options
          ).succeeded()
        }
        try await host.send("api", "begin")
        try await bed.agreement(host, phone, tablet)
        try await phone.stop()
      }

      func hook(_ event: String, _ fields: String = "") -> String {
        #"{"hook_event_name":"\#(event)","session_id":"api"\#(fields)}"#
      }

      func tell(_ event: String) async throws {
        _ = try await host.attempt(
          ["hook", "-s", "api", "--explain", "--timeout", "60"], input: hook(event)
        ).succeeded()
      }

      /// The agent's hook asks for permission, and waits.
      func ask() throws -> ChildProcess {
        try bed.start(
          "cospool",
          ["hook", "-s", "api", "--timeout", "60", "--approvals", "300", "--data", host.data],
          name: "agent",
          input: hook(
            "PermissionRequest", #","tool_name":"Bash","tool_input":{"command":"planted"}"#))
      }
    }

    private func with(_ body: (Scene, FakeAPNs) async throws -> Void) async throws {
      let key = TestSigningKey()
      let apns = try await FakeAPNs.start(key: key, topics: [Self.topic]) {
        Int64(Date().timeIntervalSince1970 * 1_000)
      }
      try await TestBed.run { bed in
        try await body(try await Scene(bed, apns, key), apns)
      }
      try await apns.stop()
    }

    private func categories(_ apns: FakeAPNs, to token: String) -> [String] {
      apns.requests.filter { $0.path.hasSuffix(token) }.map { request in
        let aps = request.json["aps"] as? [String: Any] ?? [:]
        return aps["category"] as? String ?? aps["event"] as? String
          ?? request.header("apns-push-type") ?? "none"
      }
    }

    // S4-31, S4-32, S4-33
    @Test func anAwayDeviceGetsAPushThatIsWithdrawnOnceAnswered() async throws {
      try await with { scene, apns in
        try await scene.tell("UserPromptSubmit")
        try await scene.bed.eventually("a live status begins", within: 120) {
          categories(apns, to: Self.startToken).contains("start")
        }
        let asking = try scene.ask()
        try await scene.bed.eventually("the approval is pushed", within: 120) {
          categories(apns, to: Self.alertToken).contains("APPROVAL_REQUEST")
        }
        try await scene.bed.eventually("the tablet shows it", within: 120) {
          try await scene.tablet.task("api")?.status == "awaitingApproval"
        }
        try await scene.tablet.cospool("approve", "api")
        let output = try await scene.bed.finish(asking, ["hook"], within: 180)
        #expect(output.standardOutput.contains(#""behavior":"allow""#), "\(output)")
        try await scene.bed.eventually("the push is taken back", within: 120) {
          categories(apns, to: Self.alertToken).contains("background")
        }
        try await scene.bed.eventually("the task goes on", within: 120) {
          try await scene.tablet.task("api")?.status == "processing"
        }
        #expect(apns.faults == [])
        // Details are off: the agent's request stays among the devices.
        #expect(
          !apns.requests.contains { String(decoding: $0.body, as: UTF8.self).contains("planted") })
      }
    }

    // S4-34
    @Test func undeliveredPushesArriveOverTheConnection() async throws {
      try await with { scene, apns in
        apns.answer(always: .apns(400, "BadDeviceToken"))
        try await scene.tell("UserPromptSubmit")
        try await scene.tell("Stop")
        struct Targets: Decodable {
          struct Target: Decodable { var valid: Bool }
          var targets: [Target]
        }
        try await scene.bed.eventually("the tokens are known to be dead", within: 120) {
          let list: Targets = try await scene.server.command(["push", "targets", "--json"])
            .succeeded().decoded()
          return list.targets.count == 2 && list.targets.allSatisfy { !$0.valid }
        }
        let pushes = apns.requests.count
        try await scene.phone.start()
        try await scene.bed.eventually("the phone is told over its connection", within: 120) {
          let list = try await scene.phone.attempt("notifications", "list", "--json").succeeded()
          return list.standardOutput.contains("TASK_COMPLETE")
            && list.standardOutput.contains(#""missed":true"#)
        }
        try await scene.phone.stop()
        try await scene.tell("UserPromptSubmit")
        try await scene.tell("Stop")
        try await scene.host.synchronise()
        try await scene.phone.start()
        try await scene.bed.eventually("and again", within: 120) {
          let list = try await scene.phone.attempt("notifications", "list", "--json").succeeded()
          return list.standardOutput.components(separatedBy: "TASK_COMPLETE").count == 3
        }
        #expect(apns.requests.count == pushes, "a dead token was used again")
      }
    }
  }
}
