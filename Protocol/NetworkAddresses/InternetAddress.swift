/// An IPv4 or IPv6 address. An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) counts as the IPv4
/// address.
package struct InternetAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16 bytes, in the network's order.
  package let bytes: [UInt8]

  /// - Parameter bytes: 4 or 16 bytes; nil for any other count.
  package init?(bytes: [UInt8]) {
    switch bytes.count {
    case 4: self.bytes = bytes
    case 16:
      let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
      self.bytes = isMapped ? Array(bytes[12...]) : bytes
    default: return nil
    }
  }

  /// Reads an address as URLs and headers write it, without brackets. A zone (`%eth0`) is dropped.
  /// IPv4 must have four decimal numbers, because programs interpret other forms differently.
  package init?(_ text: some StringProtocol) {
    let bare = text.prefix { $0 != "%" }
    guard let bytes = bare.contains(":") ? Self.v6(bare) : Self.v4(bare) else { return nil }
    self.init(bytes: bytes)
  }

  package var isV4: Bool { bytes.count == 4 }

  private static func v4(_ text: some StringProtocol) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    let numbers = parts.compactMap { part -> UInt8? in
      let isPlain = part.utf8.allSatisfy { (0x30...0x39).contains($0) }
      guard isPlain, part == "0" || !part.hasPrefix("0") else { return nil }
      return UInt8(part)
    }
    return numbers.count == 4 ? numbers : nil
  }

  private static func v6(_ text: some StringProtocol) -> [UInt8]? {
    let text = Substring(text)
    guard let gap = text.indices.first(where: { text[$0...].hasPrefix("::") }) else {
      let bytes = groups(text, mayEndInV4: true)
      return bytes?.count == 16 ? bytes : nil
    }
    guard let left = groups(text[..<gap], mayEndInV4: false),
      let right = groups(text[gap...].dropFirst(2), mayEndInV4: true),
      left.count + right.count <= 14
    else { return nil }
    return left + [UInt8](repeating: 0, count: 16 - left.count - right.count) + right
  }

  /// The groups before or after the row of zeros.
  private static func groups(_ text: Substring, mayEndInV4: Bool) -> [UInt8]? {
    guard !text.isEmpty else { return [] }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    var bytes: [UInt8] = []
    for (index, part) in parts.enumerated() {
      if mayEndInV4, index == parts.count - 1, let tail = v4(part) { return bytes + tail }
      guard (1...4).contains(part.utf8.count), part.allSatisfy(\.isHexDigit),
        part.allSatisfy(\.isASCII),
        let number = UInt16(part, radix: 16)
      else { return nil }
      bytes += [UInt8(number >> 8), UInt8(number & 0xFF)]
    }
    return bytes
  }

  package var description: String {
    if isV4 { return bytes.map { "\($0)" }.joined(separator: ".") }
    let groups = stride(from: 0, to: 16, by: 2).map {
      UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
    }
    // The longest row of zeros is omitted, as RFC 5952 requires.
    var longest = 0..<0
    var start = 0
    while start < 8 {
      var end = start
      while end < 8, groups[end] == 0 { end += 1 }
      if end - start > max(longest.count, 1) { longest = start..<end }
      start = max(end, start + 1)
    }
    func text(_ part: ArraySlice<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    guard !longest.isEmpty else { return text(groups[...]) }
    return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
  }

  /// The network of one customer: an IPv4 address, or the first 64 bits of an IPv6 one.
  package var network: AddressRange { AddressRange(self, prefix: isV4 ? 32 : 64) }
}

/// Addresses that begin with the same bits: `10.0.0.0/8`, `2001:db8::/32`, or one address alone.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  /// The first address.
  package let start: InternetAddress
  /// The number of equal bits.
  package let prefix: Int

  init(_ address: InternetAddress, prefix: Int) {
    let bytes = address.bytes.enumerated().map { index, byte in
      let bits = min(max(prefix - index * 8, 0), 8)
      return byte & UInt8(truncatingIfNeeded: 0xFF00 >> bits)
    }
    start = InternetAddress(bytes: bytes) ?? address
    self.prefix = prefix
  }

  /// Reads `ADDRESS/BITS`, or an address alone.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let address = InternetAddress(parts[0]) else { return nil }
    let width = address.bytes.count * 8
    guard parts.count == 2 else {
      self.init(address, prefix: width)
      return
    }
    guard let prefix = Int(parts[1]), (0...width).contains(prefix), !parts[1].hasPrefix("+") else {
      return nil
    }
    self.init(address, prefix: prefix)
  }

  package func contains(_ address: InternetAddress) -> Bool {
    address.bytes.count == start.bytes.count
      && AddressRange(address, prefix: prefix).start == start
  }

  package var description: String {
    prefix == start.bytes.count * 8 ? "\(start)" : "\(start)/\(prefix)"
  }
}
