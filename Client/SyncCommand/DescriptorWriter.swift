import LocalAPI
import Platform

/// `write` of the system; without a module name, it would be the method below.
private let unistdWrite: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { write($0, $1, $2) }

/// Writing to the descriptors of this process.
enum DescriptorWriter {
  /// Writes text as it is.
  ///
  /// - Returns: false if not all of it could be written.
  static func write(_ text: String, to file: Int32) -> Bool {
    writeBytes(text, to: file) == .all
  }

  /// Writes a line; nothing if the text is empty.
  ///
  /// - Returns: false if not all of it could be written, other than to a closed pipe.
  @discardableResult
  static func writeLine(_ text: String, to file: Int32) -> Bool {
    guard !text.isEmpty else { return true }
    return writeBytes(text.hasSuffix("\n") ? text : text + "\n", to: file) != .failed
  }

  private enum Outcome {
    case all, closedPipe, failed
  }

  private static func writeBytes(_ text: String, to file: Int32) -> Outcome {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { unistdWrite(file, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        return errno == EPIPE ? .closedPipe : .failed
      }
      bytes = bytes.dropFirst(count)
    }
    return .all
  }
}
