import ArgumentParser
import Foundation
import SyncSimulation
import Testing

@testable import MergeHarness

@Suite struct CommandLineTests {
  private func parse(_ line: String) throws -> any ParsableCommand {
    try CospoolHarness.parseAsRoot(line.split(separator: " ").map(String.init))
  }

  @Test func commandsOfTheArticleAreUnderstood() throws {
    let run = try #require(
      try parse("run --seeds 10 --first 5 --profile partition --minutes 2 --json --jobs 3")
        as? RunCommand)
    #expect(run.seeds == 10 && run.first == 5 && run.json && run.jobs == 3 && run.minutes == 2)
    #expect(run.profile == .one(.partition))
    let replay = try #require(
      try parse("replay --seed 17 --profile hostile --trace") as? ReplayCommand)
    #expect(replay.chosen.name == RunName(seed: 17, profile: .hostile) && replay.trace)
    let queues = try #require(try parse("replay --seed 2 --items 60") as? ReplayCommand)
    #expect(queues.chosen.name == RunName(seed: 2, profile: .standard, runsAgents: true, items: 60))
    #expect(queues.chosen.name.replayCommand.hasSuffix("--seed 2 --profile default --items 60"))
    let asking = try #require(try parse("replay --seed 2 --items 8 --requests") as? ReplayCommand)
    #expect(asking.chosen.name.raisesRequests && asking.chosen.name.runsAgents)
    #expect(asking.chosen.name.replayCommand.hasSuffix("--items 8 --requests"))
    #expect(try parse("shrink --seed 1 --profile clock --output x.json") is ShrinkCommand)
    #expect(try parse("matrix") is MatrixCommand)
    #expect(try parse("scenario a.json b.json") is ScenarioCommand)
    #expect(try parse("bench --seconds 1") is BenchCommand)
  }

  @Test(arguments: [
    "run --seeds 0", "run --profile none", "run --minutes 0", "run --jobs 0", "run --seeds -1",
    "replay", "replay --seed x", "replay --seed 1 --profile all", "scenario", "nothing",
    "run --plant gremlins", "replay --seed 9223372036854775808", "shrink --seed 1 --attempts 0",
    "bench --seconds 0", "run --items -1", "replay --seed 1 --items 20001",
  ])
  func mistakesInArgumentsEndWithTwo(_ line: String) async {
    let arguments = line.split(separator: " ").map(String.init)
    #expect(await CospoolHarness.run(arguments: arguments) == 2)
  }

  @Test func exitCodesTellWhatCameOut() async throws {
    let scenarios = ScenarioFileTests.directory.path
    let folder = NSTemporaryDirectory() + "cospool-harness-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let good = "\(scenarios)/02-move-and-cancel.json"
    #expect(await CospoolHarness.run(arguments: ["scenario", good]) == 0)

    let text = try String(contentsOfFile: good, encoding: .utf8)
    let failing = "\(folder)/failing.json"
    try text.replacing("\"messages\": [\"m1\"]", with: "\"messages\": [\"m2\"]")
      .write(toFile: failing, atomically: true, encoding: .utf8)
    #expect(await CospoolHarness.run(arguments: ["scenario", good, failing]) == 1)

    let broken = "\(folder)/broken.json"
    try text.replacing("\"cancel\"", with: "\"cansel\"")
      .write(toFile: broken, atomically: true, encoding: .utf8)
    #expect(await CospoolHarness.run(arguments: ["scenario", broken, good]) == 2)
    #expect(
      await CospoolHarness.run(arguments: ["run", "--seeds", "2", "--profile", "smoke"]) == 0)
    #expect(await CospoolHarness.run(arguments: ["--help"]) == 0)
    #expect(await CospoolHarness.run(arguments: ["--version"]) == 0)
  }

  @Test func jsonOfARunIsTheDocumentedOne() throws {
    var result = SweepResult()
    result.seeds = 2
    result.operations = 30
    result.steps = 12
    result.seconds = 0.5
    result.failures = [
      SweepResult.Failure(
        name: RunName(seed: 7, profile: .standard),
        violation: Violation(checker: "order", message: "a/b \"c\"", step: 3, at: 9))
    ]
    #expect(
      try SweepText.json(of: result)
        == #"{"operations":30,"seconds":0.5,"seeds":2,"steps":12,"violations":[{"checker":"#
        + #""order","message":"a/b \"c\"","profile":"default","seed":7}]}"#)
  }

  @Test func countsOfRequestsAreReported() throws {
    var result = SweepResult()
    result.execution.claims = 1
    result.execution.requests.raised = 5
    result.execution.notifications.shown = 12
    result.execution.notifications.missedApprovals = 3
    #expect(SweepText.summary(of: result).contains("3 missed approvals"))
    let json = try SweepText.json(of: result)
    #expect(json.contains(#""missedApprovals":3"#) && json.contains(#""notifications":12"#))
  }
}
