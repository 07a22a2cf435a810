import Basics

/// What is wrong with a scenario file, and where.
struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
  var position: TextPosition
  var message: String

  init(_ message: String, at position: TextPosition) {
    self.message = message
    self.position = position
  }

  var description: String { "\(position): \(message)" }
}
