import Crypto
import Foundation
package import PushNotices

/// Where the buttons of an ntfy notification send an answer.
///
/// A button's request passes through the ntfy server, so it carries no token of the person: only a
/// signature that holds for one request, one decision and one time.
package struct NtfyAnswering: Sendable {
  package enum Decision: String, Hashable, Sendable, CaseIterable {
    case approve
    case deny
  }

  package let url: String
  private let key: Secret

  /// - Parameter url: takes `POST` with the body that `body(for:decision:expiresAt:)` makes.
  package init(url: String, key: Secret) throws(PushConfigurationError) {
    guard let parts = WebParts(url), parts.isSafe else { throw .badAnswerURL }
    self.url = url
    self.key = key
  }

  /// What a button posts.
  package func body(
    for requestID: String, decision: Decision, expiresAt: Int64
  ) throws -> String {
    let signature = signature(of: requestID, decision: decision, expiresAt: expiresAt)
    return String(
      decoding: try JSONText.bytes(
        Answer(
          requestId: requestID, decision: decision.rawValue, expiresAt: expiresAt,
          signature: signature)), as: UTF8.self)
  }

  /// Reads what a button posted.
  ///
  /// - Returns: the decision; nil where the signature is wrong or its time is over.
  package func decision(
    from body: [UInt8], now: Int64
  ) -> (requestID: String, decision: Decision)? {
    let fields = JSONBody(body)
    guard let requestID = fields.text("requestId"),
      let decision = fields.text("decision").flatMap(Decision.init),
      let expiresAt = fields.integer("expiresAt"), now < expiresAt,
      let signature = fields.text("signature"), let given = Hex.bytes(signature),
      HMAC<SHA256>.isValidAuthenticationCode(
        given, authenticating: Self.signed(requestID, decision, expiresAt), using: symmetricKey)
    else { return nil }
    return (requestID, decision)
  }

  private func signature(of requestID: String, decision: Decision, expiresAt: Int64) -> String {
    Hex.text(
      HMAC<SHA256>.authenticationCode(
        for: Self.signed(requestID, decision, expiresAt), using: symmetricKey))
  }

  private var symmetricKey: SymmetricKey { SymmetricKey(data: Array(key.reveal().utf8)) }

  /// The request's id comes last: it is the only part that could hold a space.
  private static func signed(
    _ requestID: String, _ decision: Decision, _ expiresAt: Int64
  ) -> [UInt8] {
    Array("answer \(decision.rawValue) \(expiresAt) \(requestID)".utf8)
  }

  private struct Answer: Encodable {
    var requestId: String
    var decision: String
    var expiresAt: Int64
    var signature: String
  }
}

enum Hex {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }

  /// Nil where `text` is not pairs of hexadecimal digits.
  static func bytes(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2), digits.allSatisfy(ASCII.isHexDigit) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).compactMap { index in
      UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
    }
  }
}
