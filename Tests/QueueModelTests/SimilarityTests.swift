import Testing

@testable import QueueModel

struct SimilarityTests {
  @Test(
    arguments: [
      ("quue", ["queue"]), ("qeueu", ["queue"]), ("thr", ["thread"]), ("THREAD-", ["thread"]),
      ("satus", ["status"]), ("s", []), ("", []), ("nothing", []), ("queue", []),
      ("se", ["send", "session"]),
    ] as [(String, [String])])
  func wordsThatWereMeantAreFound(word: String, expected: [String]) {
    let words = ["queue", "thread", "status", "send", "session", "undo"]
    #expect(Similarity.closest(to: word, among: words) == expected)
  }

  @Test func theNearestComeFirstAndAreFew() {
    let words = ["reviews", "preview", "review-3", "review-2", "review-1", "rewiev"]
    #expect(
      Similarity.closest(to: "review", among: words) == ["review-1", "review-2", "review-3"])
    #expect(Similarity.closest(to: "reviwe", among: words) == ["preview", "reviews"])
  }

  @Test func theDistanceIsWhatASlowCountSays() {
    // All words of up to four letters, of two different letters, compared with the plain
    // definition.
    var words: [[Unicode.Scalar]] = [[]]
    for length in 0..<4 {
      words += words.filter { $0.count == length }.flatMap { [$0 + ["a"], $0 + ["b"]] }
    }
    for left in words {
      for right in words {
        let slow = slowDistance(left[...], right[...])
        let fast = Similarity.distance(left, right, allowed: 2)
        #expect(fast == (slow <= 2 ? slow : nil), "\(left) \(right)")
      }
    }
  }

  private func slowDistance(
    _ left: ArraySlice<Unicode.Scalar>, _ right: ArraySlice<Unicode.Scalar>
  ) -> Int {
    guard let last = left.last, let other = right.last else { return left.count + right.count }
    let (shorter, less) = (left.dropLast(), right.dropLast())
    var best = min(
      slowDistance(shorter, right) + 1, slowDistance(left, less) + 1,
      slowDistance(shorter, less) + (last == other ? 0 : 1))
    if let before = shorter.last, let earlier = less.last, last == earlier, before == other {
      best = min(best, slowDistance(shorter.dropLast(), less.dropLast()) + 1)
    }
    return best
  }
}
