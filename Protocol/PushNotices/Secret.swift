/// A text that must not be shown: a key, a token, a shared secret.
///
/// It has no text form of its own: in descriptions, dumps, reflections and logs it reads
/// `‹secret›`. Code that sends it calls `reveal()`, so every such place can be found by that word.
package struct Secret: Hashable, Sendable {
  private let hidden: String

  package init(_ text: String) {
    hidden = text
  }

  /// The text itself. Never put it into an error, a log line or a description.
  package func reveal() -> String { hidden }

  package var isEmpty: Bool { hidden.isEmpty }

  /// The text that is shown instead.
  package static let placeholder = "‹secret›"
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { Self.placeholder }
  package var debugDescription: String { Self.placeholder }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
