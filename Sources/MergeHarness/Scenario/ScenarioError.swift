import Basics

/// A fault in a scenario file, and its place.
struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
  var position: TextPosition
  var message: String

  init(_ message: String, at position: TextPosition) {
    self.message = message
    self.position = position
  }

  var description: String { "\(position): \(message)" }
}
