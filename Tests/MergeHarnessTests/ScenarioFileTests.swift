import Foundation
import Testing

@testable import MergeHarness

/// The hard cases as files; their numbers are those of the list of requirements.
@Suite struct ScenarioFileTests {
  static let directory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Scenarios")

  static let files: [String] = {
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (names ?? []).filter { $0.hasSuffix(".json") }.sorted()
  }()

  /// Hard cases that need no execution; 29, an old client with a new server, is not among them,
  /// because one build speaks one range of versions.
  static let hardCases = [
    1, 2, 3, 4, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 30, 31, 32,
    33,
  ]

  @Test(arguments: files)
  func everyFileHolds(_ file: String) throws {
    let path = Self.directory.appendingPathComponent(file).path
    let scenario = try ScenarioFile.read(path)
    let report = ScenarioRunner.run(scenario)
    #expect(report.failures.isEmpty, "\(ScenarioWords.text(of: report, file: file))")
    // What a random run left is judged by the checkers alone.
    #expect(report.expectations > 0 || scenario.world != nil)
  }

  @Test func everyHardCaseHasAFileThatSaysWhatItIs() throws {
    for number in Self.hardCases {
      let prefix = (number < 10 ? "0" : "") + "\(number)-"
      let files = Self.files.filter { $0.hasPrefix(prefix) }
      #expect(!files.isEmpty, "hard case \(number)")
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

  @Test func missingFileIsSaid() {
    #expect(throws: ScenarioError.self) { try ScenarioFile.read("/nowhere/at/all.json") }
  }
}
