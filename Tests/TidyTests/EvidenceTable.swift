import Foundation
import Testing

/// A document with numbered rows: each has the tests that show it, and in the last cell the
/// remaining risk: `–`, or `accepted: ` with the reason.
struct EvidenceTable {
  var document: String
  /// The text before the number, such as `S-`.
  var prefix: String
  /// The number of cells of a row; the last two are the tests and the remaining risk.
  var cells: Int

  /// The rows of each section, in the order of the document.
  func sections() throws -> [[[String]]] {
    sections(in: try Repository.text(document))
  }

  func sections(in text: String) -> [[[String]]] {
    text.components(separatedBy: "\n## ").map { section in
      Markdown.tableRows(in: section).filter { number(of: $0) != nil }
    }
  }

  /// The number that the first cell names; nil for a heading.
  func number(of row: [String]) -> Int? {
    guard let first = row.first, first.hasPrefix(prefix) else { return nil }
    return Int(first.dropFirst(prefix.count))
  }

  /// The fault of a row; nil if there is none.
  ///
  /// - Parameter tests: the tests that exist, by `Suite.test`, and the checks of the page, by
  ///   `page: name`.
  func fault(of row: [String], tests: Set<String>) -> String? {
    guard row.count == cells else { return "\(row[0]) has \(row.count) cells, not \(cells)" }
    let named = Markdown.codeWords(row[cells - 2]).filter {
      $0.wholeMatch(of: #/[A-Z]\w+Tests\.[a-z]\w+|page: \w+/#) != nil
    }
    let left = row[cells - 1]
    if let unknown = named.subtracting(tests).min() {
      return "\(row[0]): there is no test \(unknown)"
    }
    guard left == "–" || left.hasPrefix("accepted: ") else { return "\(row[0]): \(left)" }
    guard !named.isEmpty || left != "–" else {
      return "\(row[0]) has neither a test nor a reason"
    }
    return nil
  }

  /// The checks of `make page-test`, as rows name them.
  static func pageChecks() throws -> [String] {
    try Repository.files(in: "Tests/Scripts").filter {
      $0.contains("/page_") && $0.hasSuffix(".py")
    }
    .flatMap { file in
      try Repository.text(file).matches(of: #/(?m)^def check_(\w+)\(/#).map { "page: \($0.1)" }
    }
  }

  /// Reports the faults of the document's rows.
  func check() throws {
    let tests = Set(try RequirementTests.functions().keys).union(try EvidenceTable.pageChecks())
    for row in try sections().joined() {
      if let fault = fault(of: row, tests: tests) { Issue.record("\(document): \(fault)") }
    }
  }
}
