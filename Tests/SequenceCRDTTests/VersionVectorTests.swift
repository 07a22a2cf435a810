import SequenceCRDT
import Testing

struct VersionVectorTests {
  private let first = ReplicaID(rawValue: 1)
  private let second = ReplicaID(rawValue: 2)
  private let third = ReplicaID(rawValue: .max)

  @Test func knowsEveryIdUpToTheEntryAndNoneBeyond() {
    let vector = VersionVector([first: 3])
    #expect(vector.contains(OperationID(replica: first, seq: 1)))
    #expect(vector.contains(OperationID(replica: first, seq: 3)))
    #expect(!vector.contains(OperationID(replica: first, seq: 4)))
    #expect(!vector.contains(OperationID(replica: second, seq: 1)))
  }

  @Test func zerosAreNotEntries() {
    var vector = VersionVector([first: 0, second: 2])
    #expect(vector.count == 1)
    #expect(vector == VersionVector([second: 2]))
    vector[second] = 0
    #expect(vector.isEmpty)
    #expect(vector == VersionVector())
  }

  @Test func unionTakesTheLargerEntryOfEach() {
    var vector = VersionVector([first: 3, second: 1])
    vector.formUnion(VersionVector([second: 5, third: .max]))
    #expect(vector == VersionVector([first: 3, second: 5, third: .max]))
  }

  @Test func concurrentVectorsIncludeNeitherTheOther() {
    let left = VersionVector([first: 3, second: 1])
    let right = VersionVector([first: 2, second: 2])
    #expect(!left.includes(right))
    #expect(!right.includes(left))
    #expect(left.includes(left))
    #expect(left.includes(VersionVector()))
  }

  @Test func missingRangesDescribeADeltaExactly() {
    let ahead = VersionVector([second: 7, first: 3, third: 1])
    let behind = VersionVector([first: 3, second: 4])
    #expect(
      ahead.ranges(missingFrom: behind) == [
        OperationRange(replica: second, first: 5, last: 7),
        OperationRange(replica: third, first: 1, last: 1),
      ])
    #expect(ahead.operationCount(missingFrom: behind) == 4)
    #expect(behind.ranges(missingFrom: ahead) == [])
  }

  @Test func entriesComeInTheOrderOfTheReplicas() {
    let vector = VersionVector([third: 1, first: 2, second: 3])
    #expect(vector.sorted.map(\.replica) == [first, second, third])
    #expect(vector.sorted.map(\.seq) == [2, 3, 1])
  }

  @Test func idsOrderByReplicaAndThenByNumber() {
    let early = OperationID(replica: first, seq: .max)
    let late = OperationID(replica: second, seq: 1)
    #expect(early < late)
    #expect(OperationID(replica: first, seq: 1) < early)
  }

  @Test func advancingAnIdStopsAtTheEndsOfTheRange() {
    let last = OperationID(replica: first, seq: .max)
    #expect(last.advanced(by: 0) == last)
    #expect(last.advanced(by: 1) == nil)
    #expect(last.advanced(by: .max) == nil)
    #expect(OperationID(replica: first, seq: 1).advanced(by: -1) == nil)
    #expect(OperationID(replica: first, seq: 1).advanced(by: .min) == nil)
  }

  @Test func aRangeHoldsItsEndsAndCountsThem() {
    let range = OperationRange(replica: first, first: 2, last: 4)
    #expect(range.count == 3)
    #expect(range.contains(OperationID(replica: first, seq: 2)))
    #expect(range.contains(OperationID(replica: first, seq: 4)))
    #expect(!range.contains(OperationID(replica: first, seq: 5)))
    #expect(!range.contains(OperationID(replica: second, seq: 3)))
  }
}
