import QueueOracle

/// The source of a generated test's decisions: a seed, or the bytes of a fuzzer.
package struct Choices: Sendable {
  private enum Source {
    case bytes(ArraySlice<UInt8>)
    case seed(SeededGenerator, left: Int)
  }

  private var source: Source

  /// One byte for each decision, two for bounds above 256, reduced to the bound.
  package init(bytes: [UInt8]) {
    source = .bytes(bytes[...])
  }

  /// A number of decisions from a seed.
  package init(seed: UInt64, count: Int) {
    source = .seed(SeededGenerator(seed: seed), left: count)
  }

  /// A number in `0 ..< bound`; nil if no decisions are left.
  package mutating func choose(below bound: Int) -> Int? {
    switch source {
    case .bytes(var bytes):
      guard let first = bytes.popFirst() else { return nil }
      var value = Int(first)
      if bound > 256 { value = value << 8 | Int(bytes.popFirst() ?? 0) }
      source = .bytes(bytes)
      return bound <= 0 ? 0 : value % bound
    case .seed(var generator, let left):
      guard left > 0 else { return nil }
      let value = generator.below(bound)
      source = .seed(generator, left: left - 1)
      return value
    }
  }
}
