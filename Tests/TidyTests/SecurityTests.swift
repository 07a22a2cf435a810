import Foundation
import Testing

/// SECURITY.md has a row for every finding, names only tests that exist, and says why where something
/// is left as a risk.
@Suite struct SecurityTests {
  static let table = EvidenceTable(document: "Tests/SECURITY.md", prefix: "S-", cells: 4)
  /// How many findings there are.
  static let count = 44

  @Test func everyFindingHasOneRow() throws {
    let numbers = try Self.table.sections().joined().map { Self.table.number(of: $0) }
    #expect(numbers == (1...Self.count).map { $0 })
  }

  @Test func whatIsDoneNamesTestsAndWhatIsLeftAReason() throws { try Self.table.check() }
}
