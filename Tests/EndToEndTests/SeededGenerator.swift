import Foundation

/// SplitMix64: the same seed gives the same numbers.
struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  /// The seed to use: COSPOOL_SEED, `standard`, or a fresh one, printed so that the run can be
  /// repeated.
  static func seed(for test: String, standard: UInt64? = nil) -> UInt64 {
    let chosen = ProcessInfo.processInfo.environment["COSPOOL_SEED"].flatMap { UInt64($0) }
    let seed = chosen ?? standard ?? UInt64.random(in: 1...UInt64.max)
    print("\(test): COSPOOL_SEED=\(seed)")
    return seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
