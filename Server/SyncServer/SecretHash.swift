import Crypto

/// SHA-256 of tokens and pairing codes, the only stored form.
///
/// Tokens have 256 random bits, so a plain hash cannot be searched. Codes have 34, and last for ten
/// minutes and a thousand guesses.
package func secretHash(_ secret: [UInt8]) -> [UInt8] {
  Array(SHA256.hash(data: secret))
}
