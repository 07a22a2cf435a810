import Basics
import Crypto
package import PushNotices

/// The signature of a webhook's request: HMAC-SHA256 over the time in seconds since 1970, a dot,
/// and the body, in hexadecimal digits, with the key that was registered with the address.
///
/// A receiver computes the same, compares in constant time, and refuses times more than five
/// minutes away from its own clock, so that an old request cannot be replayed.
package enum WebhookSignature {
  package static let timestampHeader = "Cospool-Timestamp"
  package static let signatureHeader = "Cospool-Signature"
  package static let idempotencyHeader = "Idempotency-Key"
  package static let version = "v1"

  /// The value of the signature's header.
  package static func value(timestamp: Int64, body: [UInt8], secret: Secret) -> String {
    let key = SymmetricKey(data: Array(secret.reveal().utf8))
    let code = HMAC<SHA256>.authenticationCode(
      for: Array("\(timestamp).".utf8) + body, using: key)
    return "\(version)=\(Hex.text(code))"
  }
}
