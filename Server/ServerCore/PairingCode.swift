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

  /// Takes a code as typed: any case, with or without separators; nil if it can be no code.
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

  /// How many letters name a code: a wrong guess counts against the open codes of its name alone, so
  /// that whoever knows no code spoils only those whose names it meets.
  static let nameLength = 2

  /// What is stored of it: its name, and the hash of the whole.
  package func stored(by secretHash: ([UInt8]) -> [UInt8]) -> [UInt8] {
    letters.utf8.prefix(PairingCode.nameLength) + secretHash(Array(letters.utf8))
  }

  /// What is looked up if something else was typed; no code has that name.
  package static func stored(ofWrong text: String, by secretHash: ([UInt8]) -> [UInt8]) -> [UInt8] {
    [UInt8](repeating: 0, count: nameLength) + secretHash(Array(text.utf8.prefix(64)))
  }

  /// The name in what is stored of a code.
  package static func name(ofStored bytes: [UInt8]) -> [UInt8] { Array(bytes.prefix(nameLength)) }
}
