import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import WireProtocol

struct EnvelopeTests {
  private func code(_ read: () throws(WireError) -> Void) -> WireError.Code? {
    do {
      try read()
      return nil
    } catch {
      return error.code
    }
  }

  private func unwrap(_ bytes: [UInt8], _ envelope: Envelope = .delta) -> WireError.Code? {
    code { () throws(WireError) in _ = try envelope.unwrap(bytes) }
  }

  /// An envelope around any body, with a correct checksum.
  private func seal(_ inside: [UInt8], deflated: Bool) -> [UInt8] {
    let seed = deflated ? PresetDictionary.standard.checksumBytes : []
    var writer = ByteWriter()
    writer.raw(inside)
    if inside.count + 2 <= Envelope.shortBytesMax {
      writer.fixed(
        UInt64(Checksum.crc16(inside, from: Checksum.crc16(seed))), bytes: 2)
    } else {
      writer.fixed(
        UInt64(Checksum.crc32(inside, from: Checksum.crc32(seed))), bytes: 4)
    }
    return writer.bytes
  }

  private func number(_ value: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.count(value)
    return writer.bytes
  }

  @Test func checksumsAreTheKnownOnes() {
    let digits = Array("123456789".utf8)
    #expect(Checksum.crc16(digits) == 0x29B1)
    #expect(Checksum.crc32(digits) == 0xCBF4_3926)
  }

  @Test func shortBodiesStayAsTheyAre() throws {
    let body = Array("short".utf8)
    let bytes = Envelope.delta.wrap(EncodedBody(bytes: body, partEnds: []))
    #expect(bytes.count == body.count + 3)
    #expect(try Envelope.delta.unwrap(bytes) == body)
  }

  @Test(arguments: [0, 1, 31, 32, 252, 253, 254, 255, 256, 257, 4_000, 200_000])
  func bodiesOfAnyLengthComeBack(length: Int) throws {
    var generator = SeededGenerator(seed: UInt64(length))
    let noise = (0..<length).map { _ in UInt8(generator.below(256)) }
    let text = Array(
      String(repeating: "Please fix the failing tests. ", count: length / 20 + 1).utf8)
    for body in [noise, Array(text.prefix(length))] {
      let bytes = Envelope.delta.wrap(EncodedBody(bytes: body, partEnds: []))
      #expect(try Envelope.delta.unwrap(bytes) == body)
      #expect(bytes.count <= body.count + 5)
    }
  }

  @Test func partsOfDifferentKindGetBlocksOfTheirOwn() throws {
    var generator = SeededGenerator(seed: 1)
    let low = (0..<20_000).map { _ in UInt8(generator.below(4)) }
    let high = (0..<20_000).map { _ in UInt8(200 + generator.below(4)) }
    let whole = Envelope.delta.wrap(EncodedBody(bytes: low + high, partEnds: []))
    for partEnds in [[20_000], [500, 1_500, 20_000, 39_900], [0, 40_000]] {
      let parts = Envelope.delta.wrap(EncodedBody(bytes: low + high, partEnds: partEnds))
      #expect(parts.count <= whole.count)
      #expect(try Envelope.delta.unwrap(parts) == low + high)
    }
  }

  @Test func envelopesOfOtherKindsAndVersionsAreRefused() {
    let bytes = PackedDelta.pack([])
    #expect(unwrap(bytes) == nil)
    #expect(unwrap(bytes, .snapshot) == .wrongMagic)
    #expect(unwrap(seal([0xC4, 0], deflated: false)) == .unsupportedVersion)
    #expect(unwrap([]) == .truncated)
    #expect(unwrap([0xC2]) == .truncated)
    #expect(unwrap([0xC2, 0, 0]) == .wrongChecksum)
    // No envelope is 257 or 258 bytes long.
    for count in 257...258 {
      #expect(unwrap([0xC2] + Array(repeating: 0, count: count - 1)) == .truncated)
    }
  }

  @Test func anotherDictionaryIsNoticed() {
    let body = Array("Please fix the failing tests and add a unit test for the parser.".utf8)
    let bytes = Envelope.delta.wrap(EncodedBody(bytes: body, partEnds: []))
    #expect(bytes[0] & 1 == 1, "the text is compressed")
    var other = Envelope.delta
    other.dictionary = PresetDictionary(Array("another dictionary".utf8))
    #expect(unwrap(bytes, other) == .wrongChecksum)
    #expect(unwrap(other.wrap(EncodedBody(bytes: body, partEnds: [])), other) == nil)
    #expect(unwrap(other.wrap(EncodedBody(bytes: body, partEnds: []))) == .wrongChecksum)
  }

  @Test func bombsAreRefusedBeforeTheyInflate() throws {
    let zeros = try #require(
      Zlib.deflate(
        Array(repeating: 0, count: 20 << 20), dictionary: PresetDictionary.standard.bytes))
    #expect(zeros.count < 25_000)
    // The absolute limit: one stream claims 20 MiB; another claims 16 MiB and holds 20.
    #expect(unwrap(seal([0xC3] + number(20 << 20) + zeros, deflated: true)) == .limitExceeded)
    let most = WireLimits.inflateBytesMax
    #expect(unwrap(seal([0xC3] + number(most) + zeros, deflated: true)) == .inflateFailed)
    #expect(unwrap(seal([0xC3] + number(most + 1) + zeros, deflated: true)) == .limitExceeded)
    // The ratio: a thousand bytes for each stored byte is the limit.
    let ratio = WireLimits.inflateRatioMax
    let short = Array(zeros.prefix(100))
    #expect(
      unwrap(seal([0xC3] + number(100 * ratio + 1) + short, deflated: true)) == .limitExceeded)
    #expect(unwrap(seal([0xC3] + number(100 * ratio) + short, deflated: true)) == .inflateFailed)
    // The absolute limit applies to raw bodies, too.
    let long = Array(repeating: UInt8(0), count: most)
    #expect(unwrap(seal([0xC2] + long, deflated: false)) == nil)
    #expect(unwrap(seal([0xC2] + long + [0], deflated: false)) == .limitExceeded)
  }

  @Test func brokenAndUnevenStreamsAreRefused() throws {
    let body = Array(repeating: UInt8(ascii: "x"), count: 500)
    let stream = try #require(Zlib.deflate(body, dictionary: PresetDictionary.standard.bytes))
    let wrap = { (length: Int, stream: [UInt8]) in
      self.seal([0xC3] + self.number(length) + stream, deflated: true)
    }
    #expect(unwrap(wrap(500, stream)) == nil)
    #expect(unwrap(wrap(499, stream)) == .inflateFailed)
    #expect(unwrap(wrap(501, stream)) == .inflateFailed)
    #expect(unwrap(wrap(500, stream.dropLast())) == .inflateFailed)
    #expect(unwrap(wrap(500, stream + [0])) == .inflateFailed)
    #expect(unwrap(wrap(500, stream + stream)) == .inflateFailed)
    #expect(unwrap(wrap(500, [0xFF] + stream)) == .inflateFailed)
    #expect(unwrap(seal([0xC3, 0x80, 0x00], deflated: true)) == .malformed)
    #expect(unwrap(seal([0xC3], deflated: true)) == .truncated)
  }
}
