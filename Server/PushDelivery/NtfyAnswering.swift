import Basics
import Crypto
import Foundation
package import PushNotices

/// The permission of a notice's button: to give one decision on one request for one device, until a
/// time. It contains no token of the user, because it passes through the ntfy server.
package struct AnswerTicket: Hashable, Sendable {
  package enum Decision: String, Hashable, Sendable, CaseIterable {
    case approve
    case deny
  }

  /// Ids in their text forms.
  package var workspaceID: String
  package var deviceID: String
  package var sessionID: String
  package var requestID: String
  package var decision: Decision
  /// For an approval, the digest of the text in the notice; empty for a denial.
  package var digest: String
  /// Milliseconds since 1970.
  package var expiresAt: Int64

  package init(
    workspaceID: String, deviceID: String, sessionID: String, requestID: String,
    decision: Decision, digest: String = "", expiresAt: Int64
  ) {
    self.digest = digest
    self.workspaceID = workspaceID
    self.deviceID = deviceID
    self.sessionID = sessionID
    self.requestID = requestID
    self.decision = decision
    self.expiresAt = expiresAt
  }

  /// The signed bytes: every field after its length, so that no two tickets give the same bytes.
  fileprivate var signedBytes: [UInt8] {
    let fields = [
      "cospool answer 1", workspaceID, deviceID, sessionID, requestID, decision.rawValue, digest,
      String(expiresAt),
    ]
    return Array(fields.map { "\($0.utf8.count):\($0)" }.joined().utf8)
  }
}

/// How the buttons of an ntfy notification answer. The server authenticates them by an HMAC-SHA256
/// over the whole ticket with a key that only the server has.
package struct NtfyAnswering: Sendable {
  /// The path of the route, below the server's public address.
  package static let path = "/v1/answers"
  /// The maximum size of a post, in bytes: far more than a ticket takes.
  package static let bodyBytesMax = 4_096

  package let url: String
  private let key: Secret

  /// - Parameters:
  ///   - server: the address at which phones reach the server, with or without a path before `/v1`:
  ///     `https://cospool.example`.
  ///   - key: not empty.
  package init(server: String, key: Secret) throws(PushConfigurationError) {
    let base = server.hasSuffix("/") ? String(server.dropLast()) : server
    guard let parts = WebParts(base), parts.isSafe, parts.query == nil else {
      throw .badAnswerURL
    }
    guard !key.isEmpty else { throw .noAnswerKey }
    url = base + Self.path
    self.key = key
  }

  /// The body that a button posts.
  package func body(for ticket: AnswerTicket) throws -> String {
    let body = Body(
      workspaceId: ticket.workspaceID, deviceId: ticket.deviceID, sessionId: ticket.sessionID,
      requestId: ticket.requestID, decision: ticket.decision.rawValue, digest: ticket.digest,
      expiresAt: ticket.expiresAt,
      signature: Hex.text(
        HMAC<SHA256>.authenticationCode(for: ticket.signedBytes, using: symmetricKey)))
    return String(decoding: try JSONText.bytes(body), as: UTF8.self)
  }

  /// The result of reading a post.
  package enum Reading: Hashable, Sendable {
    case ticket(AnswerTicket)
    /// It was valid, but its time has passed.
    case expired(AnswerTicket)
    /// It does not have the fields.
    case unreadable
    /// This server did not sign it, or it has changed since.
    case forged
  }

  /// Reads a button's post. The signature is compared in constant time.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func read(_ body: [UInt8], now: Int64) -> Reading {
    let fields = JSONBody(body)
    guard let workspace = fields.text("workspaceId"), let device = fields.text("deviceId"),
      let session = fields.text("sessionId"), let request = fields.text("requestId"),
      let decision = fields.text("decision").flatMap(AnswerTicket.Decision.init),
      let digest = fields.text("digest"), let expiresAt = fields.integer("expiresAt"),
      let signature = fields.text("signature")
    else { return .unreadable }
    let ticket = AnswerTicket(
      workspaceID: workspace, deviceID: device, sessionID: session, requestID: request,
      decision: decision, digest: digest, expiresAt: expiresAt)
    guard let given = Hex.bytes(signature),
      HMAC<SHA256>.isValidAuthenticationCode(
        given, authenticating: ticket.signedBytes, using: symmetricKey)
    else { return .forged }
    return now < expiresAt ? .ticket(ticket) : .expired(ticket)
  }

  private var symmetricKey: SymmetricKey { SymmetricKey(data: Array(key.reveal().utf8)) }

  private struct Body: Encodable {
    var workspaceId: String
    var deviceId: String
    var sessionId: String
    var requestId: String
    var decision: String
    var digest: String
    var expiresAt: Int64
    var signature: String
  }
}
