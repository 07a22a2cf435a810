import Synchronization

/// Lines that several tasks write, each in one piece.
final class LineOutput: Sendable {
  private let line: Mutex<@Sendable (String) -> Bool>

  init(write: @escaping @Sendable (String) -> Bool) {
    line = Mutex(write)
  }

  /// - Returns: whether a reader is left.
  @discardableResult
  func write(_ text: String?) -> Bool {
    guard let text else { return true }
    return line.withLock { $0(text + "\n") }
  }
}
