import Foundation
import Testing

/// SECURITY.md has a row for every finding, names only tests that exist, and says why where something
/// is left as a risk.
@Suite struct SecurityTests {
  static let document = "Tests/SECURITY.md"
  /// How many findings there are.
  static let count = 26

  private static func rows() throws -> [[String]] {
    Markdown.tableRows(in: try Repository.text(document)).filter {
      $0.first?.wholeMatch(of: #/S-\d+/#) != nil
    }
  }

  @Test func everyFindingHasOneRow() throws {
    #expect(try Self.rows().map(\.[0]) == (1...Self.count).map { "S-\($0)" })
    for row in try Self.rows() { #expect(row.count == 4, "\(row[0])") }
  }

  @Test func whatIsDoneNamesTestsAndWhatIsLeftAReason() throws {
    let functions = try RequirementTests.functions()
    for row in try Self.rows() where row.count == 4 {
      let tests = Markdown.codeWords(row[2]).filter {
        $0.wholeMatch(of: #/[A-Z]\w+Tests\.[a-z]\w+/#) != nil
      }
      for test in tests { #expect(functions[test] != nil, "\(row[0]): there is no test \(test)") }
      #expect(
        !tests.isEmpty || row[3].hasPrefix("accepted: "),
        "\(row[0]) has neither a test nor a reason")
      #expect(row[3] == "–" || row[3].hasPrefix("accepted: "), "\(row[0]): \(row[3])")
    }
  }
}
