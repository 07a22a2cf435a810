/// A place in a text, for people: both numbers count from 1, the column in Unicode scalars.
struct TextPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
  var line: Int
  var column: Int

  static let start = TextPosition(line: 1, column: 1)

  static func < (left: TextPosition, right: TextPosition) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }

  /// As compilers write it, behind a file's name.
  var description: String { "\(line):\(column)" }
}

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
