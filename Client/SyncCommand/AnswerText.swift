/// Text of a receipt: what was done, to how many, and where it stands now.
enum ReceiptText {
  static func text(
    of answer: Answer, done: String, unchanged: String = "unchanged", item: String? = nil
  ) throws -> String {
    let receipt = try answer.decoded(ReceiptAnswer.self)
    switch receipt.result {
    case "unchanged": return unchanged
    case "queued":
      return "\(done), position \(receipt.position ?? 0) of \(receipt.count ?? 0)"
    case "moved": return "\(done), position \(receipt.position ?? 0)"
    case "affected":
      let count = receipt.count ?? 0
      return item.map { "\(done) \(counted(count, $0))" } ?? "\(done) \(count)"
    default: return done
    }
  }

  static func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}

enum QueueText {
  /// So many digits of an id are shown at least.
  static let idDigitsMin = 8

  static func list(_ queue: QueueListAnswer, style: TextStyle) -> String {
    var lines: [String] = []
    if queue.paused {
      let reasons = (queue.pauseReasons ?? []).map(TextStyle.line).filter { !$0.isEmpty }
      let reason = reasons.isEmpty ? "" : ": " + reasons.joined(separator: "; ")
      lines.append(style.coloured("paused\(reason)", .yellow))
    }
    guard !queue.messages.isEmpty else {
      return (lines + ["nothing waits in \(TextStyle.line(queue.session))"])
        .joined(separator: "\n")
    }
    var table = TextTable(["#", "ID", "PRIORITY", "AGE", "DEVICE", "CONTENT"], numbers: [0, 3])
    let ids = shortened(queue.messages.map(\.id))
    table.rows = zip(queue.messages, ids).map { message, id in
      [
        .init("\(message.position)"), .init(id),
        .init(message.priority, message.priority == "urgent" ? .red : nil),
        .init(style.age(message.createdAt)), .init(message.device ?? "-"),
        .init(message.content),
      ]
    }
    return (lines + [table.text(style: style)]).joined(separator: "\n")
  }

  static func show(_ message: MessageAnswer, style: TextStyle) -> String {
    var fields = [
      ("id", message.id), ("session", message.session ?? ""), ("priority", message.priority),
      ("status", message.status),
    ]
    if message.position > 0 { fields.append(("position", "\(message.position)")) }
    fields.append(("created", "\(message.createdAt) (\(style.age(message.createdAt)))"))
    fields.append(("device", message.device ?? "not known yet"))
    if let project = message.project { fields.append(("project", project)) }
    if let attempts = message.attempts { fields.append(("attempts", "\(attempts)")) }
    if let error = message.lastError { fields.append(("last error", error)) }
    for file in message.attachments ?? [] {
      let size = ReceiptText.counted(file.size, "byte")
      fields.append(("file", "\(file.name) (\(file.mediaType), \(size))"))
    }
    return FieldText.text(of: fields, style: style) + "\n\n" + TextStyle.block(message.content)
  }

  /// The shortest beginnings that tell these ids apart.
  static func shortened(_ ids: [String]) -> [String] {
    var digits = idDigitsMin
    let longest = ids.map(\.count).max() ?? 0
    while digits < longest, Set(ids.map { $0.prefix(digits) }).count < Set(ids).count {
      digits += 1
    }
    return ids.map { String($0.prefix(digits)) }
  }
}

enum ThreadText {
  static func list(_ answer: ThreadListAnswer, showsLocked: Bool, style: TextStyle) -> String {
    guard answer.enabled ?? true else {
      return
        "the thread queue is off on this device; turn it on: cospool config set queueEnabled on"
    }
    let shown = answer.threads.filter { showsLocked || !$0.locked }
    let hidden = answer.threads.count - shown.count
    var lines: [String] = []
    if shown.isEmpty {
      lines.append("no thread needs you")
    } else {
      var table = TextTable(["#", "SESSION", "AGE", "STATE", "NAME", "PROJECT"], numbers: [0, 2])
      table.rows = shown.map { thread in
        [
          .init("\(thread.position)"), .init(thread.session), .init(style.age(thread.queuedAt)),
          thread.locked ? .init("locked", .dim) : .init("ready", .green),
          .init(thread.name == thread.session ? "" : thread.name), .init(thread.project),
        ]
      }
      lines.append(table.text(style: style))
    }
    if hidden > 0 {
      let note = "\(ReceiptText.counted(hidden, "locked thread")) hidden; --all shows them"
      lines.append(style.coloured(note, .dim))
    }
    return lines.joined(separator: "\n")
  }
}

enum SessionText {
  static func list(_ answer: SessionListAnswer, style: TextStyle) -> String {
    guard !answer.sessions.isEmpty else { return "no sessions yet" }
    var table = TextTable(
      ["SESSION", "WAITING", "THREAD", "STATE", "NAME", "PROJECT"], numbers: [1, 2])
    table.rows = answer.sessions.map { session in
      let states = [session.paused ? "paused" : nil, session.locked ? "locked" : nil]
      return [
        .init(session.id), .init("\(session.waiting)"),
        .init(session.threadPosition.map(String.init) ?? "-"),
        .init(states.compactMap { $0 }.joined(separator: ","), session.paused ? .yellow : .dim),
        .init(session.name == session.id ? "" : session.name), .init(session.project),
      ]
    }
    return table.text(style: style)
  }
}

/// Names and values under each other.
enum FieldText {
  static func text(of fields: [(name: String, value: String)], style: TextStyle) -> String {
    let width = (fields.map { TextStyle.columns($0.name) }.max() ?? 0) + 2
    return fields.map { field in
      let padding = String(repeating: " ", count: width - TextStyle.columns(field.name))
      return style.coloured(field.name, .dim) + padding + TextStyle.line(field.value)
    }.joined(separator: "\n")
  }
}
