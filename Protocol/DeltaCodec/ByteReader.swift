package import QueueModel

/// Reads fields from untrusted bytes; never reads past the end.
package struct ByteReader: Sendable {
  package let bytes: [UInt8]
  /// The next byte's offset.
  package private(set) var position: Int
  package let end: Int

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    position = 0
    end = bytes.count
  }

  /// Reads within `range`, which the caller has checked.
  package init(_ bytes: [UInt8], range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
  }

  package var remaining: Int { end - position }
  package var isAtEnd: Bool { position == end }

  package mutating func byte() throws(DecodingFault) -> UInt8 {
    guard position < end else { throw truncated() }
    defer { position += 1 }
    return bytes[position]
  }

  package mutating func number() throws(DecodingFault) -> UInt64 {
    guard position < end else { throw truncated() }
    let head = bytes[position]
    if head < 0x80 {
      position += 1
      return UInt64(head)
    }
    return try longNumber()
  }

  private mutating func longNumber() throws(DecodingFault) -> UInt64 {
    let start = position
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte()
      if shift == 63, next > 1 {
        throw DecodingFault(.overlongNumber, at: start, "a number does not fit 64 bits")
      }
      value |= UInt64(next & 0x7F) << shift
      if next < 0x80 {
        guard next != 0 else {
          throw DecodingFault(.overlongNumber, at: start, "a number is not in its shortest form")
        }
        return value
      }
      shift += 7
    }
  }

  /// A number, at most `max`.
  package mutating func number<Value: FixedWidthInteger & UnsignedInteger>(
    max: Value, _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> Value {
    let start = position
    let value = try number()
    guard value <= max else {
      throw DecodingFault(.limitExceeded, at: start, "\(what()): \(value), at most \(max)")
    }
    return Value(truncatingIfNeeded: value)
  }

  /// A number that counts something in memory, at most `max`.
  package mutating func count(
    max: Int, _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> Int {
    Int(try number(max: UInt(max), what()))
  }

  /// A count of items that each take at least `bytesEach` of the remaining bytes.
  package mutating func count(
    ofAtLeast bytesEach: Int, max: Int, _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> Int {
    let start = position
    let value = try count(max: max, what())
    guard value <= remaining / bytesEach else {
      throw DecodingFault(
        .truncated, at: start, "\(what()): \(value), but only \(remaining) bytes follow")
    }
    return value
  }

  package mutating func signed() throws(DecodingFault) -> Int64 {
    ByteReader.unzigzag(try number())
  }

  package mutating func fixed(bytes count: Int = 8) throws(DecodingFault) -> UInt64 {
    guard remaining >= count else { throw truncated() }
    var value: UInt64 = 0
    for index in 0..<count {
      value |= UInt64(bytes[position + index]) << UInt64(8 * index)
    }
    position += count
    return value
  }

  package mutating func identifier<Value: UniqueIdentifier>(
    _ type: Value.Type
  ) throws(DecodingFault) -> Value {
    let high = try fixed().byteSwapped
    return Value(high: high, low: try fixed().byteSwapped)
  }

  package mutating func raw(_ count: Int) throws(DecodingFault) -> ArraySlice<UInt8> {
    guard count >= 0, count <= remaining else { throw truncated() }
    defer { position += count }
    return bytes[position..<position + count]
  }

  package mutating func blob(
    max: Int, _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> [UInt8] {
    Array(try raw(try count(max: max, what())))
  }

  package mutating func text(
    max: Int, _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> String {
    let count = try count(max: max, what())
    return try utf8(bytes: count, what())
  }

  package mutating func utf8(
    bytes count: Int, _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> String {
    let start = position
    let slice = try raw(count)
    guard let text = String(validating: slice, as: UTF8.self) else {
      throw DecodingFault(.invalidText, at: start, "\(what()) is not UTF-8")
    }
    return text
  }

  /// Exactly `count` Unicode scalars in UTF-8, at most `bytesMax` bytes.
  package mutating func scalars(
    _ count: Int, bytesMax: Int, _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> String {
    guard count <= remaining else { throw truncated() }
    let start = position
    var scan = start
    var isValid = true
    var left = count
    while left > 0 {
      guard scan < end else { throw truncated() }
      // The bytes after the text may look like its continuation, so only the first byte decides.
      if bytes[scan] < 0x80 {
        scan += 1
      } else {
        guard let length = ByteReader.scalarLength(first: bytes[scan]) else {
          throw DecodingFault(.invalidText, at: scan, "\(what()) is not UTF-8")
        }
        isValid = isValid && length <= end - scan && continues(at: scan, length: length)
        scan += length
      }
      left -= 1
    }
    guard scan - start <= bytesMax else {
      throw DecodingFault(
        .limitExceeded, at: start, "\(what()): \(scan - start) bytes, at most \(bytesMax)")
    }
    guard scan <= end else { throw truncated() }
    guard isValid else { throw DecodingFault(.invalidText, at: start, "\(what()) is not UTF-8") }
    position = scan
    return String(decoding: bytes[start..<scan], as: UTF8.self)
  }

  /// The number of bytes of a scalar that begins with a byte above 0x7F; nil if no scalar does.
  private static func scalarLength(first: UInt8) -> Int? {
    switch first {
    case 0xC2..<0xE0: 2
    case 0xE0..<0xF0: 3
    case 0xF0..<0xF5: 4
    default: nil
    }
  }

  /// Whether the bytes after a scalar's first one are valid: no overlong form, no surrogate,
  /// nothing above U+10FFFF. Source: Unicode Standard, table 3-7.
  private func continues(at first: Int, length: Int) -> Bool {
    let allowed: ClosedRange<UInt8> =
      switch bytes[first] {
      case 0xE0: 0xA0...0xBF
      case 0xED: 0x80...0x9F
      case 0xF0: 0x90...0xBF
      case 0xF4: 0x80...0x8F
      default: 0x80...0xBF
      }
    guard allowed.contains(bytes[first + 1]) else { return false }
    return bytes[first + 2..<first + length].allSatisfy { $0 & 0xC0 == 0x80 }
  }

  package func requireEnd(_ what: @autoclosure () -> String) throws(DecodingFault) {
    guard isAtEnd else {
      throw DecodingFault(.trailingBytes, at: position, "\(remaining) bytes follow \(what())")
    }
  }

  package func truncated() -> DecodingFault {
    DecodingFault(.truncated, at: end, "the bytes end inside a field")
  }

  package static func unzigzag(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }
}
