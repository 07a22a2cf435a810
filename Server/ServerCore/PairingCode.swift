/// A one-time code that a user reads on one screen and types on another.
///
/// Eight letters of an alphabet without vowels (so that they form no words), shown in two groups.
package struct PairingCode: Hashable, Sendable {
  /// Twenty letters that are hard to confuse.
  package static let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ".unicodeScalars)
  package static let length = 8
  /// How long a code is valid.
  package static let lifetimeMilliseconds: Int64 = 600_000

  /// The letters without separators.
  package let letters: String

  /// Draws a fresh code.
  package init(using generator: inout some RandomNumberGenerator) {
    var scalars = String.UnicodeScalarView()
    for _ in 0..<PairingCode.length {
      scalars.append(
        PairingCode.alphabet[Int.random(in: PairingCode.alphabet.indices, using: &generator)])
    }
    letters = String(scalars)
  }

  /// Reads a code as typed: any case, with or without separators; nil if it cannot be a code.
  package init?(typed text: some StringProtocol) {
    var scalars = String.UnicodeScalarView()
    for scalar in text.uppercased().unicodeScalars {
      switch scalar {
      case " ", "-", "_", ".", "\t", "\n", "\r": continue
      default:
        guard PairingCode.alphabet.contains(scalar), scalars.count < PairingCode.length else {
          return nil
        }
        scalars.append(scalar)
      }
    }
    guard scalars.count == PairingCode.length else { return nil }
    letters = String(scalars)
  }

  /// The code as it is shown: `XXXX-XXXX`.
  package var display: String { "\(letters.prefix(4))-\(letters.suffix(4))" }

  /// The number of letters that name a code. A wrong guess counts only against the open codes of
  /// its name, so that an attacker without a code affects only the codes whose names it guesses.
  static let nameLength = 2

  /// The stored form: its name, and the hash of the whole.
  package func stored(by secretHash: ([UInt8]) -> [UInt8]) -> [UInt8] {
    letters.utf8.prefix(PairingCode.nameLength) + secretHash(Array(letters.utf8))
  }

  /// The form to look up for other input; no code has that name.
  package static func stored(ofWrong text: String, by secretHash: ([UInt8]) -> [UInt8]) -> [UInt8] {
    [UInt8](repeating: 0, count: nameLength) + secretHash(Array(text.utf8.prefix(64)))
  }

  /// The name in the stored form of a code.
  package static func name(ofStored bytes: [UInt8]) -> [UInt8] { Array(bytes.prefix(nameLength)) }
}
