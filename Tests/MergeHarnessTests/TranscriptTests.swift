import Foundation
import SyncSimulation
import Testing

@testable import MergeHarness

/// Random runs as scenario files.
@Suite struct TranscriptTests {
  /// A run, its transcript, and the transcript read back from its file all do the same.
  @Test(arguments: Profile.turns)
  func transcriptsDoWhatTheRunDid(_ profile: Profile) throws {
    for seed in 1...2 as ClosedRange<UInt64> {
      let run = ScenarioTranscript.withoutSkippedSteps(
        Simulation.run(seed: seed, profile: profile).run)
      let report = Simulation.replay(run)
      let scenario = ScenarioTranscript.scenario(of: run, name: "n", description: "d")
      let text = ScenarioWriter.text(of: scenario)
      let again = ScenarioRunner.run(try ScenarioParser.parse(Array(text.utf8)))
      #expect(again.traceHash == report.traceHash, "seed \(seed)")
      #expect(again.operations == report.operations, "seed \(seed)")
      #expect(again.failures.isEmpty == report.violations.isEmpty, "seed \(seed)")
    }
  }

  @Test func shrunkRunsFailAsFiles() throws {
    let name = RunName(seed: 1, profile: .standard, planted: [.moveEventMissing])
    var report = Simulation.run(seed: 1, profile: .standard, planted: name.planted)
    var seed: UInt64 = 1
    while report.violations.isEmpty, seed < 50 {
      seed += 1
      report = Simulation.run(seed: seed, profile: .standard, planted: name.planted)
    }
    let violation = try #require(report.violations.first)
    let shrunk = Shrinker.shrink(report.run, violation: violation, attemptsMax: 300)
    #expect(shrunk.run.steps.count < report.run.steps.count / 2)
    let scenario = try ShrinkCommand.scenario(of: shrunk, name)
    let text = ScenarioWriter.text(of: scenario)
    #expect(text.contains("\"id\": \"m1\""), "messages have short names: \(text)")
    let again = ScenarioRunner.run(try ScenarioParser.parse(Array(text.utf8)))
    #expect(again.violations.contains { $0.checker == violation.checker })
    // Without the bug the same file passes.
    let healthy = text.replacing(", \"planted\": [\"move-event-missing\"]", with: "")
    #expect(ScenarioRunner.run(try ScenarioParser.parse(Array(healthy.utf8))).failures.isEmpty)
  }
}
