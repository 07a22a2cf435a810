import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import WireProtocol

/// `TestVectors/lists.json` holds what the code writes, and the code reads it.
struct ListVectorTests {
  private static let first = ReplicaID(rawValue: 0xA11C_E000_0000_0001)
  private static let second = ReplicaID(rawValue: 0xB0B0_0000_0000_0002)

  private static func stamp(_ seconds: Int64, counter: UInt16 = 0) -> Stamp {
    Stamp(milliseconds: TestDevice.startOfTime + 1_000 * seconds, counter: counter)
  }

  private static func merged() throws -> (base: MovableList, MovableList) {
    var list = MovableList(replica: first)
    try list.insert([.integer(10), .integer(11), .integer(12)], at: 0, stamp: stamp(0))
    try list.insert([.text("plan"), .text("é")], at: 1, stamp: stamp(0))
    let base = list
    var other = MovableList(replica: second)
    try other.merge(list.log)
    try other.move(0..<2, to: 3, stamp: stamp(1))
    try other.set(.integer(-1), at: 0, stamp: stamp(1, counter: 7))
    try list.remove(4..<5)
    try list.move(from: 3, to: 0, stamp: stamp(2))
    try list.merge(other.log)
    return (base, list)
  }

  @Test func listVectorsHold() throws {
    let (base, list) = try ListVectorTests.merged()
    let logs: [(name: String, description: String, log: ListLog)] = [
      ("nothing", "A delta without operations.", ListLog()),
      ("insertions", "Integers, and texts between them.", base.log),
      (
        "two hands", "A batch of moves, a write and a removal at the same time.",
        list.log.since(base.vector)
      ),
      ("history", "Everything.", list.log),
    ]
    let snapshot = VectorFile.Vector(
      name: "snapshot", description: "The state after all of it.",
      value: list.values.map(ListVectorTests.describe),
      bytes: Hex.encode(PackedList.packSnapshot(list)))
    let expected =
      logs.map { entry in
        VectorFile.Vector(
          name: entry.name, description: entry.description,
          value: entry.log.operations.map(ListVectorTests.describe),
          body: Hex.encode(ListCodec.encode(entry.log)),
          bytes: Hex.encode(PackedList.pack(entry.log)))
      } + [snapshot]
    let about = "Movable lists: `body` is the uncompressed delta, `bytes` the envelope."
    if VectorFile.isWriting {
      try VectorFile(about: about, vectors: expected).write("lists.json")
    }
    let file = try VectorFile.read("lists.json")
    #expect(file.about == about)
    #expect(file.vectors.map(\.name) == expected.map(\.name))
    for (vector, expected) in zip(file.vectors, expected) {
      #expect(vector.value == expected.value, "\(vector.name)")
      #expect(vector.body == expected.body, "\(vector.name)")
      #expect(vector.bytes == expected.bytes, "\(vector.name)")
    }
    for (vector, entry) in zip(file.vectors, logs) {
      #expect(try PackedList.unpack(Hex.decode(vector.bytes) ?? []) == entry.log)
    }
    let bytes = try #require(file.vectors.last.flatMap { Hex.decode($0.bytes) })
    #expect(try PackedList.values(ofSnapshot: bytes) == list.values)
    let image = try PackedList.image(ofSnapshot: bytes)
    #expect(image == list.image)
    #expect(try MovableList(image: image, replica: ListVectorTests.second).image == image)
  }

  @Test func damagedListsAreRefused() throws {
    let list = try ListVectorTests.merged().1
    let delta = PackedList.pack(list.log)
    let snapshot = PackedList.packSnapshot(list)
    for length in delta.indices {
      #expect(throws: WireError.self) { try PackedList.unpack(Array(delta[..<length])) }
    }
    for length in snapshot.indices {
      #expect(throws: WireError.self) {
        try PackedList.image(ofSnapshot: Array(snapshot[..<length]))
      }
    }
    #expect(throws: WireError.self) { try PackedDelta.unpack(delta) }
    #expect(throws: WireError.self) { try PackedList.unpack(PackedDelta.pack([])) }
  }

  private static func describe(_ value: ListValue) -> String {
    switch value {
    case .integer(let integer): "\(integer)"
    case .text(let text): "\"\(text)\""
    }
  }

  private static func describe(_ operation: ListOperation) -> String {
    func name(_ id: OperationID?) -> String {
      id.map { "\(String($0.replica.rawValue, radix: 16)):\($0.seq)" } ?? "none"
    }
    return switch operation {
    case .insert(let id, let left, let right, let stamp, let values):
      "\(name(id)) insert left \(name(left)) right \(name(right)) stamp \(stamp.rawValue) "
        + values.map(describe).joined(separator: " ")
    case .set(let id, let element, let stamp, let value):
      "\(name(id)) set \(name(element)) stamp \(stamp.rawValue) \(describe(value))"
    case .move(let id, let element, let left, let right, let stamp):
      "\(name(id)) move \(name(element)) left \(name(left)) right \(name(right)) "
        + "stamp \(stamp.rawValue)"
    case .remove(let id, let element):
      "\(name(id)) remove \(name(element))"
    }
  }
}
