import SequenceCRDT
import Testing

struct PartitioningIndexTests {
  /// Every boundary of every short range, compared with a search from the front.
  @Test func theFirstThatBelongsBehindIsFound() {
    for count in 0...20 {
      for boundary in 0...count + 1 {
        let numbers = 3..<3 + count
        let expected = numbers.first { $0 >= 3 + boundary } ?? numbers.upperBound
        #expect(numbers.partitioningIndex { $0 >= 3 + boundary } == expected)
      }
    }
  }

  /// Twice the middle of such a range overflows its type.
  @Test func theLargestNumbersAreFound() {
    let numbers = UInt32.max - 5..<UInt32.max
    #expect(numbers.partitioningIndex { $0 >= UInt32.max - 2 } == UInt32.max - 2)
    #expect(numbers.partitioningIndex { _ in false } == UInt32.max)
  }

  @Test func aThousandNumbersTakeTenQuestions() {
    var asked = 0
    _ = (0..<1_000).partitioningIndex {
      asked += 1
      return $0 >= 700
    }
    #expect(asked <= 10)
  }
}
