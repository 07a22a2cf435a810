/// The checksums of envelopes; SPECIFICATION.md, section "Envelope".
package enum Checksum {
  /// CRC-16 with polynomial 0x1021, the highest bit first, starting from 0xFFFF.
  package static func crc16(_ bytes: some Sequence<UInt8>, from start: UInt16 = 0xFFFF) -> UInt16 {
    var sum = start
    for byte in bytes {
      sum = crc16Table[Int(truncatingIfNeeded: sum >> 8 ^ UInt16(byte))] ^ sum << 8
    }
    return sum
  }

  /// CRC-32 with the reversed polynomial 0xEDB88320, as in zlib and PNG.
  package static func crc32(_ bytes: some Sequence<UInt8>, from start: UInt32 = 0) -> UInt32 {
    let sum = bytes.withContiguousStorageIfAvailable { Zlib.crc32($0, from: start) }
    return sum ?? Array(bytes).withUnsafeBufferPointer { Zlib.crc32($0, from: start) }
  }

  /// The contribution of each first byte to the sum.
  private static let crc16Table: [UInt16] = (0..<256).map { index in
    (0..<8).reduce(UInt16(index) << 8) { sum, _ in
      sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
    }
  }
}
