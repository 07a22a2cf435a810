/// Enumerates orders of delivery for exhaustive tests.
package enum Permutations {
  /// The factorial, or nil if it exceeds `limit`.
  package static func count(_ items: Int, limit: Int) -> Int? {
    var product = 1
    for factor in 1..<max(items + 1, 2) {
      product *= factor
      if product > limit { return nil }
    }
    return product
  }

  /// Every order of the items.
  package static func all<Item>(of items: [Item]) -> [[Item]] {
    guard let last = items.last else { return [[]] }
    return all(of: Array(items.dropLast())).flatMap { shorter in
      (0...shorter.count).map { place in
        var longer = shorter
        longer.insert(last, at: place)
        return longer
      }
    }
  }

  /// Every merge of the sequences that keeps the order inside each, up to `limit` of them.
  package static func interleavings<Item>(of sequences: [[Item]], limit: Int = .max) -> [[Item]] {
    var found: [[Item]] = []
    var prefix: [Item] = []
    var next = Array(repeating: 0, count: sequences.count)
    func extend() {
      guard found.count < limit else { return }
      var isComplete = true
      for (index, sequence) in sequences.enumerated() where next[index] < sequence.count {
        isComplete = false
        prefix.append(sequence[next[index]])
        next[index] += 1
        extend()
        next[index] -= 1
        prefix.removeLast()
      }
      if isComplete { found.append(prefix) }
    }
    extend()
    return found
  }

  /// The number of interleavings, or nil if it exceeds `limit`.
  package static func interleavingCount(of sizes: [Int], limit: Int) -> Int? {
    var total = 0
    var product = 1
    for size in sizes {
      for step in 1..<max(size + 1, 1) where size > 0 {
        total += 1
        let (grown, overflow) = product.multipliedReportingOverflow(by: total)
        guard !overflow else { return nil }
        product = grown / step
        guard product <= limit * 64 else { return nil }
      }
    }
    return product <= limit ? product : nil
  }
}
