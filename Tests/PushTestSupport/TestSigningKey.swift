import Crypto

/// A key as Apple would hand it out, made for one test.
package struct TestSigningKey: Sendable {
  package let keyID: String
  package let teamID: String
  let privateKey: P256.Signing.PrivateKey

  package init(keyID: String = "TESTKEY123", teamID: String = "TESTTEAM12") {
    self.keyID = keyID
    self.teamID = teamID
    privateKey = P256.Signing.PrivateKey()
  }

  /// The file's text.
  package var pem: String { privateKey.pemRepresentation }
}
