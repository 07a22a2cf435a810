import NetworkAddresses
import PushDelivery
import PushNotices
import PushTestSupport
import Synchronization

/// A sender, fakes to send to, and a clock of its own.
final class PushBed: Sendable {
  static let topic = "org.example.app"
  static let deviceToken = String(repeating: "0123456789abcdef", count: 4)
  static let start: Int64 = 1_800_000_000_000

  private let configuration: PushConfiguration
  let sender: PushSender
  let apns: FakeAPNs
  let web: FakeWebServer
  let key: TestSigningKey
  private let time: Time

  final class Time: Sendable {
    private let value = Mutex(PushBed.start)

    var now: Int64 { value.withLock { $0 } }
    func advance(_ milliseconds: Int64) { value.withLock { $0 += milliseconds } }
  }

  /// Starts everything, runs `body`, and stops everything.
  static func with(
    deadline: Duration = .seconds(60), tls: Bool = false, trusts: Bool = true,
    answering: NtfyAnswering? = nil, _ body: (PushBed) async throws -> Void
  ) async throws {
    let key = TestSigningKey()
    let time = Time()
    let apns = try await FakeAPNs.start(key: key, topics: [topic]) { time.now }
    let web = try await FakeWebServer.start(tls: tls)
    let configuration = PushConfiguration(
      apns: try APNsConfiguration(
        key: try APNsSigningKey(pem: Secret(key.pem), keyID: key.keyID, teamID: key.teamID),
        topics: [topic],
        servers: [.development: apns.url, .production: apns.url]),
      answering: answering,
      trustedRootFile: trusts ? TestAuthority.certificateFile : nil,
      allowedNetworks: ["127.0.0.1", "::1"].compactMap { AddressRange($0) }, deadline: deadline)
    let sender = try PushSender(configuration) { time.now }
    let bed = PushBed(
      configuration: configuration, sender: sender, apns: apns, web: web, key: key, time: time)
    let result: Result<Void, any Error>
    do {
      try await body(bed)
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await sender.shutDown()
    try await apns.stop()
    try await web.stop()
    try result.get()
  }

  private init(
    configuration: PushConfiguration, sender: PushSender, apns: FakeAPNs, web: FakeWebServer,
    key: TestSigningKey, time: Time
  ) {
    self.configuration = configuration
    self.sender = sender
    self.apns = apns
    self.web = web
    self.key = key
    self.time = time
  }

  /// Another sender with the same setup.
  func successor() throws -> PushSender {
    let time = time
    return try PushSender(configuration) { time.now }
  }

  var now: Int64 { time.now }
  func advance(minutes: Int64) { time.advance(minutes * 60_000) }

  // MARK: Targets and pushes

  func device(
    token: String = deviceToken, topic: String = topic, purpose: APNsAddress.Purpose = .alert,
    environment: APNsAddress.Environment = .production, registeredAt: Int64 = start
  ) -> PushTarget {
    PushTarget(
      id: "device",
      address: .apns(
        APNsAddress(
          deviceToken: Secret(token), topic: topic, environment: environment, purpose: purpose)),
      registeredAt: registeredAt)
  }

  func target(_ text: String) throws -> PushTarget {
    PushTarget(id: "target", address: try PushAddress(text: text), registeredAt: Self.start)
  }

  static func notice(
    _ id: String = "notice-1", title: String = "Approval Needed", body: String = "Body",
    details: String? = nil, category: PushNotice.Category = .approvalRequest,
    requestID: String? = "request-1", digest: String? = nil, expiresAt: Int64? = nil,
    timeSensitive: Bool = false
  ) throws -> PushNotice {
    guard let id = PushNoticeID(id) else { throw BadID() }
    return PushNotice(
      id: id, category: category, title: title, body: body, details: details,
      sessionID: "session-1", requestID: requestID, digest: digest,
      link: DeepLink.session("session-1"), createdAt: start, expiresAt: expiresAt,
      isTimeSensitive: timeSensitive,
      addressee: PushNotice.Addressee(workspaceID: "workspace-1", deviceID: "device-1"))
  }

  static func activity(
    _ event: LiveActivityPush.Event, status: ActivityContent.Status = .processing,
    operation: String? = "Editing"
  ) throws -> Push {
    guard let id = PushNoticeID("status-1") else { throw BadID() }
    return .liveActivity(
      LiveActivityPush(
        id: id, event: event, sessionID: "session-1",
        content: ActivityContent(
          status: status, operation: operation,
          progress: .init(completed: 2, total: 5, currentTask: "Tests"), startedAt: start),
        timestamp: start + 1_000, staleAt: start + 60_000))
  }

  struct BadID: Error {}
}
