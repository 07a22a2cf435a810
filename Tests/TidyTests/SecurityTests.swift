import Foundation
import Testing

/// SECURITY.md has a row for every finding, names only tests that exist, and gives a reason for
/// every remaining risk.
@Suite struct SecurityTests {
  static let table = EvidenceTable(document: "Tests/SECURITY.md", prefix: "S-", cells: 4)
  /// The number of findings.
  static let count = 46

  @Test func everyFindingHasOneRow() throws {
    let numbers = try Self.table.sections().joined().map { Self.table.number(of: $0) }
    #expect(numbers == (1...Self.count).map { $0 })
  }

  /// The threat model names every remaining risk in plain words, and the README links to it.
  @Test func theThreatModelNamesEveryRiskThatIsLeft() throws {
    let rows = try Self.table.sections().joined()
    let left = rows.filter { $0.last?.hasPrefix("accepted: ") == true }
      .compactMap { Self.table.number(of: $0) }
    #expect(try Repository.text("README.md").contains("(Protocol/THREAT-MODEL.md)"))
    let text = try Repository.text("Protocol/THREAT-MODEL.md")
    let named = Set(text.matches(of: /\bS-([0-9]+)\b/).compactMap { Int($0.1) })
    #expect(
      named.symmetricDifference(left) == [],
      "rows of SECURITY.md that THREAT-MODEL.md lacks, or has too many of")
  }

  @Test func doneRowsNameTestsAndOpenRowsAReason() throws { try Self.table.check() }
}
