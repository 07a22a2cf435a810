/// The scalars of a text as UTF-8, in the order of their numbers.
///
/// While all are ASCII, the number of a scalar is the offset of its byte. From the first other one
/// on, the arena keeps the offset of every 64th scalar, and counts from there.
struct TextArena: Sendable {
  private var bytes: [UInt8] = []
  /// The offset of each 64th scalar; empty while all are ASCII.
  private var offsets: [Int] = []
  /// The number of scalars.
  private(set) var count = 0

  private var isASCII: Bool { offsets.isEmpty }

  /// The number of scalars in valid UTF-8.
  static func scalarCount(_ utf8: UnsafeBufferPointer<UInt8>) -> Int {
    var count = 0
    for index in 0..<utf8.count where unsafe utf8[index] & 0xC0 != 0x80 { count += 1 }
    return count
  }

  /// Appends scalars.
  ///
  /// - Parameters:
  ///   - utf8: valid UTF-8.
  ///   - scalarCount: the number of its scalars.
  ///   - wide: called with the number of each scalar that takes two UTF-16 code units.
  mutating func append(
    _ utf8: UnsafeBufferPointer<UInt8>, scalarCount: Int, wide: (Int) -> Void
  ) {
    if scalarCount == utf8.count, isASCII {
      unsafe bytes.append(contentsOf: utf8)
      count += scalarCount
      return
    }
    if isASCII { offsets = stride(from: 0, through: count, by: 64).map { $0 } }
    for index in 0..<utf8.count {
      let byte = unsafe utf8[index]
      if byte & 0xC0 != 0x80 {
        if count & 63 == 0, count >> 6 == offsets.count { offsets.append(bytes.count) }
        if byte >= 0xF0 { wide(count) }
        count += 1
      }
      bytes.append(byte)
    }
  }

  /// The offset of a scalar's first byte; that of the end for `count`.
  private func offset(of scalar: Int) -> Int {
    guard !isASCII else { return scalar }
    guard scalar < count else { return bytes.count }
    var offset = offsets[scalar >> 6]
    var rest = scalar & 63
    while rest > 0 {
      offset += 1
      while bytes[offset] & 0xC0 == 0x80 { offset += 1 }
      rest -= 1
    }
    return offset
  }

  /// The bytes of scalars with consecutive numbers.
  func utf8(of scalars: Range<Int>) -> ArraySlice<UInt8> {
    bytes[offset(of: scalars.lowerBound)..<offset(of: scalars.upperBound)]
  }

  /// The text of ranges of scalars, one after the other.
  func text(of stretches: [Range<Int>]) -> String {
    let total = stretches.reduce(0) { $0 + offset(of: $1.upperBound) - offset(of: $1.lowerBound) }
    return unsafe String(unsafeUninitializedCapacity: total) { target in
      var written = 0
      unsafe bytes.withUnsafeBufferPointer { source in
        for stretch in stretches {
          let range = offset(of: stretch.lowerBound)..<offset(of: stretch.upperBound)
          guard let from = source.baseAddress, let to = target.baseAddress else {
            continue
          }
          unsafe (to + written).update(from: from + range.lowerBound, count: range.count)
          written += range.count
        }
      }
      return written
    }
  }
}
