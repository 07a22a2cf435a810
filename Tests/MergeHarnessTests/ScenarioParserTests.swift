import Basics
import QueueModel
import Testing

@testable import MergeHarness

@Suite struct ScenarioParserTests {
  /// The example of the article and one step, in line 2.
  static func scenario(_ step: String, before: [String] = []) -> String {
    let steps =
      [
        #"{"on": "a", "do": "send", "session": "s", "id": "m1", "text": "one"}"#
      ] + before
    return "{\"name\": \"n\", \"devices\": [\"a\", \"b\"], \"steps\": ["
      + steps.map { $0 + ", " }.joined() + "\n\(step)]}"
  }

  private func parse(_ text: String) throws -> Scenario {
    try ScenarioParser.parse(Array(text.utf8))
  }

  private func expectError(
    _ text: String, at line: Int, _ column: Int, _ part: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    do {
      let scenario = try parse(text)
      Issue.record("it was read as \(scenario)", sourceLocation: location)
    } catch let error as ScenarioError {
      #expect(
        error.position == TextPosition(line: line, column: column), "\(error)",
        sourceLocation: location)
      #expect(error.message.contains(part), "\(error)", sourceLocation: location)
    } catch {
      Issue.record("\(error)", sourceLocation: location)
    }
  }

  private func expectStepError(
    _ step: String, at column: Int, _ part: String, before: [String] = [],
    _ location: SourceLocation = #_sourceLocation
  ) {
    expectError(Self.scenario(step, before: before), at: 2, column, part, location)
  }

  @Test func exampleIsRead() throws {
    let scenario = try parse(
      """
      {"name": "move against cancel", "devices": ["a", "b"], "steps": [
        {"on": "a", "do": "send", "session": "s", "id": "m1", "text": "one"},
        {"on": "a", "do": "send", "session": "s", "id": "m2", "text": "two"},
        {"do": "sync"},
        {"do": "offline", "devices": ["a", "b"]},
        {"on": "a", "do": "move", "message": "m2", "to": 1},
        {"on": "b", "do": "cancel", "message": "m2"},
        {"do": "online", "devices": ["a", "b"]}, {"do": "sync"},
        {"expect": {"on": "all", "queue": {"session": "s", "messages": ["m1"]}}},
        {"expect": {"on": "all", "equal": true}}]}
      """)
    #expect(scenario.name == "move against cancel")
    #expect(scenario.devices.map(\.name) == ["a", "b"])
    #expect(scenario.steps.count == 10)
    #expect(scenario.steps[6].position == TextPosition(line: 8, column: 3))
    guard case .expect(let expectation) = scenario.steps[8].action,
      case .queue(let session, let messages) = expectation.checks.first
    else { return #expect(Bool(false), "\(scenario.steps[8])") }
    #expect(expectation.observer == .all)
    #expect(session.name == "s" && messages.map(\.name) == ["m1"])
  }

  @Test func unknownVerbsAreNamedWithTheirPlace() {
    expectStepError(#"{"on": "a", "do": "sned"}"#, at: 19, "\"sned\" is not a verb of a device")
    expectStepError(#"{"do": "synch"}"#, at: 8, "\"synch\" is not a verb")
    expectStepError(#"{"do": "edit"}"#, at: 8, "name it with \"on\"")
    expectStepError(#"{"on": "a", "do": "sync"}"#, at: 19, "is not a verb of a device")
    expectStepError(#"{"on": "a", "do": 7}"#, at: 19, "must be a string, not a number")
    expectStepError(#"{"on": "a"}"#, at: 1, "needs \"do\" or \"expect\"")
    expectStepError(#"["sync"]"#, at: 1, "must be an object, not an array")
  }

  @Test func unknownFieldsAreNamedWithTheirPlace() {
    expectStepError(
      #"{"on": "a", "do": "clear", "session": "s", "sesion": 1}"#, at: 44, "no field \"sesion\"")
    expectStepError(#"{"do": "sync", "on ": "a"}"#, at: 16, "no field \"on \"")
    expectStepError(
      #"{"expect": {"on": "all", "equals": true}}"#, at: 26, "no field \"equals\"")
    expectStepError(
      #"{"expect": {"on": "all", "equal": true}, "do": "sync"}"#, at: 42, "no field \"do\"")
    expectStepError(
      #"{"expect": {"on": "a", "queue": {"session": "s", "messages": [], "x": 1}}}"#, at: 66,
      "\"queue\" has no field \"x\"")
    expectError(
      "{\"name\": \"n\", \"devices\": [\"a\"],\n \"step\": []}", at: 1, 1,
      "lacks the field \"steps\"")
    expectError(
      "{\"name\": \"n\", \"devices\": [\"a\"],\n \"steps\": [],\n  \"sede\": 1}", at: 3, 3,
      "no field \"sede\"")
  }

  @Test func missingFieldsAndWrongTypesAreNamed() {
    expectStepError(
      #"{"on": "a", "do": "edit", "text": "x"}"#, at: 1, "lacks the field \"message\"")
    expectStepError(#"{"on": "a", "do": "cancel"}"#, at: 1, "lacks the field \"message\"")
    expectStepError(#"{"do": "advance", "ms": "5"}"#, at: 25, "must be a number, not a string")
    expectStepError(#"{"do": "advance", "ms": 1.5}"#, at: 25, "whole number")
    expectStepError(#"{"do": "advance", "ms": -1}"#, at: 25, "whole number from 0")
    expectStepError(#"{"do": "advance", "ms": 99999999999999999999}"#, at: 25, "whole number")
    expectStepError(#"{"do": "offline", "devices": "a"}"#, at: 30, "must be an array")
    expectStepError(#"{"do": "offline", "devices": []}"#, at: 30, "is empty")
    expectStepError(#"{"do": "offline", "devices": ["a", "a"]}"#, at: 36, "occurs twice")
    expectStepError(#"{"do": "offline", "devices": [null]}"#, at: 31, "must be a string, not null")
    expectStepError(
      #"{"on": "a", "do": "send", "session": "s", "id": "x", "text": "t", "urgent": 1}"#, at: 77,
      "must be true or false")
    expectStepError(
      #"{"on": "a", "do": "send", "session": "  ", "id": "x", "text": "t"}"#, at: 38, "session id")
    expectStepError(
      #"{"on": "a", "do": "priority", "message": "m1", "value": "high"}"#, at: 57,
      "\"normal\" or \"urgent\"")
    expectStepError(
      #"{"on": "a", "do": "move", "message": "m1", "to": 1, "after": "m1"}"#, at: 1,
      "exactly one of")
    expectStepError(#"{"on": "a", "do": "move", "message": "m1"}"#, at: 1, "exactly one of")
    expectStepError(#"{"on": "", "do": "undo"}"#, at: 8, "1 to 4096 bytes")
    expectStepError(#"{"expect": {"on": "all"}}"#, at: 12, "expects nothing")
    expectStepError(#"{"expect": {"equal": true}}"#, at: 12, "lacks the field \"on\"")
    expectStepError(
      #"{"expect": {"on": "a", "status": {"message": "m1", "value": "done"}}}"#, at: 61,
      "must be a status")
    expectStepError(
      #"{"do": "restore", "device": "server", "label": "l", "method": "memory"}"#, at: 1,
      "no \"method\"")
  }

  @Test func unknownLabelsAreNamedWithTheirPlace() {
    expectStepError(#"{"on": "c", "do": "undo"}"#, at: 8, "no device \"c\"")
    expectStepError(#"{"on": "a", "do": "cancel", "message": "m9"}"#, at: 40, "no message \"m9\"")
    expectStepError(#"{"on": "a", "do": "clear", "session": "t"}"#, at: 39, "no session \"t\"")
    expectStepError(
      #"{"on": "a", "do": "move", "message": "m1", "before": "m7"}"#, at: 54, "no message \"m7\"")
    expectStepError(#"{"do": "sync", "devices": ["a", "z"]}"#, at: 33, "no device \"z\"")
    expectStepError(
      #"{"do": "restore", "device": "a", "label": "old"}"#, at: 43, "no backup \"old\" of a")
    expectStepError(
      #"{"do": "restore", "device": "b", "label": "old"}"#, at: 43, "no backup \"old\" of b",
      before: [#"{"do": "backup", "device": "a", "label": "old"}"#])
    expectStepError(
      #"{"do": "backup", "device": "a", "label": "old"}"#, at: 42, "already a backup \"old\" of a",
      before: [#"{"do": "backup", "device": "a", "label": "old"}"#])
    expectStepError(#"{"do": "clone", "device": "a", "as": "b"}"#, at: 38, "already a device \"b\"")
    expectStepError(#"{"do": "clone", "device": "a", "as": "all"}"#, at: 38, "a special meaning")
    expectStepError(
      #"{"expect": {"on": "a", "queue": {"session": "s", "messages": ["m2"]}}}"#, at: 63,
      "no message \"m2\"")
    expectError(
      #"{"name": "n", "devices": ["server"], "steps": []}"#, at: 1, 27, "a special meaning")
    expectError(#"{"name": "n", "devices": ["a", "a"], "steps": []}"#, at: 1, 32, "occurs twice")
    expectError(#"{"name": "n", "devices": [], "steps": []}"#, at: 1, 1, "1 to 50 devices")
  }

  @Test func devicesThatAreDownDoNothing() {
    let crash = [#"{"do": "crash", "devices": ["a"]}"#]
    expectStepError(#"{"on": "a", "do": "undo"}"#, at: 8, "has crashed", before: crash)
    expectStepError(#"{"do": "sync", "devices": ["a"]}"#, at: 28, "not online", before: crash)
    expectStepError(#"{"do": "crash", "devices": ["a"]}"#, at: 29, "has crashed", before: crash)
    expectStepError(
      #"{"do": "restart", "devices": ["b"]}"#, at: 31, "has not crashed", before: crash)
    expectStepError(
      #"{"expect": {"on": "a", "error": "x"}}"#, at: 19, "has crashed", before: crash)
    expectStepError(
      #"{"do": "sync", "devices": ["b"]}"#, at: 28, "not online",
      before: [#"{"do": "offline", "devices": ["b"]}"#])
  }

  @Test func restartedDevicesHaveTheirState() throws {
    _ = try parse(
      Self.scenario(
        #"{"do": "sync", "devices": ["a"]}"#,
        before: [
          #"{"do": "crash", "devices": ["a"], "power": true}"#,
          #"{"do": "restart", "devices": ["a"]}"#,
        ]))
    expectStepError(
      #"{"do": "sync", "devices": ["a"]}"#, at: 28, "not online",
      before: [
        #"{"do": "offline", "devices": ["a"]}"#, #"{"do": "crash", "devices": ["a"]}"#,
        #"{"do": "restart", "devices": ["a"]}"#,
      ])
  }

  @Test func sessionsHaveOneSpelling() throws {
    _ = try parse(Self.scenario(#"{"on": "a", "do": "clear", "session": " S "}"#))
  }

  @Test func textsAreBounded() throws {
    let step = { (times: Int) in
      #"{"on": "a", "do": "edit", "message": "m1", "text": "abcd", "times": \#(times)}"#
    }
    let largest = ScenarioParser.textBytesMax / 4
    _ = try parse(Self.scenario(step(largest)))
    expectStepError(step(largest + 1), at: 52, "a text may have")
    expectStepError(step(0), at: 69, "whole number from 1")
  }

  @Test func randomRunsMayAskForNonsense() throws {
    let text = """
      {"name": "n", "devices": ["a"], "world": {"seed": 3, "latencyMs": [1, 2]}, "steps": [
       {"do": "crash", "devices": ["a"]}, {"on": "a", "do": "cancel", "message": "m9"},
       {"on": "a", "do": "clear", "session": "t", "wait": 12}]}
      """
    let scenario = try parse(text)
    #expect(scenario.world == ScenarioWorld(seed: 3, latencyMilliseconds: 1...2))
    #expect(scenario.steps.last?.wait == 12)
    expectError(
      text.replacing("[1, 2]", with: "[2, 1]"), at: 1, 71, "whole number from 2")
  }

  @Test func labelsHaveFixedIDs() {
    // Changing these changes what every scenario file does.
    #expect(LabelTable.id(of: "m1").description == "f9556926-0b5e-8e5b-a967-8a125fde2cac")
    #expect(LabelTable.id(of: "").description == "c3817c01-6ba4-8f30-abc0-810cc751a61b")
    let id = "0189c3a1-0000-7000-8000-00000000002a"
    #expect(LabelTable.id(of: id).description == id)
    let ids = Set((0..<10_000).map { LabelTable.id(of: "m\($0)") })
    #expect(ids.count == 10_000)
    var labels = LabelTable()
    let first = labels.note("first")
    #expect(labels.label(of: first) == "first")
    #expect(labels.label(of: LabelTable.id(of: "x")) == LabelTable.id(of: "x").description)
  }
}
