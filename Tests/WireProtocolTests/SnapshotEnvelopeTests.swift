import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import WireProtocol

/// Envelopes of version 2, and snapshots in local files.
struct SnapshotEnvelopeTests {
  /// Follows the specification word for word.
  private func slowSum(_ bytes: [UInt8], dictionary: UInt32?) -> UInt64 {
    func taking(_ word: UInt64, into sum: UInt64) -> UInt64 {
      let product = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
      return product ^ (product >> 32)
    }
    var words: [UInt64] = []
    for (index, byte) in bytes.enumerated() {
      if index % 8 == 0 { words.append(0) }
      words[words.count - 1] |= UInt64(byte) << UInt64(8 * (index % 8))
    }
    var sums: [UInt64] = [0, 0, 0, 0]
    for (index, word) in words.enumerated() {
      sums[index % 4] = taking(word, into: sums[index % 4])
    }
    let last = [UInt64(bytes.count)] + (dictionary.map { [UInt64($0)] } ?? [])
    return (sums + last).reduce(0) { taking($1, into: $0) }
  }

  @Test func theChecksumIsTheSpecifiedOne() {
    var generator = SeededGenerator(seed: 5)
    for length in 0...130 {
      let bytes = (0..<length).map { _ in UInt8(generator.below(256)) }
      #expect(StripedChecksum.sum(bytes[...], dictionary: nil) == slowSum(bytes, dictionary: nil))
      #expect(StripedChecksum.sum(bytes[...], dictionary: 7) == slowSum(bytes, dictionary: 7))
      #expect(
        StripedChecksum.sum(([1, 2, 3] + bytes)[3...], dictionary: nil)
          == slowSum(bytes, dictionary: nil))
    }
    // A fixed value, so that the code and the slow version cannot change together unnoticed.
    #expect(
      StripedChecksum.sum(Array("123456789".utf8)[...], dictionary: nil) == 0x6d379abb1f53608d)
  }

  @Test(arguments: [0, 1, 31, 32, 247, 248, 256, 257, 4_000, 200_000])
  func rawAndPackedBodiesComeBack(length: Int) throws {
    let text = String(repeating: "Please fix the failing tests. ", count: length / 20 + 1).utf8
    let body = Array(text.prefix(length))
    let raw = Envelope.snapshot.wrapRaw(body)
    #expect(raw.count == length + 9 && raw[0] == 0xD4)
    #expect(try Envelope.snapshot.unwrap(raw) == body)
    let packed = Envelope.snapshot.wrap(EncodedBody(bytes: body, partEnds: []))
    #expect(packed.count <= raw.count)
    #expect(try Envelope.snapshot.unwrap(packed) == body)
    var other = Envelope.snapshot
    other.dictionary = PresetDictionary(Array("another dictionary".utf8))
    if packed[0] & 1 == 1 { #expect(throws: WireError.self) { try other.unwrap(packed) } }
    for envelope in [raw, packed] {
      for length in [0, 1, 8, 9, envelope.count - 1] where length < envelope.count {
        #expect(throws: WireError.self) {
          try Envelope.snapshot.unwrap(Array(envelope[..<length]))
        }
      }
    }
  }

  @Test func deltasHaveNoSecondVersion() {
    let sealed = Envelope.snapshot.wrapRaw([0])
    #expect(throws: WireError.self) { try Envelope.delta.unwrap([0xC4] + sealed.dropFirst()) }
  }

  @Test func snapshotsForFilesOpenAndReadTheSame() throws {
    var device = TestDevice(1)
    for number in UInt64(1)...5 { try device.perform(.send("text \(number)", as: number, in: "s")) }
    let workspace = device.workspace
    for bytes in [
      PackedSnapshot.pack(workspace), PackedSnapshot.packRaw(workspace),
      PackedSnapshot.pack(workspace.image()), PackedSnapshot.packRaw(workspace.image()),
    ] {
      #expect(try PackedSnapshot.unpack(bytes) == workspace.image())
      let opened = try PackedSnapshot.open(bytes)
      #expect(opened.dump() == workspace.dump())
      #expect(PackedSnapshot.packRaw(opened) == PackedSnapshot.packRaw(workspace))
    }
  }
}
