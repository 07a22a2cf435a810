import Basics
import QueueModel

/// Writes scenarios as the parser reads them, one step in a line.
enum ScenarioWriter {
  static func text(of scenario: Scenario) -> String {
    var head: [(String, ScenarioJSON)] = [("name", .string(scenario.name))]
    if let description = scenario.description {
      head.append(("description", .string(description)))
    }
    if let world = scenario.world { head.append(("world", json(of: world))) }
    head.append(("devices", .labels(scenario.devices)))
    let lines = head.map { "  \(ScenarioJSON.member($0.0, $0.1))" }
    let steps = scenario.steps.map { "    \(json(of: $0).text)" }
    let list = steps.isEmpty ? "[]" : "[\n\(steps.joined(separator: ",\n"))\n  ]"
    return "{\n\(lines.joined(separator: ",\n")),\n  \"steps\": \(list)\n}\n"
  }

  private static func json(of world: ScenarioWorld) -> ScenarioJSON {
    var fields: [(String, ScenarioJSON)] = [("seed", .integer(Int64(clamping: world.seed)))]
    if let range = world.latencyMilliseconds { fields.append(("latencyMs", .range(range))) }
    if let percent = world.splitPercent { fields.append(("splitPercent", .integer(percent))) }
    if let range = world.storeMilliseconds { fields.append(("storeMs", .range(range))) }
    if let max = world.catchUpEntriesMax { fields.append(("catchUpEntriesMax", .integer(max))) }
    if let entries = world.snapshotEntries {
      fields.append(("snapshotEntries", .integer(entries)))
    }
    if let bytes = world.partBytesMax { fields.append(("partBytesMax", .integer(bytes))) }
    if let size = world.queueSizeMax { fields.append(("queueSizeMax", .integer(size))) }
    if let drain = world.drainMillisecondsMax { fields.append(("drainMs", .integer(drain))) }
    if world.runsAgents { fields.append(("agents", .boolean(true))) }
    if world.hasQuickAgents { fields.append(("quickAgents", .boolean(true))) }
    if world.raisesRequests { fields.append(("requests", .boolean(true))) }
    if world.asksOutcomes { fields.append(("outcomes", .boolean(true))) }
    if world.machines.areAlone { fields.append(("alone", .boolean(true))) }
    if world.machines.timersLateMax > 0 {
      fields.append(("timersLateMs", .integer(world.machines.timersLateMax)))
    }
    if !world.planted.isEmpty { fields.append(("planted", .labels(world.planted))) }
    return .object(fields)
  }

  private static func json(of step: Scenario.Step) -> ScenarioJSON {
    var fields: [(String, ScenarioJSON)] = []
    if step.wait != 0 { fields.append(("wait", .integer(step.wait))) }
    switch step.action {
    case .onDevice(let device, let verb):
      let (name, more) = json(of: verb)
      fields += [("on", .label(device)), ("do", .string(name))] + more
    case .inWorld(let verb):
      let (name, more) = json(of: verb)
      fields += [("do", .string(name))] + more
    case .expect(let expectation):
      fields.append(("expect", json(of: expectation)))
    }
    return .object(fields)
  }

  private static func json(of expectation: Expectation) -> ScenarioJSON {
    let observer: ScenarioJSON =
      switch expectation.observer {
      case .all: .string("all")
      case .device(let label): .label(label)
      }
    return .object([("on", observer)] + expectation.checks.map(json(of:)))
  }

  private static func json(of check: Expectation.Check) -> (String, ScenarioJSON) {
    switch check {
    case .queue(let session, let messages):
      ("queue", .object([("session", .label(session)), ("messages", .labels(messages))]))
    case .threads(let sessions):
      ("threads", .labels(sessions))
    case .text(let message, let content):
      ("text", .object([("message", .label(message))] + ScenarioJSON.fields("content", content)))
    case .status(let message, let value):
      ("status", .object([("message", .label(message)), ("value", .string(value))]))
    case .paused(let session, let value):
      ("paused", .object([("session", .label(session)), ("value", .boolean(value))]))
    case .error(let code):
      ("error", .string(code))
    case .equal(let value):
      ("equal", .boolean(value))
    }
  }
}

/// JSON in one line.
struct ScenarioJSON {
  var text: String

  static func member(_ key: String, _ value: ScenarioJSON) -> String {
    "\(PositionedJSON.quoted(key)): \(value.text)"
  }

  static func object(_ fields: [(String, ScenarioJSON)]) -> ScenarioJSON {
    ScenarioJSON(text: "{" + fields.map { member($0.0, $0.1) }.joined(separator: ", ") + "}")
  }

  static func string(_ text: String) -> ScenarioJSON {
    ScenarioJSON(text: PositionedJSON.quoted(text))
  }
  static func label(_ label: Scenario.Label) -> ScenarioJSON { string(label.name) }
  static func boolean(_ flag: Bool) -> ScenarioJSON { ScenarioJSON(text: "\(flag)") }
  static func integer(_ number: some BinaryInteger) -> ScenarioJSON {
    ScenarioJSON(text: "\(number)")
  }

  static func labels(_ labels: [Scenario.Label]) -> ScenarioJSON {
    ScenarioJSON(text: "[" + labels.map { label($0).text }.joined(separator: ", ") + "]")
  }

  static func range(_ range: ClosedRange<Int64>) -> ScenarioJSON {
    ScenarioJSON(text: "[\(range.lowerBound), \(range.upperBound)]")
  }

  static func fields(_ key: String, _ text: ScenarioText) -> [(String, ScenarioJSON)] {
    [(key, .string(text.unit))] + (text.times == 1 ? [] : [("times", .integer(text.times))])
  }
}
