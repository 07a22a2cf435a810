import Basics
import QueueModel

/// The verbs of devices and their fields.
enum DeviceVerbParser {
  static func verb(
    _ name: String, at position: TextPosition, _ step: PositionedJSON
  ) throws(ScenarioError) -> DeviceVerb {
    try table.verb(name, at: position, step, besides: ["on", "do", "wait"])
  }

  static let table = VerbTable<DeviceVerb>(
    what: "verb of a device",
    readings: [
      ("send", send),
      (
        "edit",
        { fields throws(ScenarioError) in
          .edit(
            try fields.label("message"), try fields.text("text"),
            againstOpened: try fields.boolean("opened", otherwise: false))
        }
      ),
      ("open", { fields throws(ScenarioError) in .open(try fields.label("message")) }),
      (
        "insert-text",
        { fields throws(ScenarioError) in
          .insertText(
            try fields.label("message"), at: try offset(&fields), try fields.text("text"))
        }
      ),
      (
        "delete-text",
        { fields throws(ScenarioError) in
          .deleteText(
            try fields.label("message"), at: try offset(&fields),
            count: Int(try fields.integer("count", in: 0...Int64(ScenarioParser.textBytesMax))))
        }
      ),
      ("move", move),
      (
        "cancel",
        { fields throws(ScenarioError) in
          .cancel(try fields.oneOrMore("message", "messages"))
        }
      ),
      ("restore", { fields throws(ScenarioError) in .restore(try fields.label("message")) }),
      ("clear", { fields throws(ScenarioError) in .clear(try fields.session()) }),
      (
        "priority",
        { fields throws(ScenarioError) in
          .priority(try fields.label("message"), try priority(&fields))
        }
      ),
      (
        "pause",
        { fields throws(ScenarioError) in
          .pause(try fields.session(), reason: try fields.optionalString("reason"))
        }
      ),
      ("resume", { fields throws(ScenarioError) in .resume(try fields.session()) }),
      (
        "thread-move",
        { fields throws(ScenarioError) in
          .threadMove(try fields.oneOrMore("session", "sessions"), try place(&fields))
        }
      ),
      (
        "thread-add",
        { fields throws(ScenarioError) in
          .threadAdd(try fields.oneOrMore("session", "sessions"))
        }
      ),
      (
        "thread-remove",
        { fields throws(ScenarioError) in
          .threadRemove(try fields.oneOrMore("session", "sessions"))
        }
      ),
      ("thread-clear", { _ throws(ScenarioError) in .threadClear }),
      (
        "thread-unlock",
        { fields throws(ScenarioError) in
          .threadUnlock(try fields.session())
        }
      ),
      (
        "session-add",
        { fields throws(ScenarioError) in
          .sessionAdd(
            try fields.session(), name: try fields.optionalString("name"),
            project: try fields.optionalString("project"))
        }
      ),
      (
        "session-rename",
        { fields throws(ScenarioError) in
          .sessionRename(try fields.session(), name: try fields.string("name"))
        }
      ),
      (
        "session-delete",
        { fields throws(ScenarioError) in
          .sessionDelete(try fields.session())
        }
      ),
      (
        "session-archive", { fields throws(ScenarioError) in .sessionArchive(try fields.session()) }
      ),
      (
        "session-unarchive",
        { fields throws(ScenarioError) in .sessionUnarchive(try fields.session()) }
      ),
      ("host", host),
      (
        "on-merge",
        { fields throws(ScenarioError) in
          .onMerge(try fields.session(), try mergePolicy(&fields))
        }
      ),
      ("retry", { fields throws(ScenarioError) in .retry(try fields.label("message")) }),
      ("skip", { fields throws(ScenarioError) in .skip(try fields.label("message")) }),
      (
        "hold",
        { fields throws(ScenarioError) in
          .hold(try fields.label("message"), until: try time(&fields))
        }
      ),
      (
        "not-before",
        { fields throws(ScenarioError) in
          .notBefore(try fields.label("message"), try time(&fields))
        }
      ),
      (
        "later",
        { fields throws(ScenarioError) in
          .later(try fields.label("message"), try time(&fields))
        }
      ),
      (
        "needs",
        { fields throws(ScenarioError) in
          .needs(try fields.label("message"), try needs(&fields))
        }
      ),
      ("undo", { _ throws(ScenarioError) in .undo }),
      ("undo-skip", { _ throws(ScenarioError) in .undoSkip }),
      ("redo", { _ throws(ScenarioError) in .redo }),
    ])

  private static func send(_ fields: inout FieldReader) throws(ScenarioError) -> DeviceVerb {
    .send(
      DeviceVerb.Send(
        session: try fields.session(), id: try fields.label("id"),
        text: try fields.text("text"),
        isUrgent: try fields.boolean("urgent", otherwise: false),
        project: try fields.optionalString("project"),
        requeuesThread: try fields.boolean("requeues", otherwise: true),
        later: try time(&fields), goesFirst: try fields.boolean("first", otherwise: false),
        needs: try needs(&fields)))
  }

  private static func host(_ fields: inout FieldReader) throws(ScenarioError) -> DeviceVerb {
    .host(
      try fields.session(), number: try fields.optionalInteger("number", in: 1...1_000))
  }

  /// Milliseconds since 1970.
  private static func time(_ fields: inout FieldReader) throws(ScenarioError) -> Int64? {
    try fields.optional("timeMs").map { json throws(ScenarioError) in
      try json.integer(as: "timeMs", in: 0...Int64.max)
    }
  }

  /// The messages that a message waits for; none without the field.
  private static func needs(
    _ fields: inout FieldReader
  ) throws(ScenarioError) -> [Scenario.Label] {
    try fields.optional("needs")?.labels(as: "needs") ?? []
  }

  private static func move(_ fields: inout FieldReader) throws(ScenarioError) -> DeviceVerb {
    .move(try fields.oneOrMore("message", "messages"), try place(&fields))
  }

  private static func place(
    _ fields: inout FieldReader
  ) throws(ScenarioError) -> DeviceVerb.Place {
    let places = ["to", "before", "after"].filter { fields.has($0) }
    guard places.count == 1, let place = places.first else {
      throw fields.error("takes exactly one of \"to\", \"before\" and \"after\"")
    }
    for other in ["to", "before", "after"] where other != place { _ = fields.optional(other) }
    switch place {
    case "to": return .to(try fields.position("to"))
    case "before": return .before(try fields.label("before"))
    default: return .after(try fields.label("after"))
    }
  }

  private static func offset(_ fields: inout FieldReader) throws(ScenarioError) -> Int {
    Int(try fields.integer("at", in: 0...Int64(ScenarioParser.textBytesMax)))
  }

  private static func mergePolicy(
    _ fields: inout FieldReader
  ) throws(ScenarioError) -> MergePolicy {
    let json = try fields.required("value")
    let name = try json.string(as: "value")
    guard let policy = MergePolicy(rawValue: name) else {
      let known = MergePolicy.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
      throw ScenarioError("\"value\" must be \(known), not \"\(name)\"", at: json.position)
    }
    return policy
  }

  private static func priority(_ fields: inout FieldReader) throws(ScenarioError) -> Priority {
    let json = try fields.required("value")
    let name = try json.string(as: "value")
    guard let priority = Priority.allCases.first(where: { $0.name == name }) else {
      let known = Priority.allCases.map { "\"\($0.name)\"" }.joined(separator: " or ")
      throw ScenarioError("\"value\" must be \(known), not \"\(name)\"", at: json.position)
    }
    return priority
  }
}
