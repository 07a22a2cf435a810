/// Why the store could not do something.
package struct StorageFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, Hashable, Sendable {
    /// No space is left.
    case full
    /// Reading or writing failed, or the file may not be written.
    case unavailable
    /// Another process holds the file for too long.
    case busy
    /// What is stored contradicts itself.
    case corrupt
    /// Somebody else changed what the change was to follow.
    case conflict
    /// Our own mistake: a statement the database rejects.
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
