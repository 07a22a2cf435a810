import SequenceCRDT
import SyncTestSupport
import Testing

@testable import QueueModel

/// The stored form of undo steps: nothing is lost, and tampered bytes are refused or read, without
/// further harm. `UndoHistoryTests` covers changes of real commands.
@Suite struct UndoCodingTests {
  private static let replica = ReplicaID(rawValue: 0x0102_0304_0506_0708)
  private static let other = ReplicaID(rawValue: .max)

  private static func id(_ seq: UInt32, _ replica: ReplicaID = replica) -> OperationID {
    OperationID(replica: replica, seq: seq)
  }

  /// A change with every kind of step and every optional field, once present and once absent.
  private static func fullChange() throws -> UndoEntry {
    let session = try SessionID("größe/2")
    let message = MessageID(high: 7, low: .max)
    func step(
      _ element: ElementName, _ part: UndoField.Part, _ value: UndoValue,
      _ isOvertaken: Bool = false
    ) -> UndoStep {
      UndoStep(
        field: UndoField(element: element, part: part), value: value, isOvertaken: isOvertaken)
    }
    var change = UndoEntry(
      label: UndoLabel(
        kind: .moved, session: session, message: message, count: 3, text: "Fix the heäder"),
      milliseconds: 1_790_000_000_123)
    change.isShared = true
    change.isRewritten = true
    change.isByCommand = true
    change.former = "größe"
    change.steps = [
      step(.session(session), .tags(.paused), .notes(["", "because 👍"]), true),
      step(.message(message), .tags(.live), .notes(nil)),
      step(.message(message), .tags(.attachment), .files(taken: ["a"], given: ["b", "c"])),
      step(.message(message), .register(.priority), .register(.number(.max))),
      step(.session(session), .register(.name), .register(.text("old"))),
      step(.session(session), .register(.project), .register(nil)),
      step(
        .message(message), .place,
        .place(
          UndoPlace(
            session: session, slot: id(2), left: .message(MessageID(high: 1, low: 2)), right: nil))),
      step(
        .session(session), .place,
        .place(
          UndoPlace(session: nil, slot: id(2), left: nil, right: .session(try SessionID("b"))))),
      step(
        .message(message), .text,
        .text(
          TextReversal(
            content: id(10), offset: 1_000, text: "é👍",
            ids: [OperationRange(replica: other, first: .max - 1, last: .max)], old: "two",
            left: id(20), right: nil))),
    ]
    return change
  }

  @Test func everyFieldComesBack() throws {
    let change = try Self.fullChange()
    let bytes = change.bytes
    #expect(try UndoEntry(bytes: bytes) == change)
    #expect(bytes.count < 500)
  }

  @Test(arguments: UndoLabel.Kind.allCases)
  func everyKindComesBack(_ kind: UndoLabel.Kind) throws {
    let change = UndoEntry(label: UndoLabel(kind: kind, count: 0), milliseconds: .min)
    #expect(try UndoEntry(bytes: change.bytes) == change)
  }

  @Test func truncatedAndLengthenedBytesAreRefused() throws {
    let bytes = try Self.fullChange().bytes
    for count in bytes.indices {
      #expect(throws: UndoFormatError.self) { try UndoEntry(bytes: Array(bytes[..<count])) }
    }
    #expect(throws: UndoFormatError.self) { try UndoEntry(bytes: bytes + [0]) }
  }

  @Test func otherLayoutsAndJSONAreRefused() throws {
    var bytes = try Self.fullChange().bytes
    for layout in [0, 1, 2, UInt8(ascii: "{")] {
      bytes[0] = layout
      #expect(throws: UndoFormatError.self) { try UndoEntry(bytes: bytes) }
    }
  }

  /// Layout, kind 0, no session, no message, one item, no text, time 0, no command, not shared, and
  /// the list of steps, of which there are 2^40.
  @Test func countsThatTheBytesCannotHoldAreRefused() {
    let bytes: [UInt8] = [3, 0, 0, 0, 1, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20]
    #expect(throws: UndoFormatError.self) { try UndoEntry(bytes: bytes) }
  }

  @Test(arguments: TestSeeds.list(standard: 20, from: 5_000))
  func changedBytesAreReadOrRefused(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bytes = try Self.fullChange().bytes
    for _ in 0..<500 {
      var changed = bytes
      for _ in 0...generator.below(3) {
        changed[generator.below(changed.count)] = UInt8(generator.below(256))
      }
      guard let change = try? UndoEntry(bytes: changed) else { continue }
      #expect(try UndoEntry(bytes: change.bytes) == change)
    }
  }

  /// A tampered store may hold any change: undoing it changes something or is refused.
  @Test(arguments: TestSeeds.list(standard: 20, from: 5_500))
  func everythingReadIsReturnedOrRefused(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    device.now += 5_000
    try device.perform(.edit(.numbered(1), content: "another text", base: nil))
    try device.perform(.move([.numbered(1)], to: .position(1)))
    try device.perform(.pause(.named("s"), reason: "why"))
    let bytes = device.history.entries.map(\.change.bytes)
    for _ in 0..<200 {
      var entries: [UndoHistory.Entry] = []
      for (number, row) in bytes.enumerated() {
        var changed = row
        changed[generator.below(changed.count)] = UInt8(generator.below(256))
        guard let change = try? UndoEntry(bytes: changed) else { continue }
        entries.append(
          UndoHistory.Entry(number: Int64(number), isUndone: false, change: change))
      }
      var history = UndoHistory(entries)
      var workspace = device.workspace
      let context = CommandContext(
        replica: device.replica, stamp: Stamp(rawValue: workspace.latestStamp.rawValue + 1))
      for _ in entries {
        _ = try? workspace.perform(.undo, in: context, history: &history)
        try workspace.checkInvariants()
      }
    }
  }
}
