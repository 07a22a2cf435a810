import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// List deltas and snapshots: what is written comes back, and what is damaged is refused.
struct ListCodecTests {
  /// Well-formed operations, however little they mean together.
  private func log(seed: UInt64, count: Int) -> ListLog {
    var generator = SeededGenerator(seed: seed)
    let replicas = (0...generator.below(3)).map { _ in
      ReplicaID(rawValue: generator.next() | 1)
    }
    var next = replicas.map { _ in UInt32(1 + generator.below(5_000)) }
    var stamp = Stamp(milliseconds: TestDevice.startOfTime)
    var operations: [ListOperation] = []
    func some() -> OperationID {
      OperationID(
        replica: replicas[generator.below(replicas.count)],
        seq: UInt32(1 + generator.below(generator.chance(90) ? 6_000 : 1 << 31)))
    }
    func origin() -> OperationID? { generator.chance(20) ? nil : some() }
    func value() -> ListValue {
      switch generator.below(10) {
      case 0..<6: .integer(Int64(generator.below(2_000)) - 1_000)
      case 6: .integer(Int64(bitPattern: generator.next()))
      default: .text(String(repeating: "é", count: generator.below(20)))
      }
    }
    for _ in 0..<count {
      let author = generator.below(generator.chance(80) ? 1 : replicas.count)
      if generator.chance(5) { next[author] += UInt32(generator.below(100)) }
      if generator.chance(20) {
        stamp = Stamp(
          milliseconds: stamp.milliseconds + Int64(generator.below(5_000)) - 1_000,
          counter: UInt16(generator.chance(70) ? 0 : generator.below(65_536)))
      }
      let id = OperationID(replica: replicas[author], seq: next[author])
      let operation: ListOperation =
        switch generator.below(4) {
        case 0:
          .insert(
            id: id, left: generator.chance(50) ? id.advanced(by: -1) : origin(),
            right: origin(), stamp: stamp, values: (0...generator.below(4)).map { _ in value() })
        case 1: .set(id: id, element: some(), stamp: stamp, value: value())
        case 2:
          .move(id: id, element: some(), left: origin(), right: origin(), stamp: stamp)
        default: .remove(id: id, element: some())
        }
      next[author] += UInt32(operation.length)
      operations.append(operation)
    }
    return ListLog(operations)
  }

  /// A list that several hands made.
  private func list(seed: UInt64) throws -> MovableList {
    var generator = SeededGenerator(seed: seed)
    var lists = (1...3).map { MovableList(replica: ReplicaID(rawValue: $0)) }
    for step in 0..<40 {
      let stamp = Stamp(milliseconds: Int64(step), counter: UInt16(generator.below(2)))
      let index = generator.below(3)
      let count = lists[index].count
      switch generator.below(count < 2 ? 1 : 4) {
      case 0:
        let value: ListValue = generator.chance(70) ? .integer(Int64(step)) : .text("\(step)")
        try lists[index].insert(
          [value, .integer(0)], at: generator.below(count + 1), stamp: stamp)
      case 1: try lists[index].set(.text("é\(step)"), at: generator.below(count), stamp: stamp)
      case 2:
        try lists[index].move(
          from: generator.below(count), to: generator.below(count), stamp: stamp)
      default: try lists[index].remove(0..<1)
      }
      let other = (index + 1) % 3
      try lists[other].merge(lists[index].log.since(lists[other].vector))
    }
    return lists[0]
  }

  @Test(arguments: TestSeeds.list(standard: 100))
  func logsComeBack(seed: UInt64) throws {
    for count in [0, 1, 5, 60] {
      let log = log(seed: seed, count: count)
      let bytes = ListCodec.encode(log)
      let decoded = try ListCodec.decode(bytes)
      #expect(decoded == log, "COSPOOL_SEED=\(seed)")
      #expect(ListCodec.encode(decoded) == bytes, "COSPOOL_SEED=\(seed)")
    }
  }

  @Test(arguments: TestSeeds.list(standard: 40))
  func snapshotsComeBack(seed: UInt64) throws {
    let image = try list(seed: seed).image
    let values = ListCodec.encodeParts(image.elements.map(\.value)).bytes
    let state = ListCodec.encodeParts(image).bytes
    let decodedValues = try ListCodec.decodeValues(values)
    #expect(decodedValues == image.elements.map(\.value), "COSPOOL_SEED=\(seed)")
    #expect(
      try ListCodec.decodeState(state, values: decodedValues) == image, "COSPOOL_SEED=\(seed)")
  }

  @Test(arguments: TestSeeds.list(standard: 30))
  func cutAndFlippedBytesNeverTrap(seed: UInt64) throws {
    let bytes = ListCodec.encode(log(seed: seed, count: 20))
    let image = try list(seed: seed).image
    let values = image.elements.map(\.value)
    let valueBytes = ListCodec.encodeParts(values).bytes
    let state = ListCodec.encodeParts(image).bytes
    for length in bytes.indices {
      #expect(throws: DecodingFault.self) { try ListCodec.decode(Array(bytes[..<length])) }
    }
    for length in state.indices {
      #expect(throws: DecodingFault.self) {
        try ListCodec.decodeState(Array(state[..<length]), values: values)
      }
    }
    var generator = SeededGenerator(seed: seed)
    func damaged(_ bytes: [UInt8]) -> [UInt8] {
      var bytes = bytes
      for _ in 0...generator.below(3) {
        bytes[generator.below(bytes.count)] = UInt8(generator.below(256))
      }
      return bytes
    }
    for _ in 0..<300 {
      if let log = try? ListCodec.decode(damaged(bytes)) {
        #expect(try ListCodec.decode(ListCodec.encode(log)) == log, "COSPOOL_SEED=\(seed)")
        var list = MovableList(replica: ReplicaID(rawValue: 77))
        try? list.merge(log)
        try list.checkInvariants()
      }
      _ = try? ListCodec.decodeValues(damaged(valueBytes))
      if let image = try? ListCodec.decodeState(damaged(state), values: values) {
        let list = try? MovableList(image: image, replica: ReplicaID(rawValue: 77))
        try list?.checkInvariants()
      }
    }
  }

  @Test func hugeCountsTakeNoMemory() {
    func number(_ value: UInt64) -> [UInt8] {
      var writer = ByteWriter()
      writer.number(value)
      return writer.bytes
    }
    func code(_ bytes: [UInt8], budget: DecodingBudget = .standard) -> DecodingFault.Code? {
      do {
        _ = try ListCodec.decode(bytes, budget: budget)
        return nil
      } catch {
        return error.code
      }
    }
    let start: [UInt8] = [1, 1, 2, 3, 4, 5, 6, 7, 8, 0]
    func delta(_ columns: [(UInt8, [UInt8])]) -> [UInt8] {
      start + columns.flatMap { [$0.0, UInt8($0.1.count)] + $0.1 }
    }
    #expect(code(number(.max)) == .limitExceeded)
    #expect(code(number(65_536)) == .truncated)
    for kind: UInt8 in 0..<4 {
      let many = delta([(0, [0x20 | kind]), (2, number(1_000_000)), (7, [1])])
      #expect(code(many) == .truncated, "kind \(kind)")
      let tooMany = delta([(0, [0x20 | kind]), (2, number(1_300_000)), (7, [1])])
      #expect(code(tooMany) == .budgetExceeded, "kind \(kind)")
    }
    let one = delta([(0, [0x00]), (7, [1]), (12, [2])])
    #expect(code(one) == nil)
    #expect(code(one, budget: DecodingBudget(rowsMax: 0, itemsMax: 9, replicasMax: 1)) != nil)
    #expect(code(one, budget: DecodingBudget(rowsMax: 1, itemsMax: 0, replicasMax: 1)) != nil)
    #expect(code(delta([(0, [0x80]), (7, [1]), (12, [2])])) == .unsupported)
    #expect(code(delta([(0, [0x00]), (7, [3]), (12, [2])])) == .unsupported)
    #expect(code(delta([(0, [0x00]), (7, [0]), (12, [2])])) == .invalidValue, "no last slot")
    #expect(code(delta([(0, [0x00]), (7, [0x0D]), (12, [2])])) == .invalidValue, "no last right")
    #expect(code(delta([(0, [0x00]), (7, [1]), (12, [2, 2])])) == .trailingBytes)
    #expect(code(delta([(0, [0x13])])) == .invalidValue, "a removal has no stamp")
    #expect(code(delta([(0, [0x42]), (6, [2]), (7, [1])])) == .invalidValue, "a move of texts")
  }

  @Test func manyMovesAreOneRow() throws {
    var list = MovableList(replica: ReplicaID(rawValue: 5))
    let stamp = Stamp(milliseconds: TestDevice.startOfTime)
    try list.insert((0..<1_000).map { .integer($0) }, at: 0, stamp: stamp)
    let vector = list.vector
    try list.move(100..<600, to: 0, stamp: stamp)
    let bytes = ListCodec.encode(list.log.since(vector))
    // An element, a shape and little more for each: what follows repeats and compresses away.
    #expect(bytes.count < 1_100)
    #expect(Set(bytes).count < 30)
  }
}
