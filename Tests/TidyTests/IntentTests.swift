import Foundation
import Testing

/// INTENT.md names only tests that exist, gives a reason if it names none, and its numbers ascend
/// within each section.
@Suite struct IntentTests {
  static let table = EvidenceTable(document: "Tests/INTENT.md", prefix: "I-", cells: 5)
  /// The numbers of each section, as in the document.
  static let ranges = [
    1...49, 50...99, 100...149, 150...199, 200...299, 300...349, 350...359, 360...399, 400...449,
    450...499,
  ]

  @Test func numbersAscendWithinTheirSection() throws {
    // The first part precedes the sections.
    let sections = try Self.table.sections().dropFirst()
    #expect(sections.count == Self.ranges.count)
    for (section, range) in zip(sections, Self.ranges) {
      let numbers = section.compactMap { Self.table.number(of: $0) }
      #expect(numbers == Set(numbers).sorted())
      #expect(numbers.allSatisfy(range.contains), "\(numbers) are not all in \(range)")
    }
  }

  @Test func everyRowNamesItsTestsOrAReason() throws { try Self.table.check() }

  @Test(arguments: [
    ("| I-1 | a | b | `OneTests.two` | – |", nil),
    ("| I-1 | a | b | – | accepted: nobody does it |", nil),
    ("| I-1 | a | b | `OneTests.three` | – |", "there is no test OneTests.three"),
    ("| I-1 | a | b | `page: three` | – |", "there is no test page: three"),
    ("| I-1 | a | b | one | – |", "neither a test nor a reason"),
    ("| I-1 | a | b | `OneTests.two` | later |", "later"),
    ("| I-1 | a | `OneTests.two` | – |", "4 cells"),
  ])
  func aRowWithoutEvidenceIsFound(row: String, fault: String?) throws {
    let text = "# x\n\n| no. | what |\n|---|---|\n\(row)\n"
    let rows = Array(Self.table.sections(in: text).joined())
    try #require(rows.count == 1)
    let found = Self.table.fault(of: rows[0], tests: ["OneTests.two"])
    #expect((found == nil) == (fault == nil))
    if let fault { #expect(found?.contains(fault) == true, "\(found ?? "")") }
  }
}
