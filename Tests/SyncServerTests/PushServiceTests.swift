import Foundation
import PushNotices
import PushTestSupport
import QueueModel
import SequenceCRDT
import ServerCore
import ServerStore
import SyncServer
import Testing
import WireProtocol

/// Pushes of a real server: from a task's state to the requests that the providers get.
@Suite struct PushServiceTests {
  static let topic = "org.example.app"
  static let deviceToken = String(repeating: "0123456789abcdef", count: 4)
  static let secret = "planted-webhook-secret"

  /// A server, stand-ins for the providers, a phone with targets, and a connected host.
  struct Bed {
    var fixture: ServerFixture
    let apns: FakeAPNs
    let web: FakeWebServer
    var host: WireDevice
    var client: RawClient
    /// Offline, unless it registers something.
    var phone: WireDevice

    /// The host reports its agent's status.
    mutating func report(_ status: TaskStatus) async throws {
      try await client.send(try host.report(status))
    }

    func targets() throws -> [ServerAdministration.PushTargetLine] {
      try fixture.administration.pushTargets().targets
    }

    func events(_ name: String) -> [RecordedRequest] {
      web.requests.filter { $0.json["event"] as? String == name }
    }
  }

  static let approval = TaskStatus.awaitingApproval(
    ApprovalRequest(
      id: RequestID(high: 5, low: 6), toolName: "Bash", summary: "planted work", details: nil,
      expiresAt: nil))

  static func with(_ body: (inout Bed) async throws -> Void) async throws {
    let key = TestSigningKey()
    let apns = try await FakeAPNs.start(key: key, topics: [topic]) {
      Int64(Date().timeIntervalSince1970 * 1_000)
    }
    let web = try await FakeWebServer.start()
    try await ServerFixture.with { options in
      options.pushSchedule = BackoffSchedule(
        firstMilliseconds: 1, longestMilliseconds: 2, attemptsMax: 1_000_000,
        spanMilliseconds: 600_000)
    } _: { fixture in
      let keyFile = fixture.directory + "/key.p8"
      try key.pem.write(toFile: keyFile, atomically: true, encoding: .utf8)
      try fixture.administration.configure(
        apns: PushSettings.APNs(
          keyFile: keyFile, keyID: key.keyID, teamID: key.teamID, topics: [topic],
          servers: ["production": apns.url]),
        trustedRootFile: TestAuthority.certificateFile)
      try fixture.administration.configure(allowedNetworks: ["127.0.0.1"])
      try await fixture.restart()
      let phone = try await addPhone(to: fixture, web)
      var host = try await fixture.pair(1)
      let client = try await fixture.join(&host)
      try await client.send(try host.write("build it"))
      var bed = Bed(
        fixture: fixture, apns: apns, web: web, host: host, client: client, phone: phone)
      try await body(&bed)
      await bed.client.close()
      fixture = bed.fixture
    }
    try await apns.stop()
    try await web.stop()
  }

  /// Pairs a phone, registers its targets, and disconnects.
  private static func addPhone(
    to fixture: ServerFixture, _ web: FakeWebServer
  ) async throws -> WireDevice {
    var phone = try await fixture.pair(2)
    let client = try await fixture.join(&phone)
    let targets = [
      ("apns", "apns://\(topic)/\(deviceToken)?environment=production"),
      ("webhook", "webhook+\(web.url)/hook#\(secret)"),
    ]
    for (number, target) in targets.enumerated() {
      try await register(UInt64(number), target.0, target.1, over: client)
    }
    await client.close()
    return phone
  }

  /// The phone connects, registers a target, and disconnects.
  private static func setTarget(
    _ number: UInt64, _ kind: String, _ address: String, in bed: Bed
  ) async throws {
    var phone = bed.phone
    let client = try await bed.fixture.join(&phone)
    try await register(number, kind, address, over: client)
    await client.close()
  }

  private static func register(
    _ number: UInt64, _ kind: String, _ address: String, over client: RawClient
  ) async throws {
    let request = InboxRequest.setTarget(
      PushTargetID(high: 1, low: number), kind: kind, address: address)
    try await client.send(.request(request.request(id: number)))
    let frame = try await client.frame { if case .response = $0 { true } else { false } }
    guard case .response(let response) = frame else { throw NotAnswered() }
    #expect(try InboxAnswer(response, to: request) == .done)
  }

  struct NotAnswered: Error {}

  /// The urgency of an alert in a request to Apple.
  private static func urgency(of request: RecordedRequest) -> String? {
    (request.json["aps"] as? [String: Any])?["interruption-level"] as? String
  }

  /// Waits for what must come.
  static func eventually(_ condition: () throws -> Bool) async throws {
    for _ in 0..<6_000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("it did not happen within a minute")
  }

  /// S4-32, S4-17, N-10: an approval that is requested while no user looks is pushed, and
  /// retracted.
  @Test func anApprovalIsPushedAndTakenBack() async throws {
    try await Self.with { bed in
      try await bed.report(.processing(operation: nil))
      try await bed.report(Self.approval)
      try await Self.eventually {
        !bed.events("notification").isEmpty && !bed.apns.requests.isEmpty
      }
      let notice = try #require(bed.events("notification").first?.json["notice"] as? [String: Any])
      #expect(notice["category"] as? String == "APPROVAL_REQUEST")
      #expect(notice["title"] as? String == "Approval Needed")
      // Details are off.
      #expect(notice["body"] as? String == "An agent needs permission to continue.")
      #expect(notice["link"] as? String == "cospool://approval/\(RequestID(high: 5, low: 6))")
      #expect(bed.apns.faults == [])
      #expect(bed.apns.requests[0].header("apns-push-type") == "alert")
      #expect(Self.urgency(of: bed.apns.requests[0]) == "time-sensitive")
      try await bed.report(.processing(operation: nil))
      try await Self.eventually {
        !bed.events("retracted").isEmpty && bed.apns.requests.count == 2
      }
      #expect(bed.apns.requests[1].header("apns-push-type") == "background")
      #expect(
        bed.apns.requests[1].json["clearApprovalId"] as? String
          == bed.apns.requests[0].header("apns-collapse-id"))
      #expect(bed.events("notification").count == 1)
      try await Self.eventually { try bed.fixture.administration.pushState().waiting == 0 }
    }
  }

  /// While one target's delivery ends, due deliveries of another are read: nothing is sent twice.
  @Test func nothingIsPushedTwiceWhereNothingFailed() async throws {
    try await Self.with { bed in
      let count = 40
      for number in 0..<count {
        try await bed.report(.processing(operation: nil))
        try await bed.report(.completed(.success(summary: "turn \(number)")))
      }
      try await Self.eventually {
        try bed.events("notification").count >= count
          && bed.fixture.administration.pushState().waiting == 0
      }
      let keys = bed.events("notification").map { $0.header("Idempotency-Key") }
      #expect(Set(keys).count == count)
      #expect(keys.count == count)
      let alerts = bed.apns.requests.filter { $0.header("apns-push-type") == "alert" }
      #expect(alerts.count == count)
      #expect(alerts.allSatisfy { Self.urgency(of: $0) == "active" })
    }
  }

  /// A retraction is useful after its request has expired: the notice is still on the screen.
  @Test func aRetractionOutlivesItsRequest() async throws {
    try await Self.with { bed in
      let expired = TaskStatus.awaitingApproval(
        ApprovalRequest(
          id: RequestID(high: 7, low: 7), toolName: "Bash", summary: "", details: nil,
          expiresAt: Int64(Date().timeIntervalSince1970 * 1_000) + 1))
      bed.web.answer(always: .status(503))
      try await bed.report(.processing(operation: nil))
      try await bed.report(expired)
      try await bed.report(.processing(operation: nil))
      try await Self.eventually { bed.events("retracted").count > 2 }
      bed.web.answer(always: .status(200))
      try await Self.eventually { try bed.fixture.administration.pushState().waiting == 0 }
      #expect(try bed.fixture.administration.pushState().deadLetters == 0)
    }
  }

  /// S4-34, S4-53: a dead token ends its target, which is never used again; the other one
  /// continues.
  @Test func aDeadTokenIsNotUsedAgain() async throws {
    try await Self.with { bed in
      bed.apns.answer(always: .apns(400, "BadDeviceToken"))
      try await bed.report(.processing(operation: nil))
      try await bed.report(Self.approval)
      try await Self.eventually {
        try bed.targets().contains { !$0.valid && $0.reason.contains("BadDeviceToken") }
      }
      try await bed.report(.processing(operation: nil))
      try await bed.report(.completed(.success(summary: "done")))
      try await Self.eventually { bed.events("notification").count == 2 }
      #expect(bed.apns.requests.count == 1)
      #expect(try bed.targets().map(\.valid).sorted { $0 && !$1 } == [true, false])
      for line in try bed.targets() {
        #expect(!line.text.contains(Self.secret) && !line.text.contains(Self.deviceToken))
      }
    }
  }

  /// S4-36: undelivered pushes are stored, and sent after a restart.
  @Test func failedPushesAreTriedAgainAfterARestart() async throws {
    try await Self.with { bed in
      bed.web.answer(always: .status(503))
      try await bed.report(.processing(operation: nil))
      try await bed.report(.completed(.failure(error: "planted")))
      try await Self.eventually { bed.events("notification").count > 1 }
      await bed.client.close()
      try await bed.fixture.restart()
      bed.web.answer(always: .status(200))
      try await Self.eventually { try bed.fixture.administration.pushState().waiting == 0 }
      let keys = Set(bed.events("notification").map { $0.header("Idempotency-Key") })
      #expect(keys.count == 1)
      #expect(try bed.fixture.administration.pushState().deadLetters == 0)
      bed.client = try await bed.fixture.join(&bed.host)
    }
  }

  /// S4-7, S4-31: a running task is displayed, and ended, if a target displays statuses.
  @Test func aRunningTaskIsShownAndEnded() async throws {
    try await Self.with { bed in
      try await bed.report(.processing(operation: "planted work"))
      try await Self.eventually { !bed.events("status.started").isEmpty }
      try await bed.report(.completed(.success(summary: nil)))
      try await Self.eventually { !bed.events("status.ended").isEmpty }
      let started = try #require(bed.events("status.started").first)
      #expect(started.json["sessionId"] as? String == "main")
      #expect((started.json["status"] as? [String: Any])?["status"] as? String == "processing")
      #expect(!String(decoding: started.body, as: UTF8.self).contains("planted"))
      // A device token accepts no live status.
      #expect(bed.apns.requests.allSatisfy { $0.header("apns-push-type") != "liveactivity" })
    }
  }

  /// Nothing corrects a lost start or end.
  @Test func startsAndEndsOfTasksAreTriedAgain() async throws {
    try await Self.with { bed in
      bed.web.answer(always: .status(503))
      try await bed.report(.processing(operation: nil))
      try await Self.eventually { bed.events("status.started").count > 1 }
      bed.web.answer(always: .status(200))
      try await bed.report(.completed(.success(summary: nil)))
      try await Self.eventually { !bed.events("status.ended").isEmpty }
      try await bed.report(.processing(operation: nil))
      try await Self.eventually {
        Set(bed.events("status.started").map { $0.header("Idempotency-Key") }).count == 2
      }
      bed.web.answer(always: .status(503))
      try await bed.report(.completed(.success(summary: nil)))
      try await Self.eventually { bed.events("status.ended").count > 2 }
      bed.web.answer(always: .status(200))
      try await Self.eventually { try bed.fixture.administration.pushState().waiting == 0 }
      let keys = Set(bed.events("status.ended").map { $0.header("Idempotency-Key") })
      #expect(keys.count == 2)
    }
  }

  /// Ends that were not sent before a server stopped are sent once by the next one, under the same
  /// name.
  @Test func theEndOfATaskIsTriedAgainAfterARestart() async throws {
    try await Self.with { bed in
      try await bed.report(.processing(operation: nil))
      try await Self.eventually { !bed.events("status.started").isEmpty }
      bed.web.answer(always: .status(503))
      try await bed.report(.completed(.success(summary: nil)))
      try await Self.eventually { bed.events("status.ended").count > 1 }
      await bed.client.close()
      try await bed.fixture.restart()
      let before = bed.events("status.ended").count
      try await Self.eventually { bed.events("status.ended").count > before + 1 }
      bed.web.answer(always: .status(200))
      let workspace = bed.host.workspaceID
      let database = try ServerDatabase.open(
        directory: bed.fixture.directory, for: .administration)
      defer { try? database.close() }
      try await Self.eventually {
        try database.header(of: workspace)?.inboxes.endedStatuses.isEmpty == true
      }
      #expect(Set(bed.events("status.ended").map { $0.header("Idempotency-Key") }).count == 1)
      bed.client = try await bed.fixture.join(&bed.host)
    }
  }

  /// A wrong address is a problem of its target, and not of all webhooks.
  @Test func aWrongAddressIsItsTargetsProblem() async throws {
    try await Self.with { bed in
      bed.web.answer(always: .status(404))
      try await bed.report(.processing(operation: nil))
      try await bed.report(Self.approval)
      try await Self.eventually {
        try bed.targets().contains { $0.kind == "webhook" && $0.reason.contains("404") }
          && bed.fixture.administration.pushState().waiting == 1
      }
      #expect(try bed.fixture.administration.pushState().problems.isEmpty)
      #expect(try bed.targets().allSatisfy(\.valid))
    }
  }

  /// S4-19, S4-53: rotation: later pushes go only to the new address.
  @Test func aReplacedTargetUsesTheNewAddress() async throws {
    try await Self.with { bed in
      let fresh = String(repeating: "fedcba9876543210", count: 4)
      bed.apns.answer(always: .apns(410, "Unregistered", timestamp: 1_800_000_000_000_000))
      try await bed.report(.processing(operation: nil))
      try await bed.report(Self.approval)
      try await Self.eventually { try bed.targets().contains { !$0.valid } }
      bed.apns.answer(always: .status(200))
      try await Self.setTarget(
        0, "apns", "apns://\(Self.topic)/\(fresh)?environment=production", in: bed)
      #expect(try bed.targets().allSatisfy(\.valid))
      try await bed.report(.processing(operation: nil))
      try await bed.report(.completed(.success(summary: nil)))
      try await Self.eventually { bed.apns.requests.contains { $0.path.hasSuffix(fresh) } }
      #expect(bed.apns.requests.count { $0.path.hasSuffix(Self.deviceToken) } == 1)
    }
  }

  @Test func aWrongKeyShowsInTheStatus() async throws {
    try await Self.with { bed in
      bed.apns.answer(always: .apns(403, "InvalidProviderToken"))
      try await bed.report(.processing(operation: nil))
      try await bed.report(Self.approval)
      try await Self.eventually {
        try bed.fixture.administration.pushState().problems["apns"]?
          .contains("InvalidProviderToken") == true
      }
      #expect(try bed.targets().allSatisfy(\.valid))
      #expect(try bed.fixture.administration.pushState().waiting == 1)
    }
  }

  /// The operator's correction counts at once, without a restart of the server.
  @Test(arguments: [false, true]) func correctionsNeedNoRestart(byTest: Bool) async throws {
    try await Self.with { bed in
      bed.apns.answer(always: .apns(403, "InvalidProviderToken"))
      try await bed.report(.processing(operation: nil))
      try await bed.report(Self.approval)
      try await Self.eventually {
        try bed.fixture.administration.pushState().problems["apns"] != nil
      }
      let count = bed.apns.requests.count
      bed.apns.answer(always: .status(200))
      if byTest {
        let id = try #require(try bed.targets().first { $0.kind == "apns" }).id
        _ = try await bed.fixture.administration.testPush(target: id)
      } else {
        let settings = try PushSettings.read(directory: bed.fixture.directory)
        try bed.fixture.administration.configure(
          apns: try #require(settings.apns), trustedRootFile: nil)
      }
      try await Self.eventually {
        try bed.fixture.administration.pushState().waiting == 0
          && bed.fixture.administration.pushState().problems.isEmpty
      }
      #expect(bed.apns.requests.count == count + (byTest ? 2 : 1))
      try await Self.eventually { try bed.targets().allSatisfy { $0.valid && $0.reason.isEmpty } }
    }
  }

  @Test func aTestShowsWhatTheProviderSays() async throws {
    try await Self.with { bed in
      let id = try #require(try bed.targets().first { $0.kind == "apns" }).id
      let said = try await bed.fixture.administration.testPush(target: id)
      #expect(said.contains("delivered"))
      bed.apns.answer(next: .apns(400, "DeviceTokenNotForTopic"))
      await #expect {
        try await bed.fixture.administration.testPush(target: id)
      } throws: { error in
        (error as? SyncServerError)?.message.contains("DeviceTokenNotForTopic") == true
      }
      await #expect(throws: SyncServerError.self) {
        try await bed.fixture.administration.testPush(target: "nothing")
      }
    }
  }

  @Test func aDeviceTestsItsTargets() async throws {
    try await Self.with { bed in
      var phone = bed.phone
      let client = try await bed.fixture.join(&phone)
      func test(_ number: UInt64) async throws -> InboxAnswer {
        let request = InboxRequest.testTarget(PushTargetID(high: 1, low: number))
        try await client.send(.request(request.request(id: 40 + number)))
        let frame = try await client.frame { if case .response = $0 { true } else { false } }
        guard case .response(let response) = frame else { throw NotAnswered() }
        return try InboxAnswer(response, to: request)
      }
      #expect(try await test(0) == .done)
      #expect(bed.apns.requests.count == 1)
      bed.apns.answer(next: .apns(400, "DeviceTokenNotForTopic"))
      guard case .unusable(let reason) = try await test(0) else {
        Issue.record("a refused push was reported as delivered")
        return
      }
      #expect(reason.contains("DeviceTokenNotForTopic"))
      #expect(try await test(1) == .done)
      #expect(bed.web.requests.count == 1)
      await client.close()
    }
  }

  @Test func addressesAreCheckedWhenTheyAreRegistered() async throws {
    try await Self.with { bed in
      let request = InboxRequest.setTarget(
        PushTargetID(high: 1, low: 9), kind: "ntfy", address: "https://planted.example/t")
      try await bed.client.send(.request(request.request(id: 77)))
      let frame = try await bed.client.frame { if case .response = $0 { true } else { false } }
      guard case .response(let response) = frame,
        case .unusable(let why) = try InboxAnswer(response, to: request)
      else {
        Issue.record("\(String(describing: frame))")
        return
      }
      #expect(!why.contains("planted"))
    }
  }

  /// A server with only ntfy and webhooks can have its own root certificate, too.
  @Test func aRootNeedsNoSetUpOfAPNs() async throws {
    try await ServerFixture.with { fixture in
      let administration = fixture.administration
      let root = fixture.directory + "/root.pem"
      try FileManager.default.copyItem(atPath: TestAuthority.certificateFile, toPath: root)
      try administration.configure(trustedRootFile: root)
      #expect(
        try PushSettings.read(directory: fixture.directory) == PushSettings(trustedRootFile: root))
      let state = try administration.pushState()
      #expect(state.trustedRoot == root && state.problems.isEmpty)
      try Data("no PEM".utf8).write(to: URL(fileURLWithPath: root))
      #expect(try administration.pushState().problems["set-up"]?.contains("no certificate") == true)
      try FileManager.default.removeItem(atPath: root)
      #expect(try administration.pushState().problems["set-up"]?.contains("cannot be read") == true)
      #expect(throws: SyncServerError.self) { try administration.configure(trustedRootFile: root) }
      try administration.configure(trustedRootFile: nil)
      #expect(try PushSettings.read(directory: fixture.directory) == PushSettings())
      #expect(try administration.pushState().problems.isEmpty)
    }
  }

  @Test func aWrongFileIsReportedAndNothingIsStored() async throws {
    try await ServerFixture.with { fixture in
      let settings = PushSettings.APNs(
        keyFile: "/nowhere.p8", keyID: "TESTKEY123", teamID: "TESTTEAM12", topics: ["a"])
      #expect(throws: SyncServerError.self) {
        try fixture.administration.configure(apns: settings, trustedRootFile: nil)
      }
      let key = TestSigningKey()
      let keyFile = fixture.directory + "/key.p8"
      try key.pem.write(toFile: keyFile, atomically: true, encoding: .utf8)
      let right = PushSettings.APNs(
        keyFile: keyFile, keyID: key.keyID, teamID: key.teamID, topics: ["a"])
      for root in ["/nowhere.pem", keyFile] {
        #expect {
          try fixture.administration.configure(apns: right, trustedRootFile: root)
        } throws: { error in
          (error as? SyncServerError)?.message.contains(root) == true
        }
      }
      let stored = try PushSettings.read(directory: fixture.directory)
      #expect(stored == PushSettings())
    }
  }
}

extension WireDevice {
  /// The status of the session's agent; returns the batch to send.
  mutating func report(_ status: TaskStatus) throws -> Frame {
    try perform(
      .reportTask(
        TaskReport(
          session: try SessionID("main"), status: status,
          milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))))
  }
}
