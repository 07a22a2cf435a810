/// A one-time code that a person reads off one screen and types on another.
///
/// Eight letters of an alphabet without vowels (so that no words arise), shown in two groups.
package struct PairingCode: Hashable, Sendable {
  /// Twenty letters that are hard to mistake for each other.
  package static let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ".unicodeScalars)
  package static let length = 8
  /// How long a code is good for.
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

  /// Takes a code as typed: any case, with or without separators; nil where it can be no code.
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

  /// What is hashed and stored.
  package var bytes: [UInt8] { Array(letters.utf8) }
}
