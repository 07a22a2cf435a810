import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import WireProtocol

struct SplittingTests {
  private let replica = ReplicaID(rawValue: 77)

  private func id(_ seq: Int) -> OperationID {
    OperationID(replica: replica, seq: UInt32(seq))
  }

  private func noise(_ count: Int, seed: UInt64) -> String {
    var generator = SeededGenerator(seed: seed)
    var text = String.UnicodeScalarView()
    for _ in 0..<count {
      text.append(Unicode.Scalar(UInt8(32 + generator.below(95))))
    }
    return String(text)
  }

  @Test func nothingGivesNoPart() {
    #expect(PackedDelta.pack([], bytesMax: 100) == [])
  }

  @Test func aDeltaThatFitsIsOnePart() throws {
    let operations = VectorValues.kinds.flatMap(\.operations)
    let parts = PackedDelta.pack(operations, bytesMax: 4_096)
    #expect(parts == [PackedDelta.pack(operations)])
  }

  @Test(arguments: [64, 200, 1_000, 20_000]) func partsFitAndAddUp(bytesMax: Int) throws {
    let insertion = Operation(
      id: id(10),
      body: .insertText(
        Operation.InsertText(
          message: id(3), origins: .init(left: nil, right: nil), text: noise(30_000, seed: 3))))
    let deletion = Operation(
      id: id(30_010),
      body: .deleteText(
        Operation.DeleteText(message: id(3), first: id(100), count: 20_000, backwards: true)))
    let operations = [insertion, deletion]
    let parts = PackedDelta.pack(operations, bytesMax: bytesMax)
    #expect(parts.allSatisfy { $0.count <= bytesMax })
    let decoded = try parts.flatMap(PackedDelta.unpack)
    #expect(DeltaCodec.encode(decoded) == DeltaCodec.encode(operations))
  }

  /// The messages that each delta changes.
  private func messages(in parts: [[UInt8]]) throws -> [[OperationID]] {
    try parts.map { part in
      try PackedDelta.unpack(part).compactMap { operation in
        switch operation.body {
        case .addMessage: operation.id
        case .insertText(let insertion): insertion.message
        case .addTag(let element, .attachment, _, _): element
        default: nil
        }
      }
    }
  }

  @Test func operationsOfOneMessageStayTogether() throws {
    var device = TestDevice(9, queueSizeMax: 1_000)
    let files = try (0..<3).map { number in
      try QueueModel.Attachment(
        hash: try #require(ContentHash(String(repeating: "\(number)", count: 64))),
        name: "file \(number)", mediaType: "a/b", size: 1)
    }
    for number in 1...30 as ClosedRange<UInt64> {
      var send = Command.Send(
        session: .named("s"), id: .numbered(number), text: noise(900, seed: number))
      send.attachments = files
      try device.perform(.send(send))
    }
    // As one list, the way a device has operations that came from elsewhere.
    let parts = PackedDelta.pack(device.made, bytesMax: 4_096)
    #expect(parts.count > 5 && parts.allSatisfy { $0.count <= 4_096 })
    let seen = try messages(in: parts)
    for (one, other) in zip(seen, seen.dropFirst()) {
      #expect(Set(one).isDisjoint(with: other))
    }
    #expect(seen.joined().count == 30 * 5)
  }

  @Test func commandsAreKeptWholeIfTheyFit() throws {
    let typing = (0..<200).map { number in
      Operation(
        id: id(10 + 20 * number),
        body: .insertText(
          Operation.InsertText(
            message: id(3), origins: .init(left: nil, right: nil),
            text: noise(20, seed: UInt64(number)))))
    }
    let commands = stride(from: 0, to: 200, by: 2).map { Array(typing[$0..<$0 + 2]) }
    #expect(PackedDelta.pack(commands: commands, bytesMax: 1 << 20).count == 1)
    #expect(PackedDelta.pack(commands: [], bytesMax: 1 << 20) == [])
    let parts = PackedDelta.pack(commands: commands, bytesMax: 600)
    #expect(parts.count > 4 && parts.allSatisfy { $0.count <= 600 })
    let ends = try parts.dropLast().map { try #require(PackedDelta.unpack($0).last?.lastID?.seq) }
    #expect(ends.allSatisfy { ($0 - 9) % 40 == 0 }, "\(ends)")
  }

  /// An addition and the mark that more of it follows are in one delta, wherever the delta is
  /// cut.
  @Test func noAdditionComesWithoutItsMark() throws {
    var device = TestDevice(9)
    try device.perform(.send(noise(60_000, seed: 6), as: 1, in: "s"))
    for bytesMax in [64, 1_000, 16_000] {
      let parts = PackedDelta.pack(device.made, bytesMax: bytesMax)
      let first = try #require(
        try parts.map(PackedDelta.unpack).first {
          $0.contains { if case .addMessage = $0.body { true } else { false } }
        })
      #expect(
        first.contains { if case .addTag(_, .incomplete, _, _) = $0.body { true } else { false } })
    }
  }

  @Test func deltasBeyondTheItemLimitAreSplit() throws {
    let deletion = Operation(
      id: id(1_500_000),
      body: .deleteText(
        Operation.DeleteText(
          message: id(3), first: id(10), count: WireLimits.deltaItemsMax + 1)))
    #expect(throws: WireError.self) { try PackedDelta.unpack(PackedDelta.pack([deletion])) }
    let parts = PackedDelta.pack([deletion], bytesMax: WireLimits.frameBytesMax)
    #expect(parts.count == 2)
    let decoded = try parts.flatMap(PackedDelta.unpack)
    #expect(DeltaCodec.encode(decoded) == DeltaCodec.encode([deletion]))
  }

  /// A batch of `count` placements.
  private func placements(_ count: Int) -> [QueueModel.Operation] {
    (0..<count).map { number in
      Operation(
        id: id(10 + number),
        body: .placeMessage(
          message: id(3), session: id(2),
          origins: .init(left: number == 0 ? nil : id(9 + number), right: nil),
          stamp: VectorValues.stamp))
    }
  }

  @Test func deltasEndAtTheirOperations() throws {
    let most = WireLimits.deltaOperationsMax
    #expect(try PackedDelta.unpack(PackedDelta.pack(placements(most))).count == most)
    let tooMany = PackedDelta.pack(placements(most + 1))
    let error = #expect(throws: WireError.self) { try PackedDelta.unpack(tooMany) }
    #expect(
      error?.description.contains("131072 operations") == true, "\(String(describing: error))")
    #expect(try PackedDelta.unpackStored(tooMany).count == most + 1, "as 0.1.0 stored it")
    #expect(PackedDelta.pack(placements(most), bytesMax: WireLimits.frameBytesMax).count == 1)
    let parts = PackedDelta.pack(placements(most + 1), bytesMax: WireLimits.frameBytesMax)
    #expect(try parts.map { try PackedDelta.unpack($0).count } == [65_536, 65_537])
  }

  @Test func clearedTagsCountAsOperations() throws {
    let clears = (1...UInt32(Limits.clearedTagsMax)).map { id(Int($0)) }
    let operations = (0..<14).map { number in
      Operation(
        id: id(20_000 + number), body: .clearTags(element: id(2), field: .queued, clears: clears))
    }
    #expect(throws: WireError.self) { try PackedDelta.unpack(PackedDelta.pack(operations)) }
    let parts = PackedDelta.pack(operations, bytesMax: WireLimits.frameBytesMax)
    #expect(try parts.map { try PackedDelta.unpack($0).count } == [7, 7])
  }

  @Test func deltasEndAtTheirRows() throws {
    let most = WireLimits.deltaRowsMax
    func deletions(_ count: Int) -> [QueueModel.Operation] {
      // Every second scalar, so that no row continues the previous one.
      (0..<count).map { number in
        Operation(
          id: id(1_000_000 + number),
          body: .deleteText(
            Operation.DeleteText(message: id(3), first: id(10 + 2 * number), count: 1)))
      }
    }
    #expect(try PackedDelta.unpack(PackedDelta.pack(deletions(most))).count == most)
    #expect(throws: WireError.self) {
      try PackedDelta.unpack(PackedDelta.pack(deletions(most + 1)))
    }
    let parts = PackedDelta.pack(deletions(most + 1), bytesMax: WireLimits.frameBytesMax)
    #expect(parts.count == 2)
  }

  @Test func theLargestCommandIsOneDelta() throws {
    var device = TestDevice(9)
    let ids = (1...1_000).map { MessageID.numbered(UInt64($0)) }
    for number in 1...1_000 {
      let send = Command.Send(session: .named("s"), id: .numbered(UInt64(number)), text: "p")
      _ = try device.author { workspace, context throws(QueueError) in
        var context = context
        context.queueSizeMax = 1_000
        return try workspace.perform(.send(send), in: context)
      }
    }
    for command in [Command.move(ids.reversed(), to: .position(1)), .cancel(ids)] {
      let operations = try device.perform(command).operations
      #expect(operations.count >= 1_000)
      #expect(PackedDelta.pack(operations, bytesMax: WireLimits.frameBytesMax).count == 1)
    }
  }

  @Test func operationThatCannotBeCutIsAPartOfItsOwn() throws {
    let name = Operation(
      id: id(2),
      body: .setRegister(
        element: id(2), field: .name, value: .text(noise(1_000, seed: 4)),
        stamp: VectorValues.stamp))
    #expect(PackedDelta.pack([name, name], bytesMax: 100).count == 2)
  }

  // I-36
  @Test func aCommandThatIsLongerThanADeltaIsReadFromTheDisk() throws {
    let length = Limits.contentBytesMax
    let operations = [
      Operation(
        id: id(1),
        body: .deleteText(
          Operation.DeleteText(message: id(3), first: id(9_000_000), count: length))),
      Operation(
        id: id(length + 1),
        body: .insertText(
          Operation.InsertText(
            message: id(3), origins: .init(left: nil, right: nil), text: noise(length, seed: 7)))),
    ]
    let stored = PackedDelta.pack(operations)
    let read = try PackedDelta.unpackStored(stored)
    #expect(DeltaCodec.encode(read) == DeltaCodec.encode(operations))
    #expect(throws: WireError.self) { try PackedDelta.unpack(stored) }
    let parts = PackedDelta.pack(read, bytesMax: WireLimits.deltaBytesMax)
    #expect(try parts.allSatisfy { try !PackedDelta.unpack($0).isEmpty } && parts.count > 1)
  }

  @Test func longestMessageFitsOneDelta() throws {
    var device = TestDevice(9)
    let outcome = try device.perform(
      .send(
        Command.Send(
          session: .named("s"), id: .numbered(1), text: noise(Limits.contentBytesMax, seed: 5))))
    #expect(try PackedDelta.unpack(PackedDelta.pack(outcome.operations)).count >= 3)
    let parts = PackedDelta.pack(outcome.operations, bytesMax: 256 << 10)
    #expect(parts.allSatisfy { $0.count <= 256 << 10 })
    var other = Workspace()
    for part in [PackedDelta.pack(device.made)] + parts {
      _ = try other.merge(PackedDelta.unpack(part))
    }
    #expect(other.image() == device.workspace.image())
  }
}
