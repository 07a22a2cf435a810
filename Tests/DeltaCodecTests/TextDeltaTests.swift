import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Texts as deltas without operations in between: the same bytes, and all or nothing.
struct TextDeltaTests {
  private static let message = OperationID(replica: ReplicaID(rawValue: 1), seq: 3)

  private func encode(
    _ text: TextReplica, since known: VersionVector = VersionVector()
  ) -> [UInt8] {
    DeltaCodec.encodeParts(text, message: TextDeltaTests.message, since: known).bytes
  }

  private func merge(_ bytes: [UInt8], into text: inout TextReplica) throws {
    try DeltaCodec.merge(bytes, message: TextDeltaTests.message, into: &text)
  }

  private func edit(_ text: inout TextReplica, _ generator: inout SeededGenerator) throws {
    let count = text.content.sequence.visibleCount
    if count > 3, generator.chance(40) {
      let start = generator.below(count)
      try text.delete(start..<min(count, start + 1 + generator.below(4)))
    } else {
      let piece = ["a", "é", "漢字", "😀", "hello "][generator.below(5)]
      try text.insert(piece, at: generator.chance(50) ? count : generator.below(count + 1))
    }
  }

  @Test(arguments: TestSeeds.list(standard: 60))
  func textsThatLearnOfEachOtherAgree(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var texts = (1...3).map {
      TextReplica(replica: ReplicaID(rawValue: UInt64($0)), firstSeq: 4)
    }
    for _ in 0..<60 {
      let index = generator.below(3)
      if generator.chance(75) {
        try edit(&texts[index], &generator)
      } else {
        let other = (index + 1 + generator.below(2)) % 3
        // What is known already comes along now and then.
        let known = generator.chance(70) ? texts[index].vector : VersionVector()
        let bytes = encode(texts[other], since: known)
        #expect(
          DeltaCodec.encode(try DeltaCodec.decode(bytes)) == bytes, "COSPOOL_SEED=\(seed)")
        try merge(bytes, into: &texts[index])
        #expect(texts[index].vector.includes(texts[other].vector), "COSPOOL_SEED=\(seed)")
      }
    }
    for index in 0..<3 {
      for other in 0..<3 where other != index {
        try merge(encode(texts[other], since: texts[index].vector), into: &texts[index])
      }
    }
    for text in texts {
      #expect(text.content.text == texts[0].content.text, "COSPOOL_SEED=\(seed)")
      #expect(text.vector == texts[0].vector, "COSPOOL_SEED=\(seed)")
      var late = TextReplica(replica: ReplicaID(rawValue: 9))
      try merge(encode(text), into: &late)
      #expect(late.content.text == text.content.text, "COSPOOL_SEED=\(seed)")
      #expect(encode(late) == encode(text), "COSPOOL_SEED=\(seed)")
    }
  }

  @Test func runsThatAreKnownInPartAreCut() throws {
    var text = TextReplica(replica: ReplicaID(rawValue: 1), firstSeq: 4)
    try text.insert("añb", at: 0)
    var other = TextReplica(replica: ReplicaID(rawValue: 2))
    try merge(encode(text), into: &other)
    try text.insert("😀xyz", at: 3)
    try text.delete(1..<5)
    try merge(encode(text), into: &other)
    #expect(other.content.text == text.content.text)
    try text.delete(0..<1)
    let late = encode(text, since: VersionVector([ReplicaID(rawValue: 1): 12]))
    #expect(try DeltaCodec.decode(late).map(\.length) == [2, 1])
    try merge(late, into: &other)
    #expect(other.content.text == text.content.text)
  }

  @Test func rowsThatBecomeNeighboursAreJoined() throws {
    var text = TextReplica(replica: ReplicaID(rawValue: 1), firstSeq: 4)
    var other = TextReplica(replica: ReplicaID(rawValue: 2))
    try text.insert("ab", at: 0)
    try merge(encode(text), into: &other)
    try other.insert("!", at: 0)
    try merge(encode(other), into: &text)
    try text.insert("cd", at: 3)
    let bytes = encode(text, since: other.vector.removing(ReplicaID(rawValue: 1)))
    #expect(try DeltaCodec.decode(bytes).count == 1)
    #expect(DeltaCodec.encode(try DeltaCodec.decode(bytes)) == bytes)
  }

  @Test func deltasThatDoNotFitChangeNothing() throws {
    var text = TextReplica(replica: ReplicaID(rawValue: 1), firstSeq: 4)
    try text.insert("hello", at: 0)
    let known = text.vector
    try text.insert(" world", at: 5)
    let news = encode(text, since: known)
    var other = TextReplica(replica: ReplicaID(rawValue: 2))
    #expect(throws: SequenceFault.self) { try merge(news, into: &other) }
    #expect(throws: DecodingFault.self) { try merge(encode(text) + [0], into: &other) }
    #expect(throws: DecodingFault.self) {
      try DeltaCodec.merge(
        encode(text), message: OperationID(replica: ReplicaID(rawValue: 1), seq: 2), into: &other)
    }
    let session = Operation(
      id: OperationID(replica: ReplicaID(rawValue: 1), seq: 2),
      body: .openSession(session: .named("api"), clears: []))
    #expect(throws: DecodingFault.self) {
      try merge(DeltaCodec.encode([session]), into: &other)
    }
    #expect(other.content.text.isEmpty)
    #expect(other.vector.isEmpty)
  }

  @Test func longInsertionsAreCutAtTheLimit() throws {
    var text = TextReplica(replica: ReplicaID(rawValue: 1), firstSeq: 4)
    try text.insert(String(repeating: "é", count: 600_000), at: 0)
    try text.insert("x", at: 600_000)
    let bytes = encode(text)
    let operations = try DeltaCodec.decode(bytes)
    #expect(operations.count == 2)
    #expect(DeltaCodec.encode(operations) == bytes)
    var other = TextReplica(replica: ReplicaID(rawValue: 2))
    try merge(bytes, into: &other)
    #expect(other.content.text == text.content.text)
  }
}

extension VersionVector {
  fileprivate func removing(_ replica: ReplicaID) -> VersionVector {
    var rest = self
    rest[replica] = 0
    return rest
  }
}
