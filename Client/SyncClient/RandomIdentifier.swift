public import QueueModel

extension UniqueIdentifier {
  /// A fresh random identifier, version 4 of RFC 9562.
  public static func random() -> Self {
    var generator = SystemRandomNumberGenerator()
    return Self(randomUsing: &generator)
  }
}
