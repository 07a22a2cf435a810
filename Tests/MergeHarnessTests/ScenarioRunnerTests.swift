import Basics
import SyncSimulation
import Testing

@testable import MergeHarness

/// The runner can fail, and reports where and why.
@Suite struct ScenarioRunnerTests {
  private func run(_ steps: String, devices: String = #"["a", "b"]"#) throws -> ScenarioReport {
    let text = """
      {"name": "n", "devices": \(devices), "steps": [
      {"on": "a", "do": "send", "session": "s", "id": "m1", "text": "one"},
      {"on": "a", "do": "send", "session": "t", "id": "m2", "text": "two"}, {"do": "sync"},
      \(steps)]}
      """
    return ScenarioRunner.run(try ScenarioParser.parse(Array(text.utf8)))
  }

  /// Expects that the expectation fails on `devices` devices, and that this was found instead.
  private func expectFailure(
    _ expectation: String, actual: String, devices: Int = 2,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let report = try run("{\"expect\": {\(expectation)}}")
    #expect(report.failures.count == devices, "\(report)", sourceLocation: location)
    for failure in report.failures {
      #expect(
        failure.position == TextPosition(line: 4, column: 1), sourceLocation: location)
      #expect(failure.actual == actual, sourceLocation: location)
    }
  }

  @Test func wrongExpectationsFail() throws {
    try expectFailure(
      #""on": "all", "queue": {"session": "s", "messages": ["m1", "m2"]}"#, actual: "[m1]")
    try expectFailure(#""on": "all", "queue": {"session": "s", "messages": []}"#, actual: "[m1]")
    try expectFailure(#""on": "b", "threads": ["t", "s"]"#, actual: "[s, t]", devices: 1)
    try expectFailure(
      #""on": "all", "text": {"message": "m1", "content": "One"}"#, actual: "\"one\"")
    try expectFailure(
      #""on": "all", "status": {"message": "m1", "value": "cancelled"}"#, actual: "queued")
    try expectFailure(
      #""on": "all", "paused": {"session": "s", "value": true}"#, actual: "false")
    try expectFailure(
      #""on": "a", "error": "queueFull""#, actual: "none, it was performed", devices: 1)
    try expectFailure(
      #""on": "all", "equal": false"#, actual: "the same state everywhere", devices: 1)
  }

  @Test func rightExpectationsHold() throws {
    let report = try run(
      """
      {"expect": {"on": "all", "queue": {"session": "s", "messages": ["m1"]},
        "threads": ["s", "t"], "text": {"message": "m2", "content": "two"}, "equal": true,
        "status": {"message": "m1", "value": "queued"}, "paused": {"session": "t", "value": false}}}
      """)
    #expect(report.failures.isEmpty, "\(report)")
    #expect(report.expectations == 6)
  }

  @Test func unequalDevicesAreNamed() throws {
    let report = try run(
      """
      {"do": "offline", "devices": ["b"]}, {"on": "b", "do": "cancel", "message": "m1"},
      {"expect": {"on": "all", "equal": true}}
      """)
    #expect(report.failures.count == 1)
    #expect(report.failures.first?.actual.contains("b differs from a") == true, "\(report)")
    #expect(report.failures.first?.position.line == 5)
  }

  @Test func theRunGoesOnAfterAFailure() throws {
    let report = try run(
      """
      {"expect": {"on": "a", "threads": []}}, {"do": "sync"},
      {"expect": {"on": "b", "threads": []}}
      """)
    #expect(report.failures.map(\.position.line) == [4, 5])
  }

  @Test func refusalsMustBeExpected() throws {
    let refused = #"{"on": "a", "do": "restore", "message": "m1"}"#
    let silent = try run(refused)
    #expect(silent.failures.map(\.position) == [TextPosition(line: 4, column: 1)])
    #expect(silent.failures.first?.actual.hasPrefix("messageNotCancelled") == true)
    let asked = try run(refused + #", {"expect": {"on": "a", "error": "messageNotCancelled"}}"#)
    #expect(asked.failures.isEmpty, "\(asked)")
    let overtaken = try run(
      refused + #", {"on": "a", "do": "clear", "session": "s"}"#
        + #", {"expect": {"on": "a", "error": "messageNotCancelled"}}"#)
    #expect(overtaken.failures.count == 2, "\(overtaken)")
  }

  @Test func stepsThatCannotBeDoneFail() throws {
    let report = try run(#"{"do": "crash-server"}, {"do": "crash-server"}"#)
    #expect(report.failures.count == 1, "\(report)")
    #expect(report.failures.first?.what == "the step cannot be performed")
  }

  @Test func endlessSyncIsReported() throws {
    let report = try run(
      """
      {"do": "partition", "devices": ["b"]},
      {"on": "b", "do": "cancel", "message": "m1"}, {"do": "sync", "devices": ["b"]}
      """)
    #expect(report.failures.count == 1, "\(report)")
    #expect(report.failures.first?.actual.contains("device 1") == true, "\(report)")
  }

  @Test func scenariosWithoutASeedAreTheSameEveryTime() throws {
    let steps = #"{"do": "crash", "devices": ["b"]}, {"do": "restart", "devices": ["b"]}"#
    let first = try run(steps)
    #expect(first.traceHash != 0)
    #expect(try run(steps) == first)
  }

  @Test func checkersWatchScenarios() throws {
    let report = try ScenarioParser.parse(
      Array(
        """
        {"name": "n", "devices": ["a", "b"], "world": {"seed": 1,
          "planted": ["move-event-missing"]}, "steps": [
        {"on": "a", "do": "send", "session": "s", "id": "m1", "text": "one"},
        {"on": "a", "do": "send", "session": "s", "id": "m2", "text": "two"},
        {"on": "a", "do": "move", "message": "m2", "to": 1}, {"do": "settle"}]}
        """.utf8))
    let failures = ScenarioRunner.run(report).failures
    #expect(failures.contains { $0.what.hasPrefix("checker") }, "\(failures)")
  }
}
