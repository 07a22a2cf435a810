import QueueOracle

/// The use of a generator. Each use has its own numbers, so that omitting a step changes little.
enum RandomStream: UInt64 {
  case server = 1
  case device
  case store
  case pipe
  case plan
  case workload
  case proxy

  /// The generator for this use.
  ///
  /// - Parameters:
  ///   - seed: the seed of the run.
  ///   - index: the index of one of several devices, connections and so on.
  func generator(seed: UInt64, _ index: Int) -> SeededGenerator {
    var mixer = SeededGenerator(
      seed: seed ^ (rawValue << 56) ^ (UInt64(index) << 32) &* 0x9E37_79B9_7F4A_7C15)
    return SeededGenerator(seed: mixer.next())
  }
}
