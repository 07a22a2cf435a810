import Basics
import QueueModel

/// Reads scenario files. Every refusal has a line and a column.
enum ScenarioParser {
  typealias Label = Scenario.Label

  /// A scenario with texts at the limit of the model still fits.
  static let bytesMax = 16 << 20
  static let devicesMax = 50
  static let stepsMax = 100_000
  /// Bytes of a name, label or description.
  static let nameBytesMax = 4_096
  /// UTF-8 bytes of one text after repetition. The model accepts less, which scenarios can show.
  static let textBytesMax = 4 << 20
  /// About a thousand years.
  static let millisecondsMax: Int64 = 1 << 45

  static func parse(_ bytes: [UInt8]) throws(ScenarioError) -> Scenario {
    guard bytes.count <= bytesMax else {
      throw ScenarioError("the file is larger than \(bytesMax) bytes", at: .start)
    }
    let json: PositionedJSON
    do {
      json = try JSONReader.read(bytes)
    } catch {
      throw ScenarioError(error.message, at: error.position)
    }
    let scenario = try read(json)
    try ScenarioCheck.check(scenario)
    return scenario
  }

  private static func read(_ json: PositionedJSON) throws(ScenarioError) -> Scenario {
    var fields = try FieldReader(json, as: "the scenario")
    let name = try fields.required("name").name(as: "name")
    let description = try fields.optionalString("description")
    let world = try fields.optional("world").map { json throws(ScenarioError) in
      try conditions(json)
    }
    let devices = try fields.required("devices").distinctLabels(as: "devices")
    let list = try fields.required("steps")
    let elements = try list.array(as: "steps")
    try fields.finish()
    guard (1...devicesMax).contains(devices.count) else {
      throw fields.error("needs 1 to \(devicesMax) devices")
    }
    guard elements.count <= stepsMax else {
      throw ScenarioError("a scenario has at most \(stepsMax) steps", at: list.position)
    }
    var steps: [Scenario.Step] = []
    steps.reserveCapacity(elements.count)
    for element in elements { steps.append(try step(element)) }
    return Scenario(
      name: name, description: description, world: world, devices: devices, steps: steps)
  }

  private static func conditions(_ json: PositionedJSON) throws(ScenarioError) -> ScenarioWorld {
    var fields = try FieldReader(json, as: "\"world\"")
    var world = ScenarioWorld(seed: UInt64(try fields.integer("seed", in: 0...Int64.max)))
    world.latencyMilliseconds = try fields.range("latencyMs", max: 3_600_000)
    world.splitPercent = try fields.optionalInteger("splitPercent", in: 0...100)
    world.storeMilliseconds = try fields.range("storeMs", max: 3_600_000)
    world.catchUpEntriesMax = try fields.optionalInteger("catchUpEntriesMax", in: 0...1 << 30)
    world.snapshotEntries = try fields.optionalInteger("snapshotEntries", in: 1...1 << 30)
    world.partBytesMax = try fields.optionalInteger("partBytesMax", in: 64...1 << 20)
    world.queueSizeMax = try fields.optionalInteger("queueSizeMax", in: 1...1_000)
    world.drainMillisecondsMax = try fields.optionalInteger(
      "drainMs", in: 0...millisecondsMax
    ).map(Int64.init)
    world.runsAgents = try fields.boolean("agents", otherwise: false)
    world.machines.areAlone = try fields.boolean("alone", otherwise: false)
    world.machines.timersLateMax =
      try fields.optionalInteger("timersLateMs", in: 0...millisecondsMax).map(Int64.init) ?? 0
    world.hasQuickAgents = try fields.boolean("quickAgents", otherwise: false)
    world.raisesRequests = try fields.boolean("requests", otherwise: false)
    world.asksOutcomes = try fields.boolean("outcomes", otherwise: false)
    world.planted =
      try fields.optional("planted").map { json throws(ScenarioError) in
        try json.labels(as: "planted")
      } ?? []
    try fields.finish()
    return world
  }

  private static func step(_ json: PositionedJSON) throws(ScenarioError) -> Scenario.Step {
    var fields = try FieldReader(json, as: "the step")
    let wait = try fields.optional("wait").map { json throws(ScenarioError) in
      try json.integer(as: "wait", in: 0...millisecondsMax)
    }
    let action: Scenario.Action
    if let expectation = fields.optional("expect") {
      try fields.finish()
      action = .expect(try ExpectationParser.expectation(expectation))
    } else if let verb = fields.optional("do") {
      let name = try verb.string(as: "do")
      if let device = fields.optional("on") {
        action = .onDevice(
          try device.label(as: "on"),
          try DeviceVerbParser.verb(name, at: verb.position, json))
      } else {
        action = .inWorld(try WorldVerbParser.verb(name, at: verb.position, json))
      }
    } else {
      throw fields.error("needs \"do\" or \"expect\"")
    }
    return Scenario.Step(position: json.position, wait: wait ?? 0, action: action)
  }
}

/// The readers of the fields of verbs.
struct VerbTable<Verb: Sendable>: Sendable {
  typealias Reading = @Sendable (inout FieldReader) throws(ScenarioError) -> Verb

  /// The verbs' names in messages.
  let what: String
  let readings: [(name: String, read: Reading)]

  /// Reads the verb called `name` from the step's fields.
  func verb(
    _ name: String, at position: TextPosition, _ step: PositionedJSON, besides common: [String]
  ) throws(ScenarioError) -> Verb {
    guard let reading = readings.first(where: { $0.name == name }) else {
      let known = readings.map(\.name).joined(separator: ", ")
      throw ScenarioError("\"\(name)\" is not a \(what); there are \(known)", at: position)
    }
    var fields = try FieldReader(step, as: "\"\(name)\"")
    for key in common { _ = fields.optional(key) }
    let verb = try reading.read(&fields)
    try fields.finish()
    return verb
  }
}

// The small values of scenarios.
extension PositionedJSON {
  /// Text for users: not empty, and of limited length.
  func name(as key: String) throws(ScenarioError) -> String {
    let text = try string(as: key)
    guard !text.isEmpty, text.utf8.count <= ScenarioParser.nameBytesMax else {
      throw ScenarioError(
        "\"\(key)\" must have 1 to \(ScenarioParser.nameBytesMax) bytes", at: position)
    }
    return text
  }

  func label(as key: String) throws(ScenarioError) -> Scenario.Label {
    Scenario.Label(name: try name(as: key), position: position)
  }

  func labels(as key: String) throws(ScenarioError) -> [Scenario.Label] {
    var labels: [Scenario.Label] = []
    for element in try array(as: key) { labels.append(try element.label(as: key)) }
    return labels
  }

  /// Labels that must all be different.
  func distinctLabels(as key: String) throws(ScenarioError) -> [Scenario.Label] {
    let labels = try labels(as: key)
    var seen: Set<String> = []
    for label in labels where !seen.insert(label.name).inserted {
      throw ScenarioError("\"\(label)\" occurs twice in \"\(key)\"", at: label.position)
    }
    return labels
  }

  func session(as key: String) throws(ScenarioError) -> Scenario.Label {
    let label = try label(as: key)
    do {
      _ = try SessionID(label.name)
    } catch {
      throw ScenarioError("\(error)", at: position)
    }
    return label
  }
}

extension FieldReader {
  mutating func label(_ key: String) throws(ScenarioError) -> Scenario.Label {
    try required(key).label(as: key)
  }

  mutating func session() throws(ScenarioError) -> Scenario.Label {
    try required("session").session(as: "session")
  }

  /// One label under the singular key, or several under the plural one.
  mutating func oneOrMore(
    _ one: String, _ more: String
  ) throws(ScenarioError) -> [Scenario.Label] {
    if let several = optional(more) {
      guard !has(one) else { throw error("takes \"\(one)\" or \"\(more)\", not both") }
      let labels = try several.labels(as: more)
      guard !labels.isEmpty else {
        throw ScenarioError("\"\(more)\" is empty", at: several.position)
      }
      return labels
    }
    return [try label(one)]
  }

  /// A text, with "times" beside it if it is repeated.
  mutating func text(_ key: String) throws(ScenarioError) -> ScenarioText {
    let json = try required(key)
    let unit = try json.string(as: key)
    let times = try optional("times").map { json throws(ScenarioError) in
      try json.integer(as: "times", in: 1...Int64(ScenarioParser.textBytesMax))
    }
    let (bytes, overflow) = unit.utf8.count.multipliedReportingOverflow(by: Int(times ?? 1))
    guard !overflow, bytes <= ScenarioParser.textBytesMax else {
      throw ScenarioError(
        "a text may have \(ScenarioParser.textBytesMax) bytes here", at: json.position)
    }
    return ScenarioText(unit, times: Int(times ?? 1))
  }

  mutating func optionalInteger(
    _ key: String, in range: ClosedRange<Int64>
  ) throws(ScenarioError) -> Int? {
    try optional(key).map { json throws(ScenarioError) in
      Int(try json.integer(as: key, in: range))
    }
  }

  /// Two numbers, the smaller first.
  mutating func range(
    _ key: String, max: Int64
  ) throws(ScenarioError) -> ClosedRange<Int64>? {
    guard let json = optional(key) else { return nil }
    let elements = try json.array(as: key)
    guard elements.count == 2 else {
      throw ScenarioError("\"\(key)\" must hold two numbers", at: json.position)
    }
    let lower = try elements[0].integer(as: key, in: 0...max)
    return lower...(try elements[1].integer(as: key, in: lower...max))
  }

  /// A position counted from 1; the model decides whether the queue has it.
  mutating func position(_ key: String) throws(ScenarioError) -> Int {
    Int(try integer(key, in: -1_000_000...1_000_000))
  }
}
