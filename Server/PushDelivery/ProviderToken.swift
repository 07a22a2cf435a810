import Basics
import Crypto
import Foundation
package import PushNotices

/// A team's signing key for Apple's services.
package struct APNsSigningKey: Sendable {
  package let keyID: String
  package let teamID: String
  private let key: P256.Signing.PrivateKey

  /// Reads a key in Apple's format.
  package init(pem: Secret, keyID: String, teamID: String) throws(PushConfigurationError) {
    guard Self.isIdentifier(keyID) else { throw .badKeyID }
    guard Self.isIdentifier(teamID) else { throw .badTeamID }
    do {
      key = try P256.Signing.PrivateKey(pemRepresentation: pem.reveal())
    } catch {
      // The library's error may quote the file.
      throw .keyNotReadable
    }
    self.keyID = keyID
    self.teamID = teamID
  }

  /// Whether Apple treats the tokens of both as the same.
  func isSame(as other: APNsSigningKey) -> Bool {
    keyID == other.keyID && teamID == other.teamID
      && key.rawRepresentation == other.key.rawRepresentation
  }

  private static func isIdentifier(_ text: String) -> Bool {
    text.utf8.count == 10
      && text.utf8.allSatisfy { ASCII.isDigit($0) || (0x41...0x5A).contains($0) }
  }

  /// A provider token: a JSON Web Token (RFC 7519) signed with ES256 (RFC 7518, 3.4), as Apple's
  /// "Establishing a token-based connection to APNs" describes it.
  ///
  /// - Parameter issuedAt: milliseconds since 1970.
  package func providerToken(issuedAt: Int64) throws -> Secret {
    // Key and team ids contain no character that JSON escapes.
    let header = #"{"alg":"ES256","kid":"\#(keyID)"}"#
    let claims = #"{"iss":"\#(teamID)","iat":\#(issuedAt / 1_000)}"#
    let signed = Self.base64URL(Array(header.utf8)) + "." + Self.base64URL(Array(claims.utf8))
    let signature = try key.signature(for: Array(signed.utf8))
    return Secret(signed + "." + Self.base64URL(Array(signature.rawRepresentation)))
  }

  /// Base64 with the alphabet of RFC 4648, section 5, without padding.
  static func base64URL(_ bytes: [UInt8]) -> String {
    String(
      Data(bytes).base64EncodedString().compactMap { character -> Character? in
        switch character {
        case "+": "-"
        case "/": "_"
        case "=": nil
        default: character
        }
      })
  }
}

extension APNsSigningKey: CustomStringConvertible, CustomReflectable {
  package var description: String { "key \(keyID) of team \(teamID)" }
  package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID, "teamID": teamID]) }
}

/// The provider token to use.
///
/// Apple refuses tokens that are an hour old and counts new ones that come within 20 minutes. So a
/// token is used for 50 minutes, and a new one is made at least 20 minutes after the previous one,
/// even if Apple reports that one as expired.
///
/// A restarted server makes a new token; if Apple objects, the server waits.
package struct ProviderTokenCache: Sendable {
  package static let renewalMilliseconds: Int64 = 3_000_000
  package static let leastMilliseconds: Int64 = 1_200_000

  private var token: Secret?
  private var issuedAt: Int64 = 0
  private var isRefused = false

  package init() {}

  package enum Verdict: Hashable, Sendable {
    /// Create a new one.
    case renew
    /// Use this one.
    case use(Secret)
    /// Apple refuses the current one, and it is too early for another.
    case wait(milliseconds: Int64)
  }

  /// - Parameter now: milliseconds since 1970.
  package func verdict(at now: Int64) -> Verdict {
    guard let token else { return .renew }
    let age = now.addingClamped(-issuedAt)
    // The clock was set back: the token's time is in the future, which Apple does not accept.
    if age < 0 { return .renew }
    if isRefused {
      return age >= Self.leastMilliseconds
        ? .renew : .wait(milliseconds: Self.leastMilliseconds - age)
    }
    return age >= Self.renewalMilliseconds ? .renew : .use(token)
  }

  package mutating func renewed(_ token: Secret, at now: Int64) {
    self.token = token
    issuedAt = now
    isRefused = false
  }

  /// Apple reported that this token has expired. A report about an earlier one changes nothing.
  package mutating func refused(_ token: Secret) {
    if token == self.token { isRefused = true }
  }
}
