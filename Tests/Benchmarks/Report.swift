import Foundation

/// One measured value; its name identifies the same measurement of other programs.
struct Result: Encodable {
  var name: String
  /// `seconds`, `bytes`, `count` or `ratio`.
  var metric: String
  var value: Double

  /// The median of several values; of an even number, the upper one in the middle.
  ///
  /// - Precondition: there is at least one.
  static func median(_ name: String, metric: String = "seconds", _ values: [Double]) -> Result {
    precondition(!values.isEmpty, "a median needs a value")
    return Result(name: name, metric: metric, value: values.sorted()[values.count / 2])
  }
}

/// The printed results.
struct Report: Encodable {
  var suite: String
  var machine: String
  var results: [Result]

  static var thisMachine: String {
    let info = ProcessInfo.processInfo
    return "\(info.operatingSystemVersionString), \(info.activeProcessorCount) cores"
  }

  /// One object, its keys sorted, without a line break.
  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  /// A line for each result, for users.
  var table: String {
    let width = results.map(\.name.count).max() ?? 0
    return results.map { result in
      let name = result.name.padding(toLength: width, withPad: " ", startingAt: 0)
      return "\(name)  \(result.readableValue)"
    }.joined(separator: "\n")
  }
}

extension Result {
  fileprivate var readableValue: String {
    switch metric {
    case "seconds" where value < 1e-6: String(format: "%12.1f ns", value * 1e9)
    case "seconds" where value < 1e-3: String(format: "%12.2f µs", value * 1e6)
    case "seconds": String(format: "%12.3f ms", value * 1e3)
    case "bytes" where value < 1_000: String(format: "%12.1f B", value)
    case "bytes": String(format: "%12.0f B", value)
    default: String(format: "%12.3f", value)
    }
  }
}
