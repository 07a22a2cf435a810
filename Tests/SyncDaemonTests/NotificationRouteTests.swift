import Foundation
import LocalAPI
import Logging
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// Notifications, visibility and push targets over the local API, without a server.
@Suite(.timeLimit(.minutes(10))) struct NotificationRouteTests {
  private static func view(body: String) throws -> NotificationView {
    NotificationView(
      id: "1-2", category: .approvalRequest, session: try SessionID("main"),
      request: RequestID(high: 1, low: 2), createdAt: 1, receivedAt: 2, title: "Approval Needed",
      body: body)
  }

  @Test func nothingIsThereAtFirst() async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request("GET", "/v1/notifications")
      #expect(reply.status == 200)
      #expect(try reply.decoded(NotificationsAnswer.self).notifications.isEmpty)
      let dismissed = try await daemon.request("POST", "/v1/notifications/dismiss")
      #expect(dismissed.status == 200)
      let unknown = try await daemon.request(
        "POST", "/v1/notifications/dismiss", #"{"ids":["1-2"]}"#)
      #expect(unknown.status == 200, "what stands for nothing is dismissed already")
      for odd in ["nonsense", ""] {
        let reply = try await daemon.request(
          "POST", "/v1/notifications/dismiss", #"{"ids":["1-2","\#(odd)"]}"#)
        #expect(reply.status == 404, "\(odd)")
      }
    }
  }

  @Test func visibilityCountsForItsTime() async throws {
    // S4-3, S4-6, N-13
    try await RunningDaemon.run { daemon in
      let path = "/v1/device/visibility"
      let seen = try await daemon.request("POST", path, #"{"visible":true,"forSeconds":3600}"#)
      #expect(try seen.decoded(VisibilityAnswer.self).visible)
      let over = try await daemon.request("POST", path, #"{"visible":false}"#)
      #expect(try !over.decoded(VisibilityAnswer.self).visible)
      let none = try await daemon.request("POST", path, #"{"visible":true,"forSeconds":0}"#)
      #expect(try !none.decoded(VisibilityAnswer.self).visible)
      for seconds in ["3601", "-1"] {
        let reply = try await daemon.request(
          "POST", path, #"{"visible":true,"forSeconds":\#(seconds)}"#)
        #expect(reply.status == 422)
      }
    }
  }

  @Test func targetsNeedAServer() async throws {
    try await RunningDaemon.run { daemon in
      let id = UUID().uuidString
      let body = #"{"kind":"ntfy","address":"ntfy+https://n.example/t"}"#
      let list = try await daemon.request("GET", "/v1/push/targets")
      #expect(list.status == 502)
      let put = try await daemon.request("PUT", "/v1/push/targets/\(id)", body)
      #expect(put.status == 502)
      let removed = try await daemon.request("DELETE", "/v1/push/targets/\(id)")
      #expect(removed.status == 502)
      let nonsense = try await daemon.request("DELETE", "/v1/push/targets/nonsense")
      #expect(nonsense.status == 400)
    }
  }

  @Test func codesForNewDevicesNeedAServerAndARole() async throws {
    try await RunningDaemon.run { daemon in
      for (body, status, code) in [
        ("", 409, "notPaired"), (#"{"role":"viewer"}"#, 409, "notPaired"),
        (#"{"role":"king"}"#, 422, "invalidRole"), (#"{"accessSeconds":0}"#, 422, "invalidAccess"),
        (#"{"accessSeconds":9223372036854775807}"#, 422, "invalidAccess"),
      ] {
        let reply = try await daemon.request("POST", "/v1/pair/code", body)
        #expect(reply.status == status && reply.body.contains(code), "\(body): \(reply.body)")
      }
    }
  }

  @Test func wishesAreSettings() async throws {
    // N-6, N-10
    try await RunningDaemon.run { daemon in
      for (name, value) in [
        ("notifyDetails", "false"), ("liveStatus", "true"), ("notifyOff", #""none""#),
        ("approvalPatience", "60"),
      ] {
        let reply = try await daemon.request("GET", "/v1/settings/\(name)")
        #expect(reply.status == 200)
        #expect(reply.body.contains("\"value\":\(value)"), "\(reply.body)")
      }
      // No command runs before a user has set one.
      let command = try await daemon.request("GET", "/v1/settings/notifyCommand")
      #expect(try command.decoded(SettingAnswer.self).value == nil)
      let off = try await daemon.request(
        "PUT", "/v1/settings/notifyOff", #"{"value":"THREAD_READY, TASK_COMPLETE"}"#)
      #expect(off.status == 200)
      let wrong = try await daemon.request(
        "PUT", "/v1/settings/notifyOff", #"{"value":"THREAD_RAEDY"}"#)
      #expect(wrong.status == 422)
      #expect(wrong.body.contains("THREAD_READY"), "it says what there is")
    }
  }

  @Test func theCommandGetsDetailsOnlyIfTheyAreOn() throws {
    // N-6
    let view = try NotificationRouteTests.view(body: "Bash: rm -rf build")
    let plain = NotifyService.environment(of: view, showsDetails: false)
    #expect(plain["COSPOOL_BODY"] == "An agent needs permission to continue.")
    #expect(!plain.values.contains { $0.contains("build") })
    #expect(plain["COSPOOL_CATEGORY"] == "APPROVAL_REQUEST")
    #expect(plain["COSPOOL_SESSION"] == "main")
    let detailed = NotifyService.environment(of: view, showsDetails: true)
    #expect(detailed["COSPOOL_BODY"] == "Bash: rm -rf build")
    let secret = NotifyService.environment(
      of: try NotificationRouteTests.view(
        body: "Bash: curl -H 'Authorization: Bearer abcdefghijklmnop1234'"),
      showsDetails: true)
    #expect(secret["COSPOOL_BODY"]?.contains("abcdefghijklmnop1234") == false)
    let odd = NotifyService.environment(
      of: try NotificationRouteTests.view(body: "a\0b"), showsDetails: true)
    #expect(odd["COSPOOL_BODY"] == "a\u{FFFD}b")
  }

  /// The daemon stops while the command runs: possibly no user has seen the notification.
  @Test func aCommandThatIsCutOffShowedNothing() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let client = try await RunningDaemon.api(directory: directory).client
    let service = NotifyService(
      client: client, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let view = try NotificationRouteTests.view(body: "")
    let begun = directory.path + "/begun"
    let cut = Task {
      await service.run("sh -c 'touch \(begun); sleep 1000'", for: view, showsDetails: false)
    }
    while !FileManager.default.fileExists(atPath: begun) {
      try await Task.sleep(for: .milliseconds(10))
    }
    cut.cancel()
    #expect(await cut.value == false)
    #expect(await service.run("true", for: view, showsDetails: false))
    #expect(await service.run("false", for: view, showsDetails: false))
    let impatient = NotifyService(
      client: client, logger: service.logger, limit: .milliseconds(100))
    #expect(await impatient.run("sleep 1000", for: view, showsDetails: false))
    await client.close()
  }
}
