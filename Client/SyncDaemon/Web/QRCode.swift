/// A text as a QR code: bytes, error correction of level M, versions 1 to 20 (ISO/IEC 18004:2015).
struct QRCode: Equatable {
  /// Bytes that fit into the largest version.
  static let bytesMax = capacity(of: Layout.versionMax)

  /// Rows of modules from the top, true for dark, without the light margin of four modules around.
  private(set) var rows: [[Bool]]

  /// The rows in the local API's form, 1 for dark.
  var text: [String] { rows.map { row in String(row.map { $0 ? "1" : "0" }) } }

  /// - Returns: nil if the text is longer than `bytesMax` bytes.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    let versions = 1...Layout.versionMax
    guard let version = versions.first(where: { QRCode.capacity(of: $0) >= bytes.count }) else {
      return nil
    }
    let layout = Layout(version: version)
    let codewords = QRCode.interleaved(QRCode.data(bytes, in: layout), in: layout)
    rows = Drawing(codewords, in: layout).rows
  }

  /// After four bits of mode and those of the length.
  private static func capacity(of version: Int) -> Int {
    Layout(version: version).dataCount - (version < 10 ? 2 : 3)
  }

  /// Mode, length, bytes, an end, and padding (7.4).
  static func data(_ bytes: [UInt8], in layout: Layout) -> [UInt8] {
    var bits: [Bool] = []
    func append(_ value: Int, _ count: Int) {
      for shift in (0..<count).reversed() { bits.append(value >> shift & 1 == 1) }
    }
    append(0b0100, 4)
    append(bytes.count, layout.version < 10 ? 8 : 16)
    for byte in bytes { append(Int(byte), 8) }
    append(0, min(4, layout.dataCount * 8 - bits.count))
    append(0, (8 - bits.count % 8) % 8)
    var data = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<start + 8].reduce(0 as UInt8) { $0 << 1 | ($1 ? 1 : 0) }
    }
    var padding: UInt8 = 0xEC
    while data.count < layout.dataCount {
      data.append(padding)
      padding ^= 0xEC ^ 0x11
    }
    return data
  }

  /// Data in blocks, each with its correction; then the first of each block, the second, and so on (7.6).
  static func interleaved(_ data: [UInt8], in layout: Layout) -> [UInt8] {
    let short = layout.dataCount / layout.blocks
    let longCount = layout.dataCount % layout.blocks
    var blocks: [ArraySlice<UInt8>] = []
    var rest = data[...]
    for index in 0..<layout.blocks {
      let count = short + (index >= layout.blocks - longCount ? 1 : 0)
      blocks.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    let corrections = blocks.map { Galois.correction(of: $0, count: layout.correctionCount) }
    var result: [UInt8] = []
    for index in 0...short {
      for block in blocks where index < block.count {
        result.append(block[block.startIndex + index])
      }
    }
    for index in 0..<layout.correctionCount { result += corrections.map { $0[index] } }
    return result
  }
}

extension QRCode {
  /// The capacity and the layout of a version.
  struct Layout: Equatable {
    static let versionMax = 20
    /// Correction bytes of each block and the number of blocks, for level M (table 9).
    private static let table: [(correction: Int, blocks: Int)] = [
      (10, 1), (16, 1), (26, 1), (18, 2), (24, 2), (16, 4), (18, 4), (22, 4), (22, 5), (26, 5),
      (30, 5), (22, 8), (22, 9), (24, 9), (24, 10), (28, 10), (28, 11), (26, 13), (26, 14),
      (26, 16),
    ]

    let version: Int

    var size: Int { version * 4 + 17 }
    var correctionCount: Int { Layout.table[version - 1].correction }
    var blocks: Int { Layout.table[version - 1].blocks }

    /// Centres of alignment patterns, the same across and down (annex E).
    var alignments: [Int] {
      guard version > 1 else { return [] }
      let count = version / 7 + 2
      // Evenly from the last one backwards, in even steps; the first stays at 6.
      let step = (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
      return [6] + (0..<count - 1).map { size - 7 - $0 * step }.reversed()
    }

    /// The space that is left for codewords, in bytes.
    var codewordCount: Int {
      // Finders with separators and formats; timing; then alignments, and versions from 7 on.
      var modules = size * size - 3 * 64 - 2 * 15 - 1 - 2 * (size - 16)
      let count = alignments.count
      if count > 0 { modules -= (count * count - 3) * 25 - 2 * (count - 2) * 5 }
      if version >= 7 { modules -= 36 }
      return modules / 8
    }

    var dataCount: Int { codewordCount - correctionCount * blocks }
  }

  /// Bytes as elements of the field with 256 elements, modulo x⁸ + x⁴ + x³ + x² + 1.
  enum Galois {
    static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
      var result: UInt8 = 0
      for shift in (0..<8).reversed() {
        result = result << 1 ^ (result >> 7 == 1 ? 0x1D : 0)
        if right >> shift & 1 == 1 { result ^= left }
      }
      return result
    }

    /// The remainder of data · xⁿ by (x − 1)(x − 2) … (x − 2ⁿ⁻¹): the Reed-Solomon code (7.5.2).
    static func correction(of data: ArraySlice<UInt8>, count: Int) -> [UInt8] {
      // The highest coefficient, which is 1, is omitted.
      var generator = [UInt8](repeating: 0, count: count)
      generator[count - 1] = 1
      var root: UInt8 = 1
      for _ in 0..<count {
        for index in generator.indices {
          generator[index] = product(generator[index], root)
          if index + 1 < count { generator[index] ^= generator[index + 1] }
        }
        root = product(root, 2)
      }
      var remainder = [UInt8](repeating: 0, count: count)
      for byte in data {
        let factor = byte ^ remainder.removeFirst()
        remainder.append(0)
        for index in remainder.indices { remainder[index] ^= product(generator[index], factor) }
      }
      return remainder
    }
  }

  /// Patterns, codewords and a mask as modules.
  struct Drawing {
    private(set) var rows: [[Bool]]
    /// Modules that belong to no codeword, and therefore are not masked.
    private var isFixed: [[Bool]]
    private let size: Int

    /// The chessboard, the first of table 10. Readers take any mask; the penalties of 7.8.3 would
    /// only choose the one that is read a little faster.
    private static let mask = 0

    init(_ codewords: [UInt8], in layout: Layout) {
      size = layout.size
      rows = Array(repeating: Array(repeating: false, count: size), count: size)
      isFixed = rows
      drawPatterns(layout)
      drawFormat()
      if layout.version >= 7 { drawVersion(layout.version) }
      drawCodewords(codewords)
    }

    private mutating func set(_ column: Int, _ row: Int, _ isDark: Bool) {
      guard rows.indices.contains(row), rows.indices.contains(column) else { return }
      rows[row][column] = isDark
      isFixed[row][column] = true
    }

    private mutating func drawPatterns(_ layout: Layout) {
      for index in 0..<size {
        set(6, index, index % 2 == 0)
        set(index, 6, index % 2 == 0)
      }
      for (column, row) in [(3, 3), (size - 4, 3), (3, size - 4)] {
        for down in -4...4 {
          for across in -4...4 {
            let ring = max(abs(across), abs(down))
            set(column + across, row + down, ring != 2 && ring != 4)
          }
        }
      }
      let places = layout.alignments
      for row in places {
        for column in places {
          // Three of the corners are finders.
          let corners = [(6, 6), (6, size - 7), (size - 7, 6)]
          guard !corners.contains(where: { $0 == (column, row) }) else { continue }
          for down in -2...2 {
            for across in -2...2 {
              set(column + across, row + down, max(abs(across), abs(down)) != 1)
            }
          }
        }
      }
    }

    /// Level and mask with their correction, twice (7.9).
    private mutating func drawFormat() {
      let bits = Drawing.format(Drawing.mask)
      func isSet(_ index: Int) -> Bool { bits >> index & 1 == 1 }
      for index in 0..<15 {
        // Around the first finder, past the timing patterns; then beside the two others.
        let near = index < 6 ? index : index < 8 ? index + 1 : 0
        if index < 8 { set(8, near, isSet(index)) }
        if index == 8 { set(7, 8, isSet(index)) }
        if index > 8 { set(14 - index, 8, isSet(index)) }
        if index < 8 { set(size - 1 - index, 8, isSet(index)) }
        if index >= 8 { set(8, size - 15 + index, isSet(index)) }
      }
      set(8, size - 8, true)
    }

    /// 15 bits for level M, which is written 00.
    static func format(_ mask: Int) -> Int {
      (mask << 10 | remainder(mask << 10, by: 0b101_0011_0111, bits: 10)) ^ 0b101_0100_0001_0010
    }

    /// 18 bits (7.10).
    static func versionBits(_ version: Int) -> Int {
      version << 12 | remainder(version << 12, by: 0b1_1111_0010_0101, bits: 12)
    }

    private static func remainder(_ value: Int, by divisor: Int, bits: Int) -> Int {
      var rest = value
      for shift in (0...8).reversed() where rest >> (shift + bits) & 1 == 1 {
        rest ^= divisor << shift
      }
      return rest
    }

    private mutating func drawVersion(_ version: Int) {
      let bits = Drawing.versionBits(version)
      for index in 0..<18 {
        let isDark = bits >> index & 1 == 1
        set(size - 11 + index % 3, index / 3, isDark)
        set(index / 3, size - 11 + index % 3, isDark)
      }
    }

    /// Two columns at a time from the right, upwards and downwards in turn (7.7.3).
    private mutating func drawCodewords(_ codewords: [UInt8]) {
      var index = 0
      var isUpward = true
      // The timing pattern's column is skipped.
      for right in stride(from: size - 1, to: 0, by: -2).map({ $0 <= 6 ? $0 - 1 : $0 }) {
        for step in 0..<size {
          let row = isUpward ? size - 1 - step : step
          for column in [right, right - 1] where !isFixed[row][column] {
            let isSet =
              index < codewords.count * 8 && codewords[index / 8] >> (7 - index % 8) & 1 == 1
            rows[row][column] = isSet != ((row + column) % 2 == 0)
            index += 1
          }
        }
        isUpward.toggle()
      }
    }
  }
}
