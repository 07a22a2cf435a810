import Foundation
import Testing

extension EndToEnd {
  /// Notifications of a device that was away, or whose server died, with real processes.
  @Suite struct NotificationFlowTests {
    private struct List: Decodable {
      var notifications: [Item]

      struct Item: Decodable {
        var id: String
        var category: String
        var session: String
        var request: String?
        var title: String
        var body: String
        var missed: Bool
      }
    }

    private func notifications(_ device: Device) async throws -> [List.Item] {
      let list: List = try await device.attempt("notifications", "list", "--json").succeeded()
        .decoded()
      return list.notifications
    }

    /// An agent of the host works in a session and is done, as its hooks report.
    private func work(in session: String, on host: Device) async throws {
      try await host.send(session, "begin")
      for event in ["UserPromptSubmit", "Stop"] {
        _ = try await host.attempt(
          ["hook", "-s", session, "--explain", "--timeout", "60"],
          input: #"{"hook_event_name":"\#(event)","session_id":"x","prompt":"p"}"#
        ).succeeded()
      }
    }

    @Test func awayDeviceIsNotifiedInOrderAfterTheServerWasKilled() async throws {
      // S4-34, S4-36, S4-37
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        try await bed.agreement(host, phone)
        try await phone.stop()
        for session in ["one", "two", "three"] {
          try await work(in: session, on: host)
          try await host.synchronise()
          // A notification that was acknowledged to the host is in the phone's inbox, whatever
          // happens now.
          try await server.kill()
          try await server.start()
        }
        try await phone.start()
        try await bed.eventually("the phone was told of all", within: 60) {
          try await notifications(phone).count >= 3
        }
        let notified = try await notifications(phone)
        #expect(
          notified.filter { $0.category == "TASK_COMPLETE" }.map(\.session) == [
            "one", "two", "three",
          ])
        #expect(!notified.contains { !$0.missed })
        #expect(Set(notified.map(\.id)).count == notified.count)
        // Notified once: neither a restart nor another connection repeats it.
        try await phone.cospool("notifications", "dismiss")
        try await phone.kill()
        try await phone.start()
        try await phone.synchronise()
        #expect(try await notifications(phone).isEmpty)
        // S0-28: the host notifies its user, too; each once, by the same names.
        let own = try await notifications(host).filter { $0.category == "TASK_COMPLETE" }
        #expect(own.map(\.session) == ["one", "two", "three"])
        #expect(Set(own.map(\.id)).isSubset(of: Set(notified.map(\.id))))
      }
    }

    @Test func answeredRequestIsTakenBackEverywhere() async throws {
      // N-2, S4-13
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let (phone, tablet) = (
          try await bed.device("phone", of: server), try await bed.device("tablet", of: server)
        )
        try await work(in: "work", on: host)
        try await bed.agreement(host, phone, tablet)
        let asking = try bed.start(
          "cospool",
          ["hook", "-s", "work", "--approvals", "300", "--data", host.data], name: "agent",
          input: """
            {"hook_event_name":"PermissionRequest","session_id":"x","tool_name":"Bash",
             "tool_input":{"command":"swift test"}}
            """)
        for device in [phone, tablet] {
          try await bed.eventually("\(device.name) shows the request", within: 60) {
            try await notifications(device).contains { $0.category == "APPROVAL_REQUEST" }
          }
        }
        try await tablet.stop()
        let request = try #require(
          try await notifications(phone).first { $0.category == "APPROVAL_REQUEST" }?.request)
        try await phone.cospool("approve", request)
        _ = try await asking.ended(within: 60)
        try await tablet.start()
        for device in [phone, tablet] {
          try await bed.eventually("\(device.name) shows it no longer", within: 60) {
            try await !notifications(device).contains { $0.category == "APPROVAL_REQUEST" }
          }
        }
      }
    }

    @Test func commandRunsOnceForEveryUnseenNotification() async throws {
      // N-6, N-13
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        let script = bed.path("notify.sh")
        let log = bed.path("told")
        try "#!/bin/sh\necho \"$COSPOOL_CATEGORY $COSPOOL_SESSION $COSPOOL_BODY\" >> '\(log)'\n"
          .write(toFile: script, atomically: true, encoding: .utf8)
        chmod(script, 0o700)
        try await phone.cospool("config", "set", "notifyCommand", script)
        try await work(in: "one", on: host)
        @Sendable func notified() -> [String] {
          ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
        }
        try await bed.eventually("the command ran", within: 60) {
          notified().contains("TASK_COMPLETE one An agent has finished a task.")
        }
        try await phone.cospool("notifications", "visible", "--for", "3600")
        try await work(in: "two", on: host)
        try await bed.eventually("it is told, though not by the command", within: 60) {
          try await notifications(phone).contains { $0.session == "two" }
        }
        try await phone.stop()
        try await phone.start()
        try await phone.cospool("notifications", "visible", "--for", "3600")
        #expect(notified().filter { $0.hasPrefix("TASK_COMPLETE") }.count == 1)
      }
    }

    @Test func aDeviceWithoutAServerTellsItsPersonAndNothingTwiceOncePaired() async throws {
      // S0-28, N-13: one machine, one agent; then a server.
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = Device(bed, "host")
        try await host.start()
        let log = bed.path("told")
        let script = bed.path("notify.sh")
        try "#!/bin/sh\necho \"$COSPOOL_CATEGORY $COSPOOL_SESSION\" >> '\(log)'\n"
          .write(toFile: script, atomically: true, encoding: .utf8)
        chmod(script, 0o700)
        try await host.cospool("config", "set", "notifyCommand", script)
        @Sendable func notified() -> [String] {
          ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
        }
        let asking = try bed.underAgent(
          ["hook", "-s", "work", "--approvals", "300", "--data", host.data],
          input: """
            {"hook_event_name":"PermissionRequest","session_id":"x","tool_name":"Bash",
             "tool_input":{"command":"swift test"}}
            """)
        try await bed.eventually("its person is told of the request", within: 60) {
          notified() == ["APPROVAL_REQUEST work"]
        }
        try await host.cospool("approve", "work")
        _ = try await asking.ended(within: 60)
        try await work(in: "work", on: host)
        try await bed.eventually("its person is told of the end", within: 60) {
          notified().contains("TASK_COMPLETE work")
        }
        try await host.pair(with: server)
        try await host.synchronise()
        try await work(in: "other", on: host)
        try await bed.eventually("the end of the next is told", within: 60) {
          notified().contains("TASK_COMPLETE other")
        }
        #expect(
          notified().sorted() == [
            "APPROVAL_REQUEST work", "TASK_COMPLETE other", "TASK_COMPLETE work",
          ])
      }
    }
  }
}
