/// Metrics of a running program in the OpenMetrics format
/// (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
///
/// A page is made on request. Between requests, the program counts in plain integers.
package struct MetricsPage: Sendable {
  package static let contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

  /// The last line is `# EOF`, so that readers notice a page that was cut.
  package var text: String { lines + "# EOF\n" }
  private var lines = ""

  package init() {}

  /// A number that only grows while the program runs.
  ///
  /// - Parameter name: without `_total`.
  package mutating func counter(_ name: String, _ help: String, _ value: Int) {
    counter(name, help, by: "", [("", value)])
  }

  /// The same for each value of a label; nothing if there are none.
  package mutating func counter(
    _ name: String, _ help: String, by label: String, _ values: [(String, Int)]
  ) {
    family(name, "counter", help)
    for (value, count) in values {
      lines += "\(name)_total\(labels(label, value)) \(count)\n"
    }
  }

  /// A number that goes up and down.
  package mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
    family(name, "gauge", help)
    if let value { lines += "\(name) \(number(value))\n" }
  }

  package mutating func gauge(_ name: String, _ help: String, _ value: Int) {
    gauge(name, help, Double(value))
  }

  /// The same for each value of a label.
  package mutating func gauge(
    _ name: String, _ help: String, by label: String, _ values: [(String, Int)]
  ) {
    family(name, "gauge", help)
    for (value, count) in values { lines += "\(name)\(labels(label, value)) \(count)\n" }
  }

  package mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram) {
    family(name, "histogram", help)
    var sum = 0
    for (bound, count) in zip(histogram.bounds, histogram.counts) {
      sum += count
      lines += "\(name)_bucket{le=\"\(number(bound))\"} \(sum)\n"
    }
    lines += "\(name)_bucket{le=\"+Inf\"} \(histogram.count)\n"
    lines += "\(name)_sum \(number(histogram.sum))\n\(name)_count \(histogram.count)\n"
  }

  /// The program's version, as a label of a number that is always 1.
  package mutating func build(_ name: String, version: String) {
    family(name, "info", "The program.")
    lines += "\(name)_info\(labels("version", version)) 1\n"
  }

  private mutating func family(_ name: String, _ kind: String, _ help: String) {
    lines += "# TYPE \(name) \(kind)\n# HELP \(name) \(escaped(help))\n"
  }

  private func labels(_ name: String, _ value: String) -> String {
    name.isEmpty ? "" : "{\(name)=\"\(escaped(value))\"}"
  }

  private func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  private func number(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? "\(Int(value))" : "\(value)"
  }
}

/// The distribution of values over ranges.
package struct Histogram: Hashable, Sendable {
  /// The upper ends of the ranges, each included, in increasing order.
  package let bounds: [Double]
  /// By range; values above all ranges are only in `count`.
  package private(set) var counts: [Int]
  package private(set) var count = 0
  package private(set) var sum = 0.0

  /// - Precondition: `bounds` increase.
  package init(bounds: [Double]) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds of a histogram grow")
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count)
  }

  /// Seconds, from half a millisecond to ten.
  package static let seconds = Histogram(
    bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
  /// Counts, from one to a thousand.
  package static let sizes = Histogram(bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000])

  /// - Complexity: O(`bounds`).
  package mutating func record(_ value: Double) {
    count += 1
    sum += value
    if let index = bounds.firstIndex(where: { value <= $0 }) { counts[index] += 1 }
  }
}
