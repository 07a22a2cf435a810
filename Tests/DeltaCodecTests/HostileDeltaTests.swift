import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Deltas put together by hand, field by field, as an attacker would.
struct HostileDeltaTests {
  /// One replica, 0x0807060504030201, first sequence number 1, operations in rows.
  private static let start: [UInt8] = [0x02, 1, 2, 3, 4, 5, 6, 7, 8]
  /// The same, in columns.
  private static let columnStart: [UInt8] = [0x03, 1, 2, 3, 4, 5, 6, 7, 8]
  private static let replica = ReplicaID(rawValue: 0x0807_0605_0403_0201)

  private func code(
    _ bytes: [UInt8], budget: DecodingBudget = .standard
  ) -> DecodingFault.Code? {
    do {
      _ = try DeltaCodec.decode(bytes, budget: budget)
      return nil
    } catch {
      return error.code
    }
  }

  private func number(_ value: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.number(value)
    return writer.bytes
  }

  private func id(_ seq: UInt32) -> OperationID {
    OperationID(replica: HostileDeltaTests.replica, seq: seq)
  }

  private func insertion(_ text: String, at seq: UInt32 = 10) -> Operation {
    Operation(
      id: id(seq),
      body: .insertText(
        Operation.InsertText(message: id(3), origins: .init(left: nil, right: nil), text: text)))
  }

  @Test func replica0IsRefused() {
    #expect(code([0x02] + Array(repeating: 0, count: 8)) == .invalidValue)
  }

  @Test func replicaNamedTwiceIsRefused() {
    let entry: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 0]
    #expect(code([0x08] + entry + entry) == .invalidValue)
    #expect(code([0x08] + entry + [2, 2, 3, 4, 5, 6, 7, 8, 0]) == nil)
  }

  @Test func hugeReplicaCountTakesNoMemory() {
    #expect(code(number(65_536 << 2)) == .truncated)
    #expect(code(number(65_537 << 2)) == .budgetExceeded)
    #expect(code(number(UInt64.max & ~2)) == .budgetExceeded)
  }

  @Test func unknownRowKindsAreUnsupported() {
    for head: UInt8 in [0x00, 0x06, 0x0B, 0x50, 0x5F] {
      #expect(code(HostileDeltaTests.start + [head]) == .unsupported, "head \(head)")
    }
    // Left origin tag 3.
    #expect(code(HostileDeltaTests.start + [0x93, 0x06]) == .unsupported)
  }

  @Test func optionalColumnIsSkippedAndOthersAreNot() throws {
    let operations = (0..<30).map { insertion("x", at: 10 + 2 * $0) }
    let bytes = DeltaCodec.encode(operations)
    #expect(bytes[0] & 1 == 1, "many rows are written in columns")
    #expect(try DeltaCodec.decode(bytes + [64, 2, 0xAB, 0xCD]) == operations)
    #expect(code(bytes + [16, 1, 0]) == .unsupported)
    #expect(code(bytes + [63, 1, 0]) == .unsupported)
    #expect(code(bytes + [64, 1, 0, 64, 1, 0]) == .invalidValue)
    #expect(code(bytes + [64, 0]) == .invalidValue)
    #expect(code(bytes + [64, 2, 0]) == .truncated)
  }

  @Test func columnsThatAreNotUsedUpAreRefused() {
    #expect(code(HostileDeltaTests.columnStart + [8, 1, 0]) == .trailingBytes)
    #expect(code(HostileDeltaTests.columnStart + [8, 1, 0, 0, 1, 4]) == .invalidValue)
  }

  @Test func hugeCountsWithTinyBodiesTakeNoMemory() {
    let many = number(UInt64(Limits.sequenceMax))
    // A deletion of two thousand million, an insertion without its text, a repeated placement.
    #expect(code(HostileDeltaTests.start + [0x4D, 0x06, 0x06] + many) != nil)
    #expect(
      code(HostileDeltaTests.start + [0x4D, 0x06, 0x06] + number(1_199_999)) == .budgetExceeded)
    #expect(code(HostileDeltaTests.start + [0x4D, 0x06, 0x06] + number(1_199_998)) == nil)
    #expect(code(HostileDeltaTests.start + [0xB1, 0x06] + many) == .limitExceeded)
    #expect(code(HostileDeltaTests.start + [0xB1, 0x06] + number(900_000)) == .truncated)
    #expect(code(HostileDeltaTests.start + [0x0E] + many + [0xE1]) == .limitExceeded)
    #expect(code(HostileDeltaTests.start + [0x0E] + number(1_199_999) + [0xE1]) == .budgetExceeded)
    #expect(
      code(HostileDeltaTests.start + [0x0E] + number(9_999) + [0xE1, 1, 0, 0, 0, 0]) == .truncated)
    #expect(code(HostileDeltaTests.start + [0x0E, 0, 0x0E, 0]) == .invalidValue)
    #expect(code(HostileDeltaTests.start + [0x0E, 0, 0x04, 0]) == .invalidValue)
    // Cleared tags: more than the limit, and more than there are bytes for.
    #expect(code(HostileDeltaTests.start + [0x04, 0x13] + number(10_000)) == .limitExceeded)
    #expect(code(HostileDeltaTests.start + [0x04, 0x13] + number(9_999)) == .truncated)
  }

  @Test func sequenceNumbersEndAtTheirMaximum() {
    let last = UInt64(Limits.sequenceMax) - 1
    let replica = HostileDeltaTests.start.dropFirst()
    let row: [UInt8] = [0x91, 0x06, 0x78]
    #expect(code(number(last << 2 | 2) + replica + row) == .invalidValue, "message behind the last")
    #expect(code(number((last + 1) << 2 | 2) + replica) == .invalidValue)
    #expect(code(number(last << 2 | 2) + replica + [0x91, 0x01, 0x78]) == nil)
    #expect(
      code(number(last << 2 | 2) + replica + [0x91, 0x01, 0x78, 0x81, 0x79]) == .limitExceeded)
    #expect(
      code(number(last << 2 | 2) + replica + [0xB1, 0x01, 0x00, 0x78, 0x79]) == .limitExceeded)
    // Steps of the sequence number: below 1, past the end, by nothing, and to no replica.
    #expect(code(HostileDeltaTests.start + [0x0D, 0x01] + row) == .invalidValue)
    #expect(code(HostileDeltaTests.start + [0x0D] + number(.max - 1) + row) == .invalidValue)
    #expect(code(HostileDeltaTests.start + [0x0D, 0x00] + row) == .invalidValue)
    #expect(code(HostileDeltaTests.start + [0x0D, 0x02]) == .truncated)
  }

  /// A thread is placed at the beginning of 2024, and the time of its slot is this far from that.
  @Test func timesOfSlotsHaveBounds() {
    func code(atDistance distance: Int64) -> DecodingFault.Code? {
      self.code(
        HostileDeltaTests.start + [0x0F] + number(ByteWriter.zigzag(distance))
          + [0x71, 0, 0, 0, 0, 0, 0])
    }
    let epoch: Int64 = 1_704_067_200_000
    #expect(code(atDistance: -epoch) == nil)
    #expect(code(atDistance: Stamp.millisecondsMax - epoch) == nil)
    for distance in [-epoch - 1, Stamp.millisecondsMax - epoch + 1, .min, .max] {
      #expect(code(atDistance: distance) == .invalidValue, "\(distance)")
    }
    #expect(code(atDistance: 0) == .invalidValue, "as it was")
    #expect(self.code(HostileDeltaTests.start + [0x0F, 2, 0x0F, 2, 0x71]) == .invalidValue)
    #expect(self.code(HostileDeltaTests.start + [0x0F, 2]) == .truncated)
    #expect(self.code(HostileDeltaTests.start + [0x0E, 0, 0x0F, 2, 0x71]) == .truncated)
  }

  @Test func predictionsWithoutAPastAreRefused() {
    #expect(code(HostileDeltaTests.start + [0x81, 0x78]) == .invalidValue, "no last message")
    #expect(code(HostileDeltaTests.start + [0x90, 0x06, 0x78]) == .invalidValue, "no focus")
    #expect(
      code(HostileDeltaTests.start + [0x95, 0x06, 0x78]) == .invalidValue, "beside the start")
    #expect(code(HostileDeltaTests.start + [0x99, 0x06, 0x00, 0x78]) == .invalidValue)
    #expect(code(HostileDeltaTests.start + [0x61, 0x04]) == .invalidValue, "no last stamp")
    #expect(code(HostileDeltaTests.start + [0x0C, 0x01]) == .invalidValue, "no such replica")
  }

  @Test(
    arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80]]
      as [[UInt8]])
  func textThatIsNotUTF8IsRefused(bytes: [UInt8]) {
    #expect(code(HostileDeltaTests.start + [0x91, 0x06] + bytes) == .invalidText)
  }

  @Test func contentEndsAtItsLimit() throws {
    let most = insertion(String(repeating: "x", count: Limits.contentBytesMax))
    #expect(code(DeltaCodec.encode([most])) == nil)
    let tooMuch = insertion(String(repeating: "é", count: Limits.contentBytesMax / 2) + "x")
    #expect(code(DeltaCodec.encode([tooMuch])) == .limitExceeded)
  }

  @Test func namesEndAtTheirLimit() {
    for (count, expected) in [
      (Limits.nameBytesMax, nil), (Limits.nameBytesMax + 1, DecodingFault.Code.limitExceeded),
    ] {
      let name = String(repeating: "n", count: count)
      let stamp = Stamp(milliseconds: TestDevice.startOfTime)
      let bodies: [Operation.Body] = [
        .announceDevice(device: DeviceID(high: 1, low: 2), name: name),
        .addTag(element: id(2), field: .paused, clears: [], note: name),
        .setRegister(element: id(2), field: .name, value: .text(name), stamp: stamp),
      ]
      for body in bodies {
        #expect(code(DeltaCodec.encode([Operation(id: id(1), body: body)])) == expected)
      }
    }
  }

  @Test func sessionIDsAreCheckedAsTheModelDoes() {
    let row = { (name: String) -> [UInt8] in
      HostileDeltaTests.start + [0x02, 0x00, UInt8(name.utf8.count)] + Array(name.utf8)
    }
    #expect(code(row("api")) == nil)
    #expect(code(row("API")) == .invalidValue)
    #expect(code(row(" api")) == .invalidValue)
    #expect(code(row("")) == .invalidValue)
    #expect(code(row("a\u{1}")) == .invalidValue)
    let longest = [UInt8](repeating: 0x61, count: 129)
    #expect(
      code(HostileDeltaTests.start + [0x02, 0x00] + number(128) + longest.dropLast()) == nil)
    #expect(code(HostileDeltaTests.start + [0x02, 0x00] + number(129) + longest) == .limitExceeded)
  }

  @Test func clearedTagsEndAtTheirLimit() {
    for (count, expected) in [(10_000, nil), (10_001, DecodingFault.Code.limitExceeded)] {
      let clears = (1...UInt32(count)).map { id($0) }
      let operation = Operation(
        id: id(20_000), body: .clearTags(element: id(2), field: .queued, clears: clears))
      #expect(code(DeltaCodec.encode([operation])) == expected)
    }
  }

  @Test func rowsAndItemsEndAtTheBudget() {
    let operations = (0..<10).map { insertion("xy", at: 10 + 3 * UInt32($0)) }
    let bytes = DeltaCodec.encode(operations)
    for (rows, items, expected) in [
      (10, 20, nil), (9, 20, DecodingFault.Code.budgetExceeded),
      (10, 19, DecodingFault.Code.budgetExceeded),
    ] {
      let budget = DecodingBudget(rowsMax: rows, itemsMax: items, replicasMax: 1)
      #expect(code(bytes, budget: budget) == expected)
    }
  }

  @Test(arguments: TestSeeds.list(standard: 60))
  func cutAndFlippedDeltasNeverTrap(seed: UInt64) throws {
    var random = RandomOperations(seed: seed, replicaCount: 1 + Int(seed % 3))
    let bytes = DeltaCodec.encode(random.operations(seed % 2 == 0 ? 5 : 30))
    for length in bytes.indices { _ = try? DeltaCodec.decode(Array(bytes[..<length])) }
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<400 {
      var damaged = bytes
      for _ in 0...generator.below(3) {
        damaged[generator.below(bytes.count)] = UInt8(generator.below(256))
      }
      guard let operations = try? DeltaCodec.decode(damaged) else { continue }
      let again = DeltaCodec.encode(operations)
      let second = try DeltaCodec.decode(again)
      #expect(Unit.units(of: second) == Unit.units(of: operations), "COSPOOL_SEED=\(seed)")
    }
  }

  @Test func randomBytesNeverTrap() {
    var generator = TestSeeds.generator(standard: 11)
    for _ in 0..<20_000 {
      let bytes = (0..<generator.below(60)).map { _ in UInt8(generator.below(256)) }
      _ = try? DeltaCodec.decode(HostileDeltaTests.start + bytes)
      _ = try? DeltaCodec.decode(bytes)
      _ = try? SnapshotCodec.decode([1] + bytes)
      _ = try? SnapshotCodec.decode([2] + bytes)
    }
  }
}
