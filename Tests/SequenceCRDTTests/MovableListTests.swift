import SequenceCRDT
import SyncTestSupport
import Testing

/// What a movable list does, alone and with others.
struct MovableListTests {
  private let first = ReplicaID(rawValue: 1)
  private let second = ReplicaID(rawValue: 2)

  private func stamp(_ milliseconds: Int64) -> Stamp { Stamp(milliseconds: milliseconds) }

  private func list(_ integers: Range<Int64>, replica: ReplicaID) throws -> MovableList {
    var list = MovableList(replica: replica)
    try list.insert(integers.map { .integer($0) }, at: 0, stamp: stamp(1))
    return list
  }

  private func integers(_ list: MovableList) -> [Int64] {
    list.values.map { if case .integer(let integer) = $0 { integer } else { -1 } }
  }

  /// A list with 0, 1, 2, 3 on two replicas.
  private func pair() throws -> (MovableList, MovableList) {
    let one = try list(0..<4, replica: first)
    var other = MovableList(replica: second)
    try other.merge(one.log)
    return (one, other)
  }

  /// Both know everything, and agree.
  private func exchange(_ one: inout MovableList, _ other: inout MovableList) throws {
    let answer = other.log.since(one.vector)
    try other.merge(one.log.since(other.vector))
    try one.merge(answer)
    #expect(one.image == other.image)
    #expect(one.values == other.values)
    try one.checkInvariants()
    try other.checkInvariants()
  }

  @Test func localChangesDoWhatTheySay() throws {
    var list = try list(0..<5, replica: first)
    try list.move(from: 0, to: 4, stamp: stamp(2))
    #expect(integers(list) == [1, 2, 3, 4, 0])
    try list.move(from: 4, to: 1, stamp: stamp(2))
    #expect(integers(list) == [1, 0, 2, 3, 4])
    try list.move(1..<3, to: 3, stamp: stamp(3))
    #expect(integers(list) == [1, 3, 4, 0, 2])
    try list.move(3..<5, to: 1, stamp: stamp(3))
    #expect(integers(list) == [1, 0, 2, 3, 4])
    try list.set(.integer(9), at: 2, stamp: stamp(4))
    try list.remove(0..<2)
    #expect(integers(list) == [9, 3, 4])
    try list.append(.text("end"), stamp: stamp(5))
    #expect(list.value(at: 3) == .text("end"))
    #expect(list.count == 4)
    let element = try #require(list.element(at: 1))
    #expect(list.index(of: element) == 1)
    try list.checkInvariants()
  }

  @Test func consecutiveChangesOfAKindAreOneRun() throws {
    var list = MovableList(replica: first)
    for number in 0..<100 { try list.append(.integer(Int64(number)), stamp: stamp(1)) }
    for number in 0..<50 { try list.set(.integer(0), at: number, stamp: stamp(2)) }
    for number in 0..<50 { try list.move(from: number, to: 99 - number, stamp: stamp(3)) }
    #expect(list.log.runs.count == 3)
    #expect(list.log.unitCount == 200)
  }

  @Test func argumentsThatCannotBeAreRefused() throws {
    var list = try list(0..<3, replica: first)
    let image = list.image
    for index in [-1, 3, Int.max] {
      #expect(throws: ListFault.noSuchIndex(index)) {
        try list.set(.integer(1), at: index, stamp: stamp(2))
      }
      #expect(throws: ListFault.noSuchIndex(index)) {
        try list.move(from: index, to: 0, stamp: stamp(2))
      }
      #expect(throws: ListFault.noSuchIndex(index)) {
        try list.move(from: 0, to: index, stamp: stamp(2))
      }
      #expect(list.value(at: index) == nil)
    }
    #expect(throws: ListFault.noSuchIndex(4)) {
      try list.insert([.integer(1)], at: 4, stamp: stamp(2))
    }
    #expect(throws: ListFault.noSuchIndex(3)) { try list.remove(1..<4) }
    #expect(list.image == image)
  }

  @Test func sequenceNumbersEndAtTheirMaximum() throws {
    var list = MovableList(replica: first, firstSeq: 1 << 31)
    #expect(throws: ListFault.full) {
      try list.insert([.integer(1), .integer(2)], at: 0, stamp: stamp(1))
    }
    try list.append(.integer(1), stamp: stamp(1))
    #expect(throws: ListFault.full) { try list.append(.integer(2), stamp: stamp(1)) }
    #expect(list.count == 1)
  }

  @Test func ofTwoMovesTheLaterStampHolds() throws {
    var (one, other) = try pair()
    try one.move(from: 0, to: 3, stamp: stamp(10))
    try other.move(from: 0, to: 1, stamp: stamp(9))
    try exchange(&one, &other)
    #expect(integers(one) == [1, 2, 3, 0])
  }

  @Test func equalStampsGoByReplica() throws {
    var (one, other) = try pair()
    try one.set(.integer(10), at: 0, stamp: stamp(10))
    try other.set(.integer(20), at: 0, stamp: stamp(10))
    try exchange(&one, &other)
    #expect(integers(one) == [20, 1, 2, 3])
  }

  @Test func removalWinsOverMoveAndWrite() throws {
    var (one, other) = try pair()
    try one.remove(0..<2)
    try other.move(from: 0, to: 3, stamp: stamp(99))
    try other.set(.integer(7), at: 0, stamp: stamp(99))
    try exchange(&one, &other)
    #expect(integers(one) == [2, 3])
    try one.move(from: 0, to: 1, stamp: stamp(1))
    try exchange(&one, &other)
    #expect(integers(other) == [3, 2])
  }

  @Test func removedTwiceIsRemovedOnce() throws {
    var (one, other) = try pair()
    try one.remove(1..<3)
    try other.remove(2..<4)
    try exchange(&one, &other)
    #expect(integers(one) == [0])
  }

  @Test func batchesMovedToOnePlaceStayTogether() throws {
    var (one, other) = try pair()
    try one.move(0..<2, to: 2, stamp: stamp(5))
    try other.insert([.integer(8), .integer(9)], at: 4, stamp: stamp(5))
    try exchange(&one, &other)
    let result = integers(one)
    #expect([[2, 3, 0, 1, 8, 9], [2, 3, 8, 9, 0, 1]].contains(result))
  }

  @Test func writesHerePassWhatWasSeen() throws {
    var (one, other) = try pair()
    try one.set(.integer(10), at: 0, stamp: stamp(1_000))
    try exchange(&one, &other)
    try other.set(.integer(20), at: 0, stamp: stamp(5))
    try exchange(&one, &other)
    #expect(integers(one)[0] == 20)
  }

  @Test func operationsThatDoNotFitAreRefused() throws {
    var (one, other) = try pair()
    try other.append(.integer(4), stamp: stamp(2))
    try other.append(.integer(5), stamp: stamp(2))
    let unknown = OperationID(replica: ReplicaID(rawValue: 9), seq: 1)
    let own = OperationID(replica: second, seq: 1)
    let element = try #require(one.element(at: 0))
    let image = one.image
    #expect(
      throws: ListFault.missing(OperationRange(replica: second, first: 1, last: 1))
    ) { try one.merge(.remove(id: OperationID(replica: second, seq: 2), element: element)) }
    #expect(throws: ListFault.unknown(unknown)) {
      try one.merge(.set(id: own, element: unknown, stamp: stamp(2), value: .integer(0)))
    }
    #expect(throws: ListFault.unknown(unknown)) {
      try one.merge(.move(id: own, element: element, left: unknown, right: nil, stamp: stamp(2)))
    }
    #expect(throws: ListFault.invalid(own)) {
      try one.merge(
        .set(id: own, element: element, stamp: Stamp(rawValue: .max), value: .integer(0)))
    }
    #expect(throws: ListFault.sequence(.originsOutOfOrder)) {
      try one.merge(
        .move(
          id: own, element: element, left: one.element(at: 2), right: one.element(at: 1),
          stamp: stamp(2)))
    }
    #expect(one.image == image)
    // A slot that a move made names no element.
    try one.move(from: 0, to: 2, stamp: stamp(3))
    let moved = OperationID(replica: first, seq: 5)
    #expect(throws: ListFault.unknown(moved)) { try one.merge(.remove(id: own, element: moved)) }
    try one.checkInvariants()
  }

  @Test func knownOperationsChangeNothing() throws {
    var (one, other) = try pair()
    try other.insert([.integer(4), .integer(5), .integer(6)], at: 2, stamp: stamp(2))
    try one.merge(other.log)
    let image = one.image
    try one.merge(other.log)
    #expect(one.image == image)
    // A log cut inside an insertion, then the whole of it.
    var late = MovableList(replica: ReplicaID(rawValue: 3))
    let operations = other.log.operations
    guard case .insert(let id, let left, let right, let stamp, let values) = operations.last else {
      Issue.record("the last operation inserts")
      return
    }
    for operation in operations.dropLast() { try late.merge(operation) }
    try late.merge(
      .insert(id: id, left: left, right: right, stamp: stamp, values: Array(values[..<2])))
    try late.merge(other.log)
    #expect(late.image == other.image)
  }

  @Test func imagesThatContradictThemselvesAreRefused() throws {
    var list = try list(0..<4, replica: first)
    try list.move(from: 0, to: 2, stamp: stamp(2))
    try list.remove(0..<1)
    let image = list.image
    #expect(try MovableList(image: image, replica: second).image == image)
    var damaged: [ListImage] = Array(repeating: image, count: 7)
    damaged[0].owners.removeLast()
    damaged[1].elements.removeLast()
    damaged[2].owners[0] = OperationID(replica: second, seq: 1)
    damaged[3].elements[0].slot.seq = 999
    damaged[4].elements[0].valueWriter = OperationID(replica: second, seq: 1)
    damaged[5].replicas = []
    damaged[6].latestStamp = Stamp(rawValue: .max)
    for image in damaged {
      #expect(throws: ListFault.self) { try MovableList(image: image, replica: second) }
    }
  }
}
