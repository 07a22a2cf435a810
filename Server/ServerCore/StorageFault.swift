/// Why the store failed.
package struct StorageFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, Hashable, Sendable {
    /// No space is left.
    case full
    /// Reading or writing failed, or the file may not be written.
    case unavailable
    /// Another process has held the file for too long.
    case busy
    /// The stored data contradicts itself.
    case corrupt
    /// A fault in the code: the database rejects a statement.
    case internalError
  }

  package var code: Code
  /// What happened, for the operator's log; never sent to clients.
  package var message: String

  package init(code: Code, message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { "\(code.rawValue): \(message)" }
}
