import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The notes of editions, which copy what their delta already has of the message.
struct EditionPieceTests {
  private static let replica = ReplicaID(rawValue: 0x0807_0605_0403_0201)
  private static let start: [UInt8] = [0x02, 1, 2, 3, 4, 5, 6, 7, 8]
  /// "1 abc" on the message 3, as one new piece.
  private static let first: [UInt8] =
    start + [0x06, 0x04, 0x06, 0x01, 5 << 2] + Array("1 abc".utf8)

  private func id(_ seq: Int) -> OperationID {
    OperationID(replica: EditionPieceTests.replica, seq: UInt32(seq))
  }

  private func edition(_ seq: Int, _ note: String, on message: Int = 3) -> Operation {
    Operation(
      id: id(seq),
      body: .addTag(element: id(message), field: .edition, clears: [], note: note))
  }

  private func insertion(_ seq: Int, _ text: String, into message: Int = 3) -> Operation {
    Operation(
      id: id(seq),
      body: .insertText(
        Operation.InsertText(
          message: id(message), origins: .init(left: nil, right: nil), text: text)))
  }

  private func notes(in operations: [Operation]) -> [[UInt8]] {
    operations.compactMap { operation in
      guard case .addTag(_, .edition, _, let note) = operation.body else { return nil }
      return Array(note.utf8)
    }
  }

  private func fault(
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

  @Test func aNoteIsReadFromItsPieces() throws {
    // 3 bytes of the edition from its beginning, 2 new ones, and its last 2 again.
    let second: [UInt8] = [0x06, 0x00, 3, 3 << 2 | 1, 0, 2 << 2, 0x78, 0x79, 2 << 2 | 1, 0]
    let operations = try DeltaCodec.decode(EditionPieceTests.first + second)
    #expect(operations == [edition(1, "1 abc"), edition(2, "1 axybc")])
    // A row with head 03 counts as the last edition, and head 06 goes on from there.
    let plain: [UInt8] = EditionPieceTests.start + [0x03, 0x9C, 0x02, 5] + Array("1 abc".utf8)
    let third: [UInt8] = [0x06, 0x04, 0x06, 1, 3 << 2 | 1, 4]
    #expect(
      try DeltaCodec.decode(plain + third)
        == [edition(1, "1 abc"), Operation(id: id(2), body: edition(2, "abc").body)])
  }

  /// What was inserted before the last edition is not there any more, and other messages' text
  /// never was.
  @Test func onlyTheMessagesOwnTextSinceItsEditionIsKnown() {
    let inserted = DeltaCodec.encode([insertion(1, "hello")])
    let copies: [UInt8] = [0x06, 0x00, 1, 5 << 2 | 2, 0]
    #expect(fault(inserted + copies) == nil)
    #expect(fault(inserted + copies + copies) == .invalidValue, "before the edition")
    let copiesOfOther: [UInt8] = [0x06, 0x04, 2, 1, 5 << 2 | 2, 0]
    #expect(fault(inserted + copiesOfOther) == .invalidValue, "another message")
  }

  @Test func malformedPiecesAreRefused() {
    let far = number(ByteWriter.zigzag(.max))
    let back = number(ByteWriter.zigzag(.min))
    let cases: [(name: String, row: [UInt8], expected: DecodingFault.Code?)] = [
      ("nothing", [0x06, 0, 0], nil),
      ("all of the edition", [0x06, 0, 1, 5 << 2 | 1, 0], nil),
      ("a bit of the mode", [0x06, 8, 0], .invalidValue),
      ("a field in the mode", [0x06, 0x90, 0], .invalidValue),
      ("kind 3", [0x06, 0, 1, 5 << 2 | 3, 0], .unsupported),
      ("empty and new", [0x06, 0, 1, 0], .invalidValue),
      ("empty copy", [0x06, 0, 1, 1, 0], .invalidValue),
      ("past the end", [0x06, 0, 1, 5 << 2 | 1, 2], .invalidValue),
      ("longer than it", [0x06, 0, 1, 6 << 2 | 1, 0], .invalidValue),
      ("before the beginning", [0x06, 0, 1, 5 << 2 | 1, 1], .invalidValue),
      ("behind a piece at the end", [0x06, 0, 2, 5 << 2 | 1, 0, 4 | 1, 0], .invalidValue),
      ("far away", [0x06, 0, 2, 4 | 1, 0, 4 | 1] + far, .invalidValue),
      ("far back", [0x06, 0, 2, 4 | 1, 0, 4 | 1] + back, .invalidValue),
      ("nothing was inserted", [0x06, 0, 1, 4 | 2, 0], .invalidValue),
      ("more pieces than bytes", [0x06, 0, 5, 4, 0x78], .truncated),
      ("no distance", [0x06, 0, 1, 4 | 1], .truncated),
      ("no new bytes", [0x06, 0, 1, 5 << 2, 0x78], .truncated),
      ("a huge count", [0x06, 0] + number(.max), .limitExceeded),
      ("a huge new piece", [0x06, 0, 1] + number(.max & ~3), .limitExceeded),
      ("a huge copy", [0x06, 0, 1] + number(.max & ~3 | 1) + [0], .limitExceeded),
      ("not UTF-8", [0x06, 0, 1, 4, 0xC3], .invalidText),
      ("another message without an edition", [0x06, 4, 2, 1, 4 | 1, 0], .invalidValue),
    ]
    for (name, row, expected) in cases {
      #expect(fault(EditionPieceTests.first + row) == expected, "\(name)")
    }
    #expect(fault(EditionPieceTests.start + [0x06, 0x04, 0x06, 1, 4 | 1, 0]) == .invalidValue)
  }

  /// Two notes differ inside a scalar: the pieces cut it, and no note may end there.
  @Test func piecesMayCutScalarsAndNotesMayNot() throws {
    let bytes = DeltaCodec.encode([edition(1, "1 é"), edition(2, "1 è")])
    #expect(notes(in: try DeltaCodec.decode(bytes)) == [Array("1 é".utf8), Array("1 è".utf8)])
    let start = EditionPieceTests.start + [0x06, 0x04, 0x06, 0x01, 4 << 2] + Array("1 é".utf8)
    #expect(fault(start + [0x06, 0, 1, 3 << 2 | 1, 0]) == .invalidText)
    #expect(fault(start + [0x06, 0, 2, 3 << 2 | 1, 0, 4, 0xA8]) == nil)
  }

  @Test func aNoteEndsAtItsLimit() throws {
    let most = TagField.edition.noteBytesMax
    let longest = "1 " + String(repeating: "x", count: most - 2)
    let bytes = DeltaCodec.encode([edition(1, longest), edition(2, longest)])
    #expect(notes(in: try DeltaCodec.decode(bytes)) == [Array(longest.utf8), Array(longest.utf8)])
    let copies: [UInt8] = [0x06, 0, 2] + number(UInt64(most) << 2 | 1) + [0]
    let prefix = DeltaCodec.encode([edition(1, longest)])
    #expect(fault(prefix + copies + [4, 0x78]) == .limitExceeded)
    #expect(fault(DeltaCodec.encode([edition(1, longest + "x")])) == .limitExceeded)
  }

  /// Each row of seven bytes makes a text of 60,000.
  @Test func copiedBytesEndAtTheBudget() {
    let text = "1 " + String(repeating: "x", count: 59_998)
    let operations = (1...11).map { edition($0, text) }
    let bytes = DeltaCodec.encode(operations)
    #expect(bytes.count < 60_250)
    for (most, expected) in [(600_000, nil), (599_999, DecodingFault.Code.budgetExceeded)] {
      var budget = DecodingBudget.standard
      // The time is new in each of the ten that copy.
      budget.copiedBytesMax = most - 20
      #expect(fault(bytes, budget: budget) == expected)
    }
    let many = DeltaCodec.encode((1...1_000).map { edition($0, text) })
    #expect(many.count < 80_000)
    #expect(fault(many) == .budgetExceeded, "60 MB by default")
  }

  /// A user types in a long text, with a pause after each letter.
  @Test func editionsOfOneTextTakeFewBytes() throws {
    var generator = TestSeeds.generator(standard: 5)
    var text = (0..<60_000).map { _ in UInt8(97 + generator.below(26)) }
    var operations = [edition(1, "1790000000000 " + String(decoding: text, as: UTF8.self))]
    for number in 1...100 {
      let letter = UInt8(97 + generator.below(26))
      text.insert(letter, at: generator.below(text.count))
      operations.append(insertion(3 * number, String(decoding: [letter], as: UTF8.self)))
      operations.append(
        edition(
          3 * number + 1, "17900000\(10_000 + number) " + String(decoding: text, as: UTF8.self)))
    }
    let bytes = DeltaCodec.encode(operations)
    #expect(bytes.count < 60_000 + 100 * 50, "COSPOOL_SEED=\(generator.seed)")
    #expect(try DeltaCodec.decode(bytes) == operations, "COSPOOL_SEED=\(generator.seed)")
  }

  @Test(arguments: TestSeeds.list(standard: 300))
  func anyEditionsComeBackByteForByte(seed: UInt64) throws {
    var editions = RandomEditions(seed: seed)
    let operations = editions.operations(1 + Int(seed % 40))
    for copies in [true, false] {
      let bytes = DeltaCodec.encodeParts(operations, copies: copies).bytes
      let decoded = try DeltaCodec.decode(bytes)
      #expect(Unit.units(of: decoded) == Unit.units(of: operations), "COSPOOL_SEED=\(seed)")
      #expect(notes(in: decoded) == notes(in: operations), "COSPOOL_SEED=\(seed)")
      #expect(
        DeltaCodec.encodeParts(decoded, copies: copies).bytes == bytes, "COSPOOL_SEED=\(seed)")
    }
  }

  @Test(arguments: TestSeeds.list(standard: 20))
  func damagedEditionsNeverTrap(seed: UInt64) throws {
    var editions = RandomEditions(seed: seed)
    let bytes = DeltaCodec.encode(editions.operations(12))
    for length in bytes.indices { _ = try? DeltaCodec.decode(Array(bytes[..<length])) }
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<1_000 {
      var damaged = bytes
      for _ in 0...generator.below(3) {
        damaged[generator.below(bytes.count)] = UInt8(generator.below(256))
      }
      guard let operations = try? DeltaCodec.decode(damaged) else { continue }
      let second = try DeltaCodec.decode(DeltaCodec.encode(operations))
      #expect(Unit.units(of: second) == Unit.units(of: operations), "COSPOOL_SEED=\(seed)")
      #expect(notes(in: second) == notes(in: operations), "COSPOOL_SEED=\(seed)")
    }
  }
}

/// Draws typing and editions in two messages: each text is made from the last one, with scalars
/// whose bytes are alike and cannot be told apart by characters.
private struct RandomEditions {
  private static let pieces = [
    "a", "aaaaaaaaaaaa", "the cause of it", "é", "e\u{301}", "\u{301}", "👩‍👩‍👧", "👩", "\u{200D}",
    "\u{0}",
    "\r\n", "\r", "\n", "漢字", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{10FFFF}", " ", "1",
  ]
  private static let heads = ["", "1", "17900", "1790000000000", "1@5:my pc", "1!2"]

  private var generator: SeededGenerator
  private var texts: [String.UnicodeScalarView] = ["".unicodeScalars, "".unicodeScalars]
  private var seq: UInt32 = 10
  private let replica: ReplicaID

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    replica = ReplicaID(rawValue: generator.next() | 1)
  }

  mutating func operations(_ count: Int) -> [QueueModel.Operation] {
    (0..<count).map { _ in
      let index = generator.below(2)
      let message = OperationID(replica: replica, seq: 3 + UInt32(index))
      let id = OperationID(replica: replica, seq: seq)
      seq += 20
      guard generator.chance(50) else {
        let text = change(index)
        return Operation(
          id: id,
          body: .insertText(
            Operation.InsertText(
              message: message, origins: .init(left: nil, right: nil), text: text)))
      }
      let head = generator.pick(RandomEditions.heads) ?? ""
      let space = generator.chance(90) ? " " : ""
      return Operation(
        id: id,
        body: .addTag(
          element: message, field: .edition, clears: [],
          note: generator.chance(5) ? "" : head + space + String(texts[index])))
    }
  }

  /// Inserts something into a text, perhaps after a part was removed.
  ///
  /// - Returns: what was inserted, or something else.
  private mutating func change(_ index: Int) -> String {
    let inserted = (0...generator.below(4)).map { _ in
      generator.pick(RandomEditions.pieces) ?? ""
    }.joined()
    var scalars = Array(texts[index])
    if generator.chance(40) {
      let start = generator.below(scalars.count + 1)
      scalars.removeSubrange(start..<min(scalars.count, start + generator.below(9)))
    }
    scalars.insert(
      contentsOf: inserted.unicodeScalars, at: generator.below(scalars.count + 1))
    texts[index] = String.UnicodeScalarView(scalars)
    return generator.chance(80) ? inserted : "something else"
  }
}
