public import QueueModel

extension UniqueIdentifier {
  /// A fresh random identifier, version 4 of RFC 9562.
  public static func random() -> Self {
    var generator = SystemRandomNumberGenerator()
    let high = generator.next() & ~0xF000 | 0x4000
    let low = generator.next() & ~(0xC000 << 48) | 0x8000 << 48
    return Self(high: high, low: low)
  }
}
