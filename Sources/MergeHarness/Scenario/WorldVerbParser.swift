import Basics

/// The verbs of the world around the devices, and their fields.
enum WorldVerbParser {
  static func verb(
    _ name: String, at position: TextPosition, _ step: PositionedJSON
  ) throws(ScenarioError) -> WorldVerb {
    if DeviceVerbParser.table.readings.contains(where: { $0.name == name }),
      !table.readings.contains(where: { $0.name == name })
    {
      throw ScenarioError("\"\(name)\" happens on a device; name it with \"on\"", at: position)
    }
    return try table.verb(name, at: position, step, besides: ["do", "wait"])
  }

  static let table = VerbTable<WorldVerb>(
    what: "verb",
    readings: [
      (
        "sync",
        { fields throws(ScenarioError) in
          .sync(fields.has("devices") ? try devices(&fields) : nil)
        }
      ),
      ("settle", { _ throws(ScenarioError) in .settle }),
      ("offline", { fields throws(ScenarioError) in .offline(try devices(&fields)) }),
      ("online", { fields throws(ScenarioError) in .online(try devices(&fields)) }),
      ("connect", { fields throws(ScenarioError) in .connect(try devices(&fields)) }),
      (
        "drop-ack",
        { fields throws(ScenarioError) in
          .dropAcknowledgement(try devices(&fields))
        }
      ),
      ("cut", { fields throws(ScenarioError) in .cut(try devices(&fields)) }),
      (
        "partition",
        { fields throws(ScenarioError) in
          .partition(try devices(&fields), try choice("direction", &fields, otherwise: .both))
        }
      ),
      ("heal", { fields throws(ScenarioError) in .heal(try devices(&fields)) }),
      (
        "clog",
        { fields throws(ScenarioError) in
          .clog(try devices(&fields), milliseconds: try milliseconds("ms", &fields))
        }
      ),
      (
        "crash",
        { fields throws(ScenarioError) in
          .crash(
            try devices(&fields), losesPower: try fields.boolean("power", otherwise: false))
        }
      ),
      (
        "crash-at-commit",
        { fields throws(ScenarioError) in
          .crashAtCommit(try devices(&fields))
        }
      ),
      ("restart", { fields throws(ScenarioError) in .restart(try devices(&fields)) }),
      (
        "sleep",
        { fields throws(ScenarioError) in
          .sleep(try devices(&fields), milliseconds: try milliseconds("ms", &fields))
        }
      ),
      ("crash-server", { _ throws(ScenarioError) in .crashServer }),
      ("restart-server", { _ throws(ScenarioError) in .restartServer }),
      (
        "store",
        { fields throws(ScenarioError) in
          .store(try machine(&fields), try choice("value", &fields))
        }
      ),
      (
        "backup",
        { fields throws(ScenarioError) in
          .backup(try machine(&fields), label: try fields.label("label"))
        }
      ),
      ("restore", restore),
      (
        "clone",
        { fields throws(ScenarioError) in
          .clone(
            try fields.label("device"), as: try fields.label("as"),
            try choice("method", &fields, otherwise: .directory))
        }
      ),
      ("swap-servers", { _ throws(ScenarioError) in .swapServers }),
      (
        "clock",
        { fields throws(ScenarioError) in
          .clock(
            try machine(&fields),
            offsetMilliseconds: try fields.integer(
              "offsetMs", in: -ScenarioParser.millisecondsMax...ScenarioParser.millisecondsMax))
        }
      ),
      (
        "advance",
        { fields throws(ScenarioError) in
          .advance(milliseconds: try milliseconds("ms", &fields))
        }
      ),
    ] + hostReadings)

  private static func devices(
    _ fields: inout FieldReader
  ) throws(ScenarioError) -> [Scenario.Label] {
    let json = try fields.required("devices")
    let labels = try json.distinctLabels(as: "devices")
    guard !labels.isEmpty else {
      throw ScenarioError("\"devices\" is empty", at: json.position)
    }
    return labels
  }

  private static func machine(
    _ fields: inout FieldReader
  ) throws(ScenarioError) -> WorldVerb.Machine {
    let label = try fields.label("device")
    return label.name == "server" ? .server : .device(label)
  }

  private static func restore(_ fields: inout FieldReader) throws(ScenarioError) -> WorldVerb {
    let position = fields.position
    let machine = try machine(&fields)
    let label = try fields.label("label")
    let hasMethod = fields.has("method")
    let method: WorldVerb.Method = try choice("method", &fields, otherwise: .database)
    if hasMethod, machine == .server {
      throw ScenarioError("the server's backups have no \"method\"", at: position)
    }
    return .restore(machine, label: label, method)
  }

  private static func milliseconds(
    _ key: String, _ fields: inout FieldReader
  ) throws(ScenarioError) -> Int64 {
    try fields.integer(key, in: 0...ScenarioParser.millisecondsMax)
  }

  /// One of the names of an enumeration.
  static func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ key: String, _ fields: inout FieldReader, otherwise: Choice? = nil
  ) throws(ScenarioError) -> Choice {
    if let otherwise, !fields.has(key) {
      _ = fields.optional(key)
      return otherwise
    }
    let json = try fields.required(key)
    let name = try json.string(as: key)
    guard let choice = Choice(rawValue: name) else {
      let known = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw ScenarioError(
        "\"\(key)\" must be one of \(known), not \"\(name)\"", at: json.position)
    }
    return choice
  }
}
