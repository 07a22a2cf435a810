/// The checksums of envelopes; SPECIFICATION.md, section "Envelope".
package enum Checksum {
  /// CRC-16 with polynomial 0x1021, the highest bit first, starting from 0xFFFF.
  package static func crc16(_ bytes: some Sequence<UInt8>, from start: UInt16 = 0xFFFF) -> UInt16 {
    var sum = start
    for byte in bytes {
      sum ^= UInt16(byte) << 8
      for _ in 0..<8 {
        sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
      }
    }
    return sum
  }

  /// CRC-32 with the reversed polynomial 0xEDB88320, as in zlib and PNG.
  package static func crc32(_ bytes: some Sequence<UInt8>, from start: UInt32 = 0) -> UInt32 {
    var sum = ~start
    for byte in bytes {
      sum = table[Int(truncatingIfNeeded: (sum ^ UInt32(byte)) & 0xFF)] ^ sum >> 8
    }
    return ~sum
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { sum, _ in
      sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0xEDB8_8320
    }
  }
}
