/// Finds numbers that programs read differently: neither whole numbers of 64 bits nor short enough
/// for a double. The user would read a different number from the one that the tool gets.
enum JSONNumbers {
  /// Whether `JSONTree` keeps a number's exact value.
  ///
  /// - Parameter number: as JSON writes it.
  /// - Complexity: O(bytes)
  static func isExact(_ number: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: number, as: UTF8.self)
    if Int64(text) != nil { return true }
    guard let double = Double(text), double.isFinite else { return false }
    return digits(number) == digits(Array(double.description.utf8)[...])
  }

  /// The significant digits: without the sign, the point, the exponent, and zeros at both ends.
  private static func digits(_ number: ArraySlice<UInt8>) -> [UInt8] {
    let zero = UInt8(ascii: "0")
    let all = number.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter(isDigit).drop { $0 == zero }
    return Array(all.reversed().drop { $0 == zero })
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
