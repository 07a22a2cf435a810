import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// What takes a command back, in bytes: nothing is lost, and bytes that anybody could have changed
/// are refused or read, never more. Groups of real commands go through in `UndoHistoryTests`.
@Suite struct UndoCodecTests {
  private static let replica = ReplicaID(rawValue: 0x0102_0304_0506_0708)
  private static let other = ReplicaID(rawValue: .max)

  private static func id(_ seq: UInt32, _ replica: ReplicaID = replica) -> OperationID {
    OperationID(replica: replica, seq: seq)
  }

  /// A group with every list and every optional field, once there and once not.
  private static func fullGroup() throws -> UndoGroup {
    let session = try SessionID("größe/2")
    let message = MessageID(high: 7, low: .max)
    var group = UndoGroup(
      label: UndoLabel(kind: .moved, session: session, message: message, count: 3),
      milliseconds: 1_790_000_000_123)
    group.tags = [
      UndoGroup.TagStep(
        of: .session(session), field: .paused, put: [id(1), id(9, other)], cleared: [],
        restored: ["", "because 👍"], isOvertaken: true),
      UndoGroup.TagStep(
        of: .message(message), field: .live, put: [], cleared: [id(.max)], restored: nil,
        isOvertaken: false),
    ]
    group.registers = [
      UndoGroup.RegisterStep(
        of: .message(message), field: .priority, before: .number(.max),
        beforeWriter: id(4), writer: id(5)),
      UndoGroup.RegisterStep(
        of: .session(session), field: .name, before: .text("old"), beforeWriter: nil,
        writer: id(6)),
      UndoGroup.RegisterStep(
        of: .session(session), field: .project, before: nil, beforeWriter: nil,
        writer: id(6)),
    ]
    group.messagePlaces = [
      UndoGroup.PlaceStep(
        of: message, session: session, slot: id(2), left: MessageID(high: 1, low: 2), right: nil,
        writer: id(3, other))
    ]
    group.threadPlaces = [
      UndoGroup.PlaceStep(
        of: session, session: nil, slot: id(2), left: nil, right: try SessionID("b"),
        writer: id(3))
    ]
    group.queuedAt = [
      UndoGroup.QueuedAtStep(of: session, before: -1, beforeWriter: id(7), writer: id(8))
    ]
    group.texts = [
      UndoGroup.TextStep(
        of: message, content: id(10),
        inserted: [OperationRange(replica: replica, first: 11, last: 400)],
        deleted: [
          UndoGroup.DeletedText(
            of: OperationRange(replica: other, first: .max - 1, last: .max), text: "é👍",
            left: id(20), right: nil)
        ])
    ]
    group.replacements = [UndoGroup.TagReplacement(of: .live, old: id(30), new: id(31))]
    return group
  }

  @Test func everyFieldComesBack() throws {
    let group = try Self.fullGroup()
    let bytes = UndoCodec.encode(group)
    #expect(try UndoCodec.decode(bytes) == group)
    #expect(bytes.count < 330)
  }

  @Test(arguments: UndoLabel.Kind.allCases)
  func everyKindComesBack(_ kind: UndoLabel.Kind) throws {
    let group = UndoGroup(label: UndoLabel(kind: kind, count: 0), milliseconds: .min)
    #expect(try UndoCodec.decode(UndoCodec.encode(group)) == group)
  }

  @Test func truncatedAndLengthenedBytesAreRefused() throws {
    let bytes = UndoCodec.encode(try Self.fullGroup())
    for count in bytes.indices {
      #expect(throws: DecodingFault.self) { try UndoCodec.decode(Array(bytes[..<count])) }
    }
    let fault = #expect(throws: DecodingFault.self) { try UndoCodec.decode(bytes + [0]) }
    #expect(fault?.code == .trailingBytes)
  }

  @Test func otherLayoutsAndJSONAreRefused() throws {
    var bytes = UndoCodec.encode(try Self.fullGroup())
    for layout in [0, 2, UInt8(ascii: "{")] {
      bytes[0] = layout
      let fault = #expect(throws: DecodingFault.self) { try UndoCodec.decode(bytes) }
      #expect(fault?.code == .unsupported)
    }
  }

  /// Layout, no replica, kind 0, one item, no session, no message, time 0, the list of tags, of
  /// which there are 2^40.
  @Test func countsThatTheBytesCannotHoldAreRefused() {
    let bytes: [UInt8] = [1, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20]
    let fault = #expect(throws: DecodingFault.self) { try UndoCodec.decode(bytes) }
    #expect(fault?.code == .truncated)
  }

  @Test func replicaZeroAndOperationZeroAreRefused() throws {
    var group = UndoGroup(label: UndoLabel(kind: .sent), milliseconds: 0)
    group.replacements = [
      UndoGroup.TagReplacement(of: .live, old: Self.id(1), new: Self.id(1))
    ]
    let bytes = UndoCodec.encode(group)
    #expect(try UndoCodec.decode(bytes) == group)
    var zero = bytes
    for index in 2..<10 { zero[index] = 0 }
    #expect(throws: DecodingFault.self) { try UndoCodec.decode(zero) }
    zero = bytes
    zero[zero.count - 1] = 0
    #expect(throws: DecodingFault.self) { try UndoCodec.decode(zero) }
    zero[zero.count - 2] = 0
    #expect(throws: DecodingFault.self) { try UndoCodec.decode(zero) }
  }

  @Test(arguments: TestSeeds.list(standard: 20, from: 5_000))
  func changedBytesAreReadOrRefused(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bytes = UndoCodec.encode(try Self.fullGroup())
    for _ in 0..<500 {
      var changed = bytes
      for _ in 0...generator.below(3) {
        changed[generator.below(changed.count)] = UInt8(generator.below(256))
      }
      guard let group = try? UndoCodec.decode(changed) else { continue }
      #expect(try UndoCodec.decode(UndoCodec.encode(group)) == group)
    }
  }
}
