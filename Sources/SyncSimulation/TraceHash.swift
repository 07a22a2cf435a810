/// A digest of everything that happens in a run, the same on every machine and in every build.
struct TraceHash {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ number: UInt64) {
    value = (value ^ number) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 32
  }

  mutating func add(_ number: Int64) { add(UInt64(bitPattern: number)) }
  mutating func add(_ number: Int) { add(Int64(number)) }

  mutating func add(_ bytes: some Collection<UInt8>) {
    var word: UInt64 = 0
    var filled: UInt64 = 0
    for byte in bytes {
      word |= UInt64(byte) << filled
      filled += 8
      if filled == 64 {
        add(word)
        word = 0
        filled = 0
      }
    }
    add(word)
    add(bytes.count)
  }

  mutating func add(_ text: String) { add(text.utf8) }
}
