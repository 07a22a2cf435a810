import ServerCore

/// Pairing codes, as they arrive over the network or are typed.
enum CodeTarget {
  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    let text = String(decoding: bytes, as: UTF8.self)
    let wrong = PairingCode.stored(ofWrong: text) { $0 }
    guard let code = PairingCode(typed: text) else {
      try require("an invalid code takes much", wrong.count <= 100)
      return
    }
    let letters = Array(code.letters.unicodeScalars)
    try require(
      "\(code.letters) is not a code",
      letters.count == PairingCode.length && letters.allSatisfy(PairingCode.alphabet.contains))
    try require("\(code.display) is read as another", PairingCode(typed: code.display) == code)
    try require("\(code.letters) is read as another", PairingCode(typed: code.letters) == code)
    let stored = code.stored { $0 }
    try require(
      "an invalid code has a code's name",
      PairingCode.name(ofStored: stored) != PairingCode.name(ofStored: wrong))
  }
}
