import DeltaCodec
import QueueModel
import QueueOracle
import WireProtocol

/// Envelopes with a correct checksum: the first byte of the input is the kind, and the rest are the
/// bytes between head and checksum.
package enum EnvelopeTarget {
  private static let version: UInt8 = 1
  /// CRC-32 of the preset dictionary, lowest byte first; a test compares it with real envelopes.
  private static let dictionaryChecksum: [UInt8] = [0x6C, 0x05, 0x4E, 0x70]

  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    guard let mode = bytes.first else { return }
    let isSnapshot = mode & 2 != 0
    let envelope = envelope(
      magic: isSnapshot ? 0xD : 0xC, isDeflated: mode & 1 != 0, body: Array(bytes.dropFirst()))
    if isSnapshot {
      guard let image = try? PackedSnapshot.unpack(envelope) else { return }
      let again = try require("the packed snapshot does not unpack") {
        try PackedSnapshot.unpack(PackedSnapshot.pack(image))
      }
      try require("another image comes back", again.isExactlyEqual(to: image))
    } else {
      guard let operations = try? PackedDelta.unpack(envelope),
        operations.reduce(0, { $0 + $1.length }) < 10_000
      else { return }
      let again = try require("the packed delta does not unpack") {
        try PackedDelta.unpack(PackedDelta.pack(operations))
      }
      try require(
        "another delta comes back", DeltaCodec.encode(again) == DeltaCodec.encode(operations))
    }
  }

  /// Puts head and checksum around `body`; SPECIFICATION.md, section "Envelope".
  package static func envelope(magic: UInt8, isDeflated: Bool, body: [UInt8]) -> [UInt8] {
    var bytes = [magic << 4 | version << 1 | (isDeflated ? 1 : 0)] + body
    let seed = isDeflated ? dictionaryChecksum : []
    let isShort = bytes.count + 2 <= 256
    let sum =
      isShort
      ? UInt32(Checksum.crc16(bytes, from: Checksum.crc16(seed)))
      : Checksum.crc32(bytes, from: Checksum.crc32(seed))
    for index in 0..<UInt32(isShort ? 2 : 4) {
      bytes.append(UInt8(truncatingIfNeeded: sum >> (8 * index)))
    }
    return bytes
  }

  /// The input for an envelope of the project's own writer.
  package static func input(for envelope: [UInt8]) -> [UInt8] {
    guard let head = envelope.first else { return [] }
    let mode = (head >> 4 == 0xD ? 2 : 0) | head & 1
    // Snapshots are written with a longer checksum, and can also be read with this one.
    let checksumBytes = head >> 1 & 7 != version ? 8 : envelope.count <= 256 ? 2 : 4
    return [mode] + envelope.dropFirst().dropLast(checksumBytes)
  }
}
