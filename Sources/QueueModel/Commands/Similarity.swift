/// Suggestions for a mistyped word.
package enum Similarity {
  /// The words that begin with the given one, or that differ from it by few letters, the nearest
  /// first.
  ///
  /// - Complexity: O(words · length of the word).
  package static func closest(
    to word: String, among words: some Sequence<String>, limit: Int = 3
  ) -> [String] {
    let wanted = Array(word.lowercased().unicodeScalars)
    guard !wanted.isEmpty else { return [] }
    let allowed = min(3, max(1, (wanted.count + 1) / 3))
    var found: [(distance: Int, word: String)] = []
    for candidate in words where candidate != word {
      let letters = Array(candidate.lowercased().unicodeScalars)
      if wanted.count >= 2, letters.starts(with: wanted) {
        found.append((0, candidate))
      } else if let distance = distance(wanted, letters, allowed: allowed) {
        found.append((distance, candidate))
      }
    }
    return found.sorted { ($0.distance, $0.word) < ($1.distance, $1.word) }.prefix(limit)
      .map(\.word)
  }

  /// The number of letters to insert, delete, change or exchange with their neighbour; nil beyond
  /// the maximum (optimal string alignment).
  static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar], allowed: Int) -> Int? {
    guard abs(left.count - right.count) <= allowed else { return nil }
    var earlier: [Int] = []
    var above = Array(0...right.count)
    for (row, letter) in left.enumerated() {
      var current = [row + 1]
      current.reserveCapacity(right.count + 1)
      for (column, other) in right.enumerated() {
        var best = min(above[column + 1], current[column]) + 1
        best = min(best, above[column] + (letter == other ? 0 : 1))
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
          best = min(best, earlier[column - 1] + 1)
        }
        current.append(best)
      }
      guard let smallest = current.min(), smallest <= allowed else { return nil }
      (earlier, above) = (above, current)
    }
    return above[right.count] <= allowed ? above[right.count] : nil
  }
}
