package import QueueModel

/// Appends fields to bytes; SPECIFICATION.md, section "Fields".
package struct ByteWriter: Hashable, Sendable {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package var isEmpty: Bool { bytes.isEmpty }

  package mutating func byte(_ value: UInt8) {
    bytes.append(value)
  }

  /// Seven bits a byte, the lowest first, the top bit set in all but the last.
  package mutating func number(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// - Precondition: `value` is not negative.
  package mutating func count(_ value: Int) {
    number(UInt64(value))
  }

  /// 0, −1, 1, −2, 2 … as 0, 1, 2, 3, 4 …
  package mutating func signed(_ value: Int64) {
    number(ByteWriter.zigzag(value))
  }

  package mutating func fixed(_ value: UInt64, bytes count: Int = 8) {
    var rest = value
    for _ in 0..<count {
      bytes.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }

  /// The 16 bytes of a UUID in the order of its text form.
  package mutating func identifier(_ value: some UniqueIdentifier) {
    for half in [value.high, value.low] {
      for shift in stride(from: UInt64(56), through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: half >> shift))
      }
    }
  }

  package mutating func raw(_ value: some Sequence<UInt8>) {
    bytes.append(contentsOf: value)
  }

  /// A count of bytes, and the bytes.
  package mutating func blob(_ value: [UInt8]) {
    count(value.count)
    raw(value)
  }

  /// A count of bytes, and the text in UTF-8.
  package mutating func text(_ value: String) {
    count(value.utf8.count)
    raw(value.utf8)
  }

  package static func zigzag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: value << 1 ^ value >> 63)
  }
}
