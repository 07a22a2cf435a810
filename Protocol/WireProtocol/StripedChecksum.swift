/// The checksum of snapshots; SPECIFICATION.md, section "Envelope".
///
/// Words go to four sums in turn, which a processor computes in parallel. So checking a snapshot is
/// several times faster than with CRC-32. A local snapshot is checked whenever it is opened.
enum StripedChecksum {
  private static let stripes = 4

  /// - Parameter dictionary: the checksum of the dictionary, if the body needs one.
  static func sum(_ bytes: ArraySlice<UInt8>, dictionary: UInt32?) -> UInt64 {
    var sums = SIMD4<UInt64>()
    bytes.withUnsafeBytes { buffer in
      // Loads read whole words within `buffer`; the remainder is read byte by byte.
      let blocks = buffer.count / (8 * stripes)
      for block in 0..<blocks {
        let start = block * 8 * stripes
        for stripe in 0..<stripes {
          let word = buffer.loadUnaligned(fromByteOffset: start + 8 * stripe, as: UInt64.self)
          sums[stripe] = taking(UInt64(littleEndian: word), into: sums[stripe])
        }
      }
      var start = blocks * 8 * stripes
      var stripe = 0
      while start < buffer.count {
        var word: UInt64 = 0
        for (shift, byte) in buffer[start..<min(start + 8, buffer.count)].enumerated() {
          word |= UInt64(byte) << UInt64(8 * shift)
        }
        sums[stripe] = taking(word, into: sums[stripe])
        start += 8
        stripe += 1
      }
    }
    var total: UInt64 = 0
    for stripe in 0..<stripes { total = taking(sums[stripe], into: total) }
    total = taking(UInt64(bytes.count), into: total)
    if let dictionary { total = taking(UInt64(dictionary), into: total) }
    return total
  }

  /// One step; SPECIFICATION.md, section "Envelope".
  @inline(__always)
  static func taking(_ word: UInt64, into sum: UInt64) -> UInt64 {
    let product = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
    return product ^ product >> 32
  }
}
