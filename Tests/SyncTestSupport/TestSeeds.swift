import Foundation
@_exported public import QueueOracle

/// The seeds of random tests: fixed ones in CI, more or a different one by environment variable.
package enum TestSeeds {
  /// `COSPOOL_SEED` alone if it is set; otherwise `COSPOOL_SEEDS` seeds, or `standard` of them.
  package static func list(standard: Int, from first: UInt64 = 1) -> [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let text = environment["COSPOOL_SEED"], let seed = UInt64(text) { return [seed] }
    let count = environment["COSPOOL_SEEDS"].flatMap(Int.init) ?? standard
    return (0..<UInt64(max(count, 1))).map { first &+ $0 }
  }

  /// One generator, from `COSPOOL_SEED` if it is set.
  package static func generator(standard: UInt64) -> SeededGenerator {
    SeededGenerator(seed: list(standard: 1, from: standard)[0])
  }
}
