import Foundation
import Testing

@testable import MergeHarness

/// The hard cases as files. Their numbers are those of the list of requirements, and the table of
/// Tests/Scenarios/README.md shows which file covers which case.
@Suite struct ScenarioFileTests {
  static let directory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Scenarios")

  static let files: [String] = {
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (names ?? []).filter { $0.hasSuffix(".json") }.sorted()
  }()

  /// Those of the 33 hard cases that need leases, approvals or notifications, which exist only with
  /// execution.
  static let needExecution: Set = [5, 6, 7, 8, 27, 28]
  /// An old client with a new server: one build speaks one range of versions.
  static let needsTwoBuilds: Set = [29]

  @Test(arguments: files)
  func everyFileHolds(_ file: String) throws {
    let path = Self.directory.appendingPathComponent(file).path
    let scenario = try ScenarioFile.read(path)
    let report = ScenarioRunner.run(scenario)
    #expect(report.failures.isEmpty, "\(ScenarioWords.text(of: report, file: file))")
    // Only the checkers judge a file that a random run left.
    #expect(report.expectations > 0 || scenario.world != nil)
  }

  /// The rows of the table: the number of the case, and its files.
  private func table() throws -> [Int: [String]] {
    let path = Self.directory.appendingPathComponent("README.md").path
    var rows: [Int: [String]] = [:]
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 5, let number = Int(cells[1]) else { continue }
      #expect(rows[number] == nil, "hard case \(number) has two rows")
      rows[number] = cells[3].split(separator: "`").map(String.init)
        .filter { $0.hasSuffix(".json") }
    }
    return rows
  }

  @Test func everyHardCaseHasARowAndFilesThatSayWhatTheyAre() throws {
    let rows = try table()
    #expect(rows.keys.sorted() == Array(1...33))
    for (number, files) in rows.sorted(by: { $0.key < $1.key }) {
      let hasFiles = !Self.needExecution.union(Self.needsTwoBuilds).contains(number)
      #expect(files.isEmpty != hasFiles, "hard case \(number)")
      let prefix = (number < 10 ? "0" : "") + "\(number)-"
      #expect(files == Self.files.filter { $0.hasPrefix(prefix) }, "hard case \(number)")
      for file in files {
        let path = Self.directory.appendingPathComponent(file).path
        let description = try ScenarioFile.read(path).description ?? ""
        #expect(description.hasPrefix("Hard case \(number)"), "\(file)")
      }
    }
  }

  @Test(arguments: files)
  func everyFileSurvivesTheWriter(_ file: String) throws {
    let path = Self.directory.appendingPathComponent(file).path
    let scenario = try ScenarioFile.read(path)
    let text = ScenarioWriter.text(of: scenario)
    let again = try ScenarioParser.parse(Array(text.utf8))
    #expect(ScenarioWriter.text(of: again) == text)
  }

  @Test func missingFileIsReported() {
    #expect(throws: ScenarioError.self) { try ScenarioFile.read("/nowhere/at/all.json") }
  }
}
