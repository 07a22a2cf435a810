import AsyncHTTPClient
import Basics
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import PushNotices
import Synchronization

/// Sends to Apple's devices, over one connection to each of Apple's two services.
final class APNsSender: Sendable {
  /// After this many requests in a row without an answer the connection counts as dead.
  static let deadlinesInARowMax = 2
  /// After this time, a service that blocked everything is tried once more, milliseconds.
  static let probeMilliseconds: Int64 = 240_000

  private let configuration: APNsConfiguration
  private let transport: PushTransport
  private let deadline: Duration
  private let clock: @Sendable () -> Int64
  private let state: Mutex<State>

  private struct State {
    var client: HTTPClient
    var token = ProviderTokenCache()
    var deadlinesInARow = 0
    /// Why nothing is sent to a service, and since when.
    var stops: [APNsAddress.Environment: Stop] = [:]
    var isShutDown = false
  }

  private struct Stop {
    var reason: String
    /// Milliseconds since 1970.
    var since: Int64
  }

  init(
    _ configuration: APNsConfiguration, transport: PushTransport, deadline: Duration,
    clock: @escaping @Sendable () -> Int64
  ) {
    self.configuration = configuration
    self.transport = transport
    self.deadline = deadline
    self.clock = clock
    state = Mutex(State(client: transport.makeClient(.automatic)))
  }

  func shutDown() async {
    let client = state.withLock { state in
      state.isShutDown = true
      return state.client
    }
    // A client that failed to close is not used again.
    try? await client.shutdown()
  }

  /// - Parameter ignoringStop: tries even if Apple reported that the setup is wrong.
  func send(
    _ push: Push, to target: PushTarget, at address: APNsAddress, ignoringStop: Bool
  ) async -> PushOutcome {
    if let refusal = refusal(of: push, at: address) { return refusal }
    if !ignoringStop, let reason = stop(of: address.environment) {
      return .configurationError(reason: reason)
    }
    let request: APNsRequest
    do {
      request = try APNsRequest(push, target: target, address: address, now: clock())
    } catch {
      return .rejected(reason: "it does not fit into \(PushLimits.apnsPayloadBytesMax) bytes")
    }
    return await deliver(request, to: target, at: address)
  }

  /// Why nothing may be sent now. After a while one request is allowed, to check whether that still
  /// applies.
  private func stop(of environment: APNsAddress.Environment) -> String? {
    let now = clock()
    return state.withLock { state in
      guard let stop = state.stops[environment] else { return nil }
      let age = now.addingClamped(-stop.since)
      guard age < 0 || age >= Self.probeMilliseconds else { return stop.reason }
      state.stops[environment]?.since = now
      return nil
    }
  }

  func takeToken(of other: APNsSender) {
    guard configuration.key.isSame(as: other.configuration.key) else { return }
    let token = other.state.withLock { $0.token }
    state.withLock { $0.token = token }
  }

  /// Faults that are found before anything is sent.
  private func refusal(of push: Push, at address: APNsAddress) -> PushOutcome? {
    guard configuration.topics.contains(address.topic) else {
      return .targetError(
        reason: "no key is set up for the topic \(address.topic); the server has keys for "
          + configuration.topics.sorted().joined(separator: ", "))
    }
    guard address.purpose.takes(push) else {
      return .rejected(reason: "a token for \(address.purpose.rawValue) does not take this")
    }
    if case .alert(let notice) = push, let expiresAt = notice.expiresAt, expiresAt <= clock() {
      return .rejected(reason: "it has expired")
    }
    return nil
  }

  private func deliver(
    _ request: APNsRequest, to target: PushTarget, at address: APNsAddress
  ) async -> PushOutcome {
    // Apple may report the token as expired once. Then a new token is tried at once, if it may be
    // created.
    for isLast in [false, true] {
      let token: Secret
      switch providerToken() {
      case .success(let made): token = made
      case .failure(let waiting): return waiting.outcome
      }
      let answer: APNsAnswer
      do {
        answer = APNsAnswer(try await exchange(request, token: token, at: address))
      } catch {
        return .retry(after: nil, reason: error.reason)
      }
      note(answer, to: target, at: address)
      if answer.status == 200 { return .delivered(providerID: request.id) }
      guard answer.reason == .expiredProviderToken else { return answer.outcome(for: target) }
      state.withLock { $0.token.refused(token) }
      if isLast { return answer.outcome(for: target) }
    }
    return .retry(after: nil, reason: APNsReason.expiredProviderToken.rawValue)
  }

  /// A fault of the key stops everything until it is corrected; a wrong topic is the target's
  /// fault.
  private func note(_ answer: APNsAnswer, to target: PushTarget, at address: APNsAddress) {
    state.withLock { state in
      if answer.status == 200 {
        state.stops[address.environment] = nil
      } else if case .configurationError(let reason) = answer.outcome(for: target) {
        state.stops[address.environment] = Stop(reason: reason, since: clock())
      }
    }
  }

  private struct Waiting: Error {
    var outcome: PushOutcome
  }

  /// The current token. Two requests that both need a new one get the same.
  private func providerToken() -> Result<Secret, Waiting> {
    let now = clock()
    return state.withLock { state in
      switch state.token.verdict(at: now) {
      case .use(let token): return .success(token)
      case .wait(let milliseconds):
        return .failure(
          Waiting(
            outcome: .retry(
              after: .milliseconds(milliseconds),
              reason: "ExpiredProviderToken: the next token may be made in "
                + "\((milliseconds + 59_999) / 60_000) minutes; check this machine's clock")))
      case .renew:
        do {
          let token = try configuration.key.providerToken(issuedAt: now)
          state.token.renewed(token, at: now)
          return .success(token)
        } catch {
          return .failure(
            Waiting(outcome: .configurationError(reason: "the key of APNs signs nothing")))
        }
      }
    }
  }

  private func exchange(
    _ request: APNsRequest, token: Secret, at address: APNsAddress
  ) async throws(TransportFailure) -> HTTPAnswer {
    let server = configuration.servers[address.environment] ?? ""
    let client = state.withLock { $0.client }
    let exchange = PushExchange(client: { _ in client }, deadline: deadline)
    do {
      let answer = try await exchange.send(
        request.request(server: server, token: token), now: clock())
      state.withLock { $0.deadlinesInARow = 0 }
      return answer
    } catch {
      if error.isDeadline { await countDeadline(of: client) }
      throw error
    }
  }

  /// Otherwise a vanished peer would go unnoticed: HTTP/2 keeps one connection, and every further
  /// request would wait on it in vain.
  private func countDeadline(of client: HTTPClient) async {
    let replaced: HTTPClient? = state.withLock { state in
      guard state.client === client, !state.isShutDown else { return nil }
      state.deadlinesInARow += 1
      guard state.deadlinesInARow >= Self.deadlinesInARowMax else { return nil }
      state.deadlinesInARow = 0
      state.client = transport.makeClient(.automatic)
      return client
    }
    // Requests on it end as `.retry`.
    try? await replaced?.shutdown()
  }
}

/// One request to Apple, without its provider token.
struct APNsRequest: Sendable {
  /// How long Apple keeps a notice that it cannot deliver yet, if the notice itself has no end.
  static let keptSeconds: Int64 = 86_400

  var id: String
  var path: String
  var headers: [(String, String)]
  var payload: [UInt8]

  /// - Throws: `APNsPayloadTooLarge`.
  init(_ push: Push, target: PushTarget, address: APNsAddress, now: Int64) throws {
    payload = try APNsPayload.bytes(for: push)
    path = "/3/device/\(address.deviceToken.reveal())"
    id = Self.id(push, target: target)
    var fields = ["apns-id": id]
    switch push {
    case .alert(let notice):
      fields["apns-push-type"] = "alert"
      fields["apns-topic"] = address.topic
      fields["apns-priority"] = "10"
      let end = notice.expiresAt.map { $0 / 1_000 } ?? now / 1_000 + Self.keptSeconds
      fields["apns-expiration"] = String(end)
      fields["apns-collapse-id"] = notice.id.text
    case .retract(let id):
      fields["apns-push-type"] = "background"
      fields["apns-topic"] = address.topic
      fields["apns-priority"] = "5"
      fields["apns-expiration"] = String(now / 1_000 + Self.keptSeconds)
      // Apple replaces a stored notice with this one, and never shows the earlier one.
      fields["apns-collapse-id"] = id.text
    case .liveActivity(let push):
      fields["apns-push-type"] = "liveactivity"
      fields["apns-topic"] = address.topic + ".push-type.liveactivity"
      fields["apns-priority"] = push.isUrgent ? "10" : "5"
      let end = push.staleAt.map { $0 / 1_000 } ?? now / 1_000 + Self.keptSeconds
      fields["apns-expiration"] = String(end)
    }
    headers = fields.sorted { $0.key < $1.key }
  }

  /// The same for every attempt at the same push, so that Apple's logs show them as one.
  private static func id(_ push: Push, target: PushTarget) -> String {
    let kind: String
    switch push {
    case .alert: kind = "alert"
    case .retract: kind = "retract"
    case .liveActivity(let push): kind = "\(push.event.word) \(push.timestamp)"
    }
    let digest = SHA256.hash(data: Array("\(kind) \(push.collapseID) \(target.id)".utf8))
    let bytes = Array(digest.prefix(16))
    return bytes.enumerated().map { index, byte in
      ([4, 6, 8, 10].contains(index) ? "-" : "") + Hex.text([byte])
    }.joined()
  }

  func request(server: String, token: Secret) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: server + path)
    request.method = .POST
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    request.headers.add(name: "authorization", value: "bearer " + token.reveal())
    request.headers.add(name: "content-type", value: "application/json")
    request.body = .bytes(ByteBuffer(bytes: payload))
    return request
  }
}

extension LiveActivityPush {
  /// A start, an end, or something that waits for the user.
  fileprivate var isUrgent: Bool {
    switch event {
    case .start, .end: true
    case .update: content.status == .awaitingApproval || content.status == .awaitingAnswer
    }
  }
}
