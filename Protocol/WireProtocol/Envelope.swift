import DeltaCodec

/// The envelope of deltas and snapshots; SPECIFICATION.md, section "Envelope".
///
/// ```
/// byte 0      bits 7–4 magic, bits 3–1 version, bit 0 deflated
/// [number]    the body's length after inflation, if it is deflated
/// body
/// checksum    version 1: 2 bytes if the whole has at most 256, else 4; version 2: 8 bytes
/// ```
struct Envelope {
  /// The kind of the body.
  enum Kind: UInt8 {
    case delta = 0xC
    case snapshot = 0xD
  }

  /// The version with checksums of 2 or 4 bytes.
  static let firstVersion: UInt8 = 1
  /// The version with a checksum of 8 bytes, for snapshots only.
  static let stripedVersion: UInt8 = 2
  /// Bodies below this length are never worth compressing.
  static let deflateBytesMin = 32
  /// From about this length on, a block's own codes save more than their description costs.
  static let blockBytesMin = 1_024
  /// The longest envelope with a short checksum.
  static let shortBytesMax = 256

  var kind: Kind
  var inflateBytesMax: Int
  var dictionary = PresetDictionary.standard

  static let delta = Envelope(kind: .delta, inflateBytesMax: WireLimits.inflateBytesMax)
  static let storedDelta = Envelope(kind: .delta, inflateBytesMax: WireLimits.snapshotBytesMax)
  static let snapshot = Envelope(kind: .snapshot, inflateBytesMax: WireLimits.snapshotBytesMax)

  /// The version that is written; readers of snapshots also accept version 1.
  private var version: UInt8 {
    kind == .snapshot ? Envelope.stripedVersion : Envelope.firstVersion
  }

  /// Wraps the body raw: longer, but readable without inflation.
  func wrapRaw(_ body: [UInt8]) -> [UInt8] {
    assemble(body, inflatedLength: nil)
  }

  func wrap(_ body: EncodedBody) -> [UInt8] {
    let plain = assemble(body.bytes, inflatedLength: nil)
    guard body.bytes.count >= Envelope.deflateBytesMin,
      let deflated = Zlib.deflate(
        body.bytes, blockEnds: blockEnds(of: body), dictionary: dictionary.bytes)
    else { return plain }
    let packed = assemble(deflated, inflatedLength: body.bytes.count)
    return packed.count < plain.count ? packed : plain
  }

  /// The offsets at which deflate starts a new block, so that each large part gets its own codes.
  private func blockEnds(of body: EncodedBody) -> [Int] {
    var ends: [Int] = []
    var start = 0
    for end in body.partEnds
    where end - start >= Envelope.blockBytesMin && body.bytes.count - end >= Envelope.blockBytesMin
    {
      ends.append(end)
      start = end
    }
    return ends
  }

  private func assemble(_ body: [UInt8], inflatedLength: Int?) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(kind.rawValue << 4 | version << 1 | (inflatedLength == nil ? 0 : 1))
    if let inflatedLength { writer.count(inflatedLength) }
    writer.raw(body)
    if version == Envelope.stripedVersion {
      writer.fixed(stripedSum(writer.bytes[...], isDeflated: inflatedLength != nil))
      return writer.bytes
    }
    let isShort = writer.bytes.count + 2 <= Envelope.shortBytesMax
    let sum = checksum(writer.bytes[...], isDeflated: inflatedLength != nil, isShort: isShort)
    writer.fixed(UInt64(sum), bytes: isShort ? 2 : 4)
    return writer.bytes
  }

  func unwrap(_ bytes: [UInt8]) throws(WireError) -> [UInt8] {
    let body = try openBody(of: bytes)
    return body.bytes.count == body.remaining
      ? body.bytes : Array(body.bytes[body.position..<body.end])
  }

  /// Checks and returns the body; a raw one is not copied.
  func openBody(of bytes: [UInt8]) throws(WireError) -> ByteReader {
    guard let head = bytes.first else { throw WireError(.truncated, at: 0, "there is nothing") }
    guard head >> 4 == kind.rawValue else {
      throw WireError(.wrongMagic, at: 0, "this is no \(kind)")
    }
    let version = head >> 1 & 7
    let isDeflated = head & 1 == 1
    let end: Int
    switch version {
    case Envelope.firstVersion:
      end = try checkedEnd(of: bytes, isDeflated: isDeflated)
    case Envelope.stripedVersion where kind == .snapshot:
      end = try stripedEnd(of: bytes, isDeflated: isDeflated)
    default:
      throw WireError(.unsupportedVersion, at: 0, "version \(version) is unknown here: update")
    }
    guard isDeflated else {
      guard end - 1 <= inflateBytesMax else {
        throw WireError(.limitExceeded, at: 0, "\(end - 1) bytes, at most \(inflateBytesMax)")
      }
      return ByteReader(bytes, range: 1..<end)
    }
    return ByteReader(try inflate(bytes, upTo: end))
  }

  /// Checks a checksum of 8 bytes.
  ///
  /// - Returns: the end of the body.
  private func stripedEnd(of bytes: [UInt8], isDeflated: Bool) throws(WireError) -> Int {
    let end = bytes.count - 8
    guard end >= 1 else { throw WireError(.truncated, at: bytes.count, "no room for a checksum") }
    let sum = stripedSum(bytes[..<end], isDeflated: isDeflated)
    for index in 0..<8
    where bytes[end + index] != UInt8(truncatingIfNeeded: sum >> UInt64(8 * index)) {
      throw damaged(at: end)
    }
    return end
  }

  /// Checks a checksum of 2 or 4 bytes.
  ///
  /// - Returns: the end of the body.
  private func checkedEnd(of bytes: [UInt8], isDeflated: Bool) throws(WireError) -> Int {
    let isShort = bytes.count <= Envelope.shortBytesMax
    let end = bytes.count - (isShort ? 2 : 4)
    guard end >= 1, isShort || end + 2 > Envelope.shortBytesMax else {
      throw WireError(.truncated, at: bytes.count, "no room for a checksum")
    }
    let sum = checksum(bytes[..<end], isDeflated: isDeflated, isShort: isShort)
    for (index, byte) in bytes[end...].enumerated()
    where byte != UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) {
      throw damaged(at: end)
    }
    return end
  }

  private func damaged(at offset: Int) -> WireError {
    WireError(.wrongChecksum, at: offset, "the bytes were damaged: ask for them again")
  }

  private func stripedSum(_ bytes: ArraySlice<UInt8>, isDeflated: Bool) -> UInt64 {
    StripedChecksum.sum(
      bytes, dictionary: isDeflated ? Checksum.crc32(dictionary.bytes) : nil)
  }

  private func inflate(_ bytes: [UInt8], upTo end: Int) throws(WireError) -> [UInt8] {
    var reader = ByteReader(bytes, range: 1..<end)
    let length: UInt64
    do {
      length = try reader.number()
    } catch {
      throw WireError(error)
    }
    let ratioMax = UInt64(reader.remaining) * UInt64(WireLimits.inflateRatioMax)
    guard length <= UInt64(inflateBytesMax), length <= ratioMax else {
      throw WireError(
        .limitExceeded, at: 1,
        "\(length) bytes from \(reader.remaining): at most \(inflateBytesMax) and "
          + "\(WireLimits.inflateRatioMax) for one")
    }
    do {
      return try Zlib.inflate(
        bytes[reader.position..<end], length: Int(length), dictionary: dictionary.bytes)
    } catch {
      throw WireError(.inflateFailed, at: reader.position, error.message)
    }
  }

  /// A deflated body is only readable with its dictionary, so the dictionary's checksum goes in
  /// first.
  private func checksum(
    _ bytes: ArraySlice<UInt8>, isDeflated: Bool, isShort: Bool
  ) -> UInt32 {
    let seed = isDeflated ? dictionary.checksumBytes : []
    return isShort
      ? UInt32(Checksum.crc16(bytes, from: Checksum.crc16(seed)))
      : Checksum.crc32(bytes, from: Checksum.crc32(seed))
  }
}
