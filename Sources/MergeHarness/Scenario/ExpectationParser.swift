import Basics
import QueueModel

/// Expectations and their fields.
enum ExpectationParser {
  static func expectation(_ json: PositionedJSON) throws(ScenarioError) -> Expectation {
    var fields = try FieldReader(json, as: "the expectation")
    let on = try fields.label("on")
    var checks: [Expectation.Check] = []
    for reading in readings {
      guard let json = fields.optional(reading.key) else { continue }
      checks.append(try reading.read(json))
    }
    try fields.finish()
    guard !checks.isEmpty else {
      let known = readings.map { "\"\($0.key)\"" }.joined(separator: ", ")
      throw fields.error("expects nothing; there are \(known)")
    }
    return Expectation(observer: on.name == "all" ? .all : .device(on), checks: checks)
  }

  private typealias Reading =
    @Sendable (PositionedJSON) throws(ScenarioError) -> Expectation.Check

  private static let readings: [(key: String, read: Reading)] = [
    (
      "queue",
      { json throws(ScenarioError) in
        var fields = try FieldReader(json, as: "\"queue\"")
        let check = Expectation.Check.queue(
          session: try fields.session(),
          try fields.required("messages").distinctLabels(as: "messages"))
        try fields.finish()
        return check
      }
    ),
    (
      "threads",
      { json throws(ScenarioError) in
        var sessions: [Scenario.Label] = []
        for element in try json.array(as: "threads") {
          sessions.append(try element.session(as: "threads"))
        }
        return .threads(sessions)
      }
    ),
    (
      "text",
      { json throws(ScenarioError) in
        var fields = try FieldReader(json, as: "\"text\"")
        let check = Expectation.Check.text(
          message: try fields.label("message"), try fields.text("content"))
        try fields.finish()
        return check
      }
    ),
    ("status", { json throws(ScenarioError) in try status(json) }),
    (
      "paused",
      { json throws(ScenarioError) in
        var fields = try FieldReader(json, as: "\"paused\"")
        let session = try fields.session()
        let value = try fields.required("value").boolean(as: "value")
        try fields.finish()
        return .paused(session: session, value)
      }
    ),
    ("error", { json throws(ScenarioError) in .error(try json.name(as: "error")) }),
    ("equal", { json throws(ScenarioError) in .equal(try json.boolean(as: "equal")) }),
  ]

  private static func status(_ json: PositionedJSON) throws(ScenarioError) -> Expectation.Check {
    var fields = try FieldReader(json, as: "\"status\"")
    let message = try fields.label("message")
    let value = try fields.required("value")
    let name = try value.string(as: "value")
    try fields.finish()
    guard MessageStatus(rawValue: name) != nil else {
      throw ScenarioError(
        "\"value\" must be a status of messages, such as \"queued\" or \"cancelled\", "
          + "not \"\(name)\"", at: value.position)
    }
    return .status(message: message, name)
  }
}
