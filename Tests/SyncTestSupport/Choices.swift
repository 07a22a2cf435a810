import QueueOracle

/// Where a generated test takes its decisions from: a seed, or the bytes of a fuzzer.
package struct Choices: Sendable {
  private enum Source {
    case bytes(ArraySlice<UInt8>)
    case seed(SeededGenerator, left: Int)
  }

  private var source: Source

  /// One byte each, two above 256, reduced to the bound.
  package init(bytes: [UInt8]) {
    source = .bytes(bytes[...])
  }

  /// So many decisions from a seed.
  package init(seed: UInt64, count: Int) {
    source = .seed(SeededGenerator(seed: seed), left: count)
  }

  /// A number in `0 ..< bound`; nil where the decisions are used up.
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
