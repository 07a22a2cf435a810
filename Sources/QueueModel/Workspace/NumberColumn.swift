/// A sequence of numbers, seven bits a byte, for data that is kept packed in memory. Data that
/// leaves memory has its own format, and a reader that trusts nothing.
struct NumberColumn: Sendable {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  mutating func append(signed value: Int64) {
    append(UInt64(bitPattern: value << 1 ^ value >> 63))
  }

  /// Releases unused capacity.
  mutating func shrink() {
    bytes = bytes.withUnsafeBufferPointer { unsafe Array($0) }
  }
}

/// Reads the numbers in their order.
///
/// - Precondition: no more is read than was written.
struct NumberColumnReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ column: NumberColumn) {
    bytes = column.bytes
  }

  var isAtEnd: Bool { position == bytes.count }

  mutating func next() -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = bytes[position]
      position += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
  }

  mutating func nextSigned() -> Int64 {
    let value = next()
    return Int64(bitPattern: value >> 1) ^ -Int64(value & 1)
  }
}
