import QueueModel
import SyncTestSupport
import Testing

/// The fewest edits, compared with the textbook table, and the result if that is too much work.
struct LinearDifferenceTests {
  /// The number of elements to delete and insert, by dynamic programming.
  private func distance(_ old: [UInt32], _ new: [UInt32]) -> Int {
    var row = Array(0...new.count)
    for (index, element) in old.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for (column, other) in new.enumerated() {
        let best = element == other ? diagonal : 1 + min(row[column], row[column + 1])
        diagonal = row[column + 1]
        row[column + 1] = best
      }
    }
    return row[new.count]
  }

  private func applied(
    _ hunks: [LinearDifference.Hunk], _ old: [UInt32], _ new: [UInt32]
  ) -> [UInt32] {
    var result: [UInt32] = []
    var kept = 0
    for hunk in hunks {
      result += old[kept..<hunk.old.lowerBound] + new[hunk.new]
      kept = hunk.old.upperBound
    }
    return result + old[kept...]
  }

  private func size(_ hunks: [LinearDifference.Hunk]) -> Int {
    hunks.reduce(0) { $0 + $1.old.count + $1.new.count }
  }

  @Test(arguments: TestSeeds.list(standard: 40, from: 700))
  func smallTextsGetTheFewestEdits(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let letters = 1 + generator.below(4)
      let old = (0..<generator.below(24)).map { _ in UInt32(generator.below(letters)) }
      var new = (0..<generator.below(24)).map { _ in UInt32(generator.below(letters)) }
      if generator.chance(30) {
        new = old
        for _ in 0..<generator.below(5) where !new.isEmpty {
          if generator.chance(50) {
            new.remove(at: generator.below(new.count))
          } else {
            new.insert(UInt32(generator.below(letters)), at: generator.below(new.count))
          }
        }
      }
      let difference = LinearDifference(from: old, to: new)
      #expect(difference.isMinimal)
      #expect(applied(difference.hunks, old, new) == new, "seed \(seed)")
      #expect(size(difference.hunks) == distance(old, new), "seed \(seed), \(old), \(new)")
    }
  }

  @Test func hunksDoNotTouch() {
    let old = Array("the quick brown fox".unicodeScalars.map(\.value))
    let new = Array("a quick red fox jumps".unicodeScalars.map(\.value))
    let hunks = LinearDifference(from: old, to: new).hunks
    for (before, after) in zip(hunks, hunks.dropFirst()) {
      #expect(before.old.upperBound < after.old.lowerBound)
    }
  }

  @Test(arguments: [
    (0, 0), (1, 0), (0, 1), (5_000, 5_000), (20_000, 1), (6_000, 9_000),
  ])
  func workIsBoundedWhateverComes(_ oldCount: Int, _ newCount: Int) {
    var generator = TestSeeds.generator(standard: 31)
    // Two letters in random order: nearly every diagonal has snakes, and the distance is large.
    let old = (0..<oldCount).map { _ in UInt32(generator.below(2)) }
    let new = (0..<newCount).map { _ in UInt32(generator.below(2)) }
    let work = 50_000
    let difference = LinearDifference(from: old, to: new, work: work)
    #expect(applied(difference.hunks, old, new) == new)
    // A last snake may continue.
    #expect(work - difference.work <= work + oldCount + newCount + 2)
    #expect(difference.isMinimal == (oldCount * newCount <= 20_000))
  }

  @Test func aReplacedLongTextIsFoundToBeTooMuch() {
    let old = (0..<4_000 as Range<UInt32>).map { $0 }
    let new = (20_000..<24_000 as Range<UInt32>).map { $0 }
    let difference = LinearDifference(from: old, to: new, work: 50_000)
    #expect(!difference.isMinimal)
    #expect(difference.hunks.map(\.old) == [0..<4_000])
    #expect(difference.hunks.map(\.new) == [0..<4_000])
  }

  @Test func farApartChangesInALongTextStayMinimal() {
    var generator = TestSeeds.generator(standard: 32)
    let old = (0..<20_000).map { _ in UInt32(generator.below(60)) }
    var new = old
    for place in stride(from: 1_000, to: 19_900, by: 900) { new[place] = 1_000 }
    let difference = LinearDifference(from: old, to: new)
    #expect(difference.isMinimal)
    #expect(size(difference.hunks) == 2 * 21)
  }
}
