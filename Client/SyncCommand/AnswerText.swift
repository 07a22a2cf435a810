import Basics
import LocalAPI
import QueueModel

/// Text of a receipt: what was done, to what, and its current state.
enum ReceiptText {
  /// The maximum number of messages that are named.
  private static let namedMax = 10

  /// - Parameter session: the session that was changed, if no message was.
  static func text(
    of answer: Answer, done: String, unchanged: String = "unchanged", item: String? = nil,
    session: String? = nil
  ) throws -> String {
    let receipt = try answer.decoded(ReceiptAnswer.self)
    let what =
      receipt.messages.map { " " + named($0) } ?? session.map { " " + TextStyle.line($0) } ?? ""
    switch receipt.result {
    case .unchanged: return unchanged
    case .queued:
      return "\(done)\(what), position \(receipt.position ?? 0) of \(receipt.count ?? 0)"
    case .moved: return "\(done)\(what), position \(receipt.position ?? 0)"
    case .affected where receipt.messages == nil:
      let count = receipt.count ?? 0
      let number = item.map { counted(count, $0) } ?? "\(count)"
      return "\(done) \(number)\(session.map { ": " + TextStyle.line($0) } ?? "")"
    case .affected, .done, .undone, .redone, .skipped, .imported: return done + what
    }
  }

  /// Messages by their text and session.
  static func named(_ messages: [ReceiptAnswer.Message]) -> String {
    let lines = messages.prefix(namedMax).map { message in
      "\"\(TextStyle.line(message.text))\" in \(TextStyle.line(message.session.rawValue))"
    }
    guard messages.count > 1 else { return lines.joined() }
    let more = messages.count > namedMax ? ["and \(messages.count - namedMax) more"] : []
    return "\(messages.count) messages:" + (lines + more).map { "\n  " + $0 }.joined()
  }

  static func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}

enum QueueText {
  /// The minimum number of shown digits of an id.
  static let idDigitsMin = 8

  /// - Parameter isOver: these messages no longer wait.
  static func list(_ queue: QueueAnswer, isOver: Bool = false, style: TextStyle) -> String {
    var lines: [String] = []
    if queue.paused, !isOver {
      var reasons: [String] = []
      for reason in queue.pauseReasons.map(TextStyle.line)
      where !reason.isEmpty && !reasons.contains(reason) { reasons.append(reason) }
      let reason = reasons.isEmpty ? "" : ": " + reasons.joined(separator: "; ")
      lines.append(style.coloured("paused\(reason)", .yellow))
    }
    if let error = queue.currentError, !isOver {
      lines.append(style.coloured("blocked: \(TextStyle.line(error))", .red))
      if let first = queue.messages.first {
        let quoted = Shell.quoted(String(first.id.description.prefix(idDigitsMin)))
        lines.append(
          style.coloured(
            "continue with: cospool queue retry \(quoted), or cospool queue skip \(quoted)", .dim))
      }
    }
    guard !queue.messages.isEmpty else {
      return (lines + ["nothing waits in \(TextStyle.line(queue.session.rawValue))"])
        .joined(separator: "\n")
    }
    var table = TextTable([
      .init(title: "#", isNumber: true, goes: isOver ? 4 : nil), .init(title: "ID", isName: true),
      .init(title: "PRIORITY", goes: 1),
      .init(title: "AGE", isNumber: true, goes: 2), .init(title: "DEVICE", goes: 3),
      .init(title: "CONTENT"),
    ])
    let ids = shortened(queue.messages.map(\.id.description))
    table.rows = zip(queue.messages, ids).map { message, id in
      [
        .init(isOver ? "" : "\(message.position)"), .init(id),
        .init(message.priority, message.priority == "urgent" ? .red : nil),
        .init(style.age(message.createdAt)),
        .init((message.device ?? "-") + (message.byAgent == true ? " (agent)" : "")),
        .init(content(message, style)),
      ]
    }
    lines.append(table.text(style: style))
    if let note = queue.note {
      let words = TextStyle.wrapped(TextStyle.line(note), toColumns: style.width ?? .max)
      lines += words.map { style.coloured($0, .dim) }
    }
    return lines.joined(separator: "\n")
  }

  /// The text of a message in a row. Its state, unless the message just waits, and the number of
  /// its files precede it.
  private static func content(_ message: MessageAnswer, _ style: TextStyle) -> String {
    let count = message.attachments?.count ?? 0
    let state = message.status == .queued ? "" : "[\(words(for: message))] "
    let status = state + (message.merged == true ? "[merged] " : "")
    let files = count == 0 ? "" : "(\(ReceiptText.counted(count, "file"))) "
    let need = message.waitsFor.map { "[\($0)] " } ?? ""
    return status + later(message, style) + need + delivery(message) + files + message.content
  }

  private static func words(for message: MessageAnswer) -> String {
    switch message.withdrawn {
    case nil: message.status.rawValue
    case .cancelled?: "\(message.status.rawValue), to be cancelled"
    case .stopping?: "stopping"
    case .hostAway?: "its device is away: it stops when it is back"
    }
  }

  /// The time before which it is not in line; nothing once that has passed.
  private static func later(_ message: MessageAnswer, _ style: TextStyle) -> String {
    message.later.flatMap(style.coming).map { "[not before \($0)] " } ?? ""
  }

  /// The place of a message that the server does not have. A message on its way counts as arrived:
  /// it has arrived when a user reads this.
  private static func delivery(_ message: MessageAnswer) -> String {
    switch message.delivery {
    case .here?: "[on this device only] "
    case .refused?: "[the server refused it] "
    default: ""
    }
  }

  static func show(_ message: MessageAnswer, style: TextStyle) -> String {
    var fields = [
      ("id", message.id.description), ("session", message.session?.rawValue ?? ""),
      ("priority", message.priority),
      ("status", message.status.rawValue),
    ]
    let end = "it counts as cancelled unless its agent succeeds"
    switch message.withdrawn {
    case .cancelled?: fields.append(("cancelled", "as it started: \(end)"))
    case .stopping?: fields.append(("stopped", "its agent is stopping: \(end)"))
    case .hostAway?:
      fields.append(("stopped", "its device is away, and stops its agent when it is back: \(end)"))
    case nil: break
    }
    if message.position > 0 { fields.append(("position", "\(message.position)")) }
    fields.append(("created", "\(message.createdAt) (\(style.age(message.createdAt)))"))
    fields.append(("device", message.device ?? "not known yet"))
    switch message.delivery {
    case .here?: fields.append(("delivery", "on this device only"))
    case .sending?: fields.append(("delivery", "on its way to the server"))
    case .refused?: fields.append(("delivery", "the server refused it"))
    case nil: break
    }
    if message.byAgent == true { fields.append(("queued by", "an agent on that device")) }
    if let project = message.project { fields.append(("project", project)) }
    if let time = [message.notBefore, message.later].compactMap({ $0 }).max().flatMap(style.coming)
    {
      fields.append(
        ("waits until", "\(time); to start it now: cospool queue start \(quoted(message))"))
    }
    if let need = message.waitsFor {
      let others = need.trimmingPrefix("waits ")
      fields.append(
        ("waits", "\(others); to start it now: cospool queue start \(quoted(message))"))
    }
    if let attempts = message.attempts { fields.append(("attempts", "\(attempts)")) }
    if let error = message.lastError { fields.append(("last error", error)) }
    for file in message.attachments ?? [] {
      let size = ReceiptText.counted(file.size, "byte")
      fields.append(("file", "\(file.name) (\(file.mediaType), \(size))"))
    }
    let text = FieldText.text(of: fields, style: style) + "\n\n" + TextStyle.block(message.content)
    return message.merged == true
      ? text + versions(of: message, style: style) : text + late(message, style: style)
  }

  /// The texts that were too late for its agent.
  private static func late(_ message: MessageAnswer, style: TextStyle) -> String {
    (message.late ?? []).map { version in
      let device = TextStyle.line(version.device ?? "a device that is not known yet")
      let title = "not sent, it came too late: by \(device), \(version.savedAt)"
      let text =
        version.text.map(TextStyle.block) ?? "\(version.bytes) bytes, which are too long to be kept"
      return "\n\n" + style.coloured(title, .yellow) + "\n" + text
    }.joined()
  }

  /// The name of a message on a command line.
  private static func quoted(_ message: MessageAnswer) -> String {
    Shell.quoted(String(message.id.description.prefix(idDigitsMin)))
  }

  /// The texts that were saved independently, and how to choose one.
  private static func versions(of message: MessageAnswer, style: TextStyle) -> String {
    let quoted = quoted(message)
    let next =
      message.status == .cancelled
      ? "it is cancelled. To bring it back: cospool queue restore \(quoted)"
      : "it waits until one is chosen, or starts with the merged text if its session has on-merge run: "
        + choices(of: message, quoted)
    var text =
      "\n\n" + style.coloured("merged from texts that were saved independently; \(next)", .yellow)
    for (index, version) in (message.editions ?? []).enumerated() {
      text += "\n\n" + style.coloured(title(of: version, number: index + 1), .dim) + "\n"
      text +=
        version.text.map(TextStyle.block)
        ?? "\(version.bytes) bytes, which are too long to be kept; it cannot be taken"
    }
    return text
  }

  /// The command that chooses a text, with the texts that can be chosen. A text that is too long is
  /// not kept, and nothing may be left of a merged text.
  private static func choices(of message: MessageAnswer, _ quoted: String) -> String {
    let seen = SeenVersions(of: message)
    let kept = (message.editions ?? []).firstIndex { $0.text != nil }
      .map { "--take " + seen.marked("\($0 + 1)") }
    let merged =
      message.content.allSatisfy(\.isWhitespace) ? nil : "--take " + seen.marked("merged")
    let takes = [kept, merged].compactMap(\.self)
    return takes.isEmpty
      ? "cospool queue edit \(quoted)"
      : "cospool queue resolve \(quoted) " + takes.joined(separator: ", or ")
  }

  /// The title of one of the texts.
  static func title(of version: EditionAnswer, number: Int) -> String {
    if let attempt = version.attempt {
      return "version \(number), what the agent of attempt \(attempt) got, \(version.savedAt)"
    }
    let device = TextStyle.line(version.device ?? "a device that is not known yet")
    return "version \(number), by \(device), \(version.savedAt)"
  }

  /// The shortest prefixes that distinguish these ids.
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
  private static let off =
    "the thread queue is off on this device. To turn it on: cospool config set queueEnabled on"

  private static func state(of thread: ThreadAnswer) -> TextTable.Cell {
    let (state, colour) = words(of: thread)
    // A thread that is visible for that reason shows it already.
    guard let merged = thread.merged, thread.lifted?.hasPrefix("merged") != true else {
      return .init(state, colour)
    }
    return .init("\(state), \(merged) merged", .yellow)
  }

  private static func words(of thread: ThreadAnswer) -> (String, TextStyle.Colour?) {
    if let awaits = thread.awaits { return ("wants \(awaits)", .yellow) }
    if let lifted = thread.lifted { return (lifted, .yellow) }
    if thread.locked { return ("locked", .dim) }
    return ("ready", .green)
  }

  static func list(_ answer: ThreadsAnswer, showsLocked: Bool, style: TextStyle) -> String {
    guard answer.enabled else { return off }
    let shown = answer.threads.filter { showsLocked || !$0.locked }
    let hidden = answer.threads.count - shown.count
    var lines: [String] = []
    if shown.isEmpty {
      lines.append("no thread needs you")
    } else {
      var table = TextTable([
        .init(title: "#", isNumber: true), .init(title: "SESSION", isName: true),
        .init(title: "AGE", isNumber: true, goes: 1), .init(title: "STATE"),
        .init(title: "NAME", goes: 2), .init(title: "PROJECT", goes: 3),
      ])
      table.rows = shown.map { thread in
        [
          .init("\(thread.position)"), .init(thread.session.rawValue),
          .init(style.age(thread.queuedAt)),
          state(of: thread),
          .init(thread.sessionName == thread.session.rawValue ? "" : thread.sessionName),
          .init(thread.project),
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

  static func visit(_ visit: ThreadVisitAnswer, style: TextStyle) -> String {
    guard let thread = visit.thread else { return "no thread needs you" }
    let name = thread.sessionName == thread.session.rawValue ? "" : ", \(thread.sessionName)"
    var fields = [("thread", thread.session.rawValue + name)]
    if !thread.project.isEmpty { fields.append(("project", thread.project)) }
    let age = style.age(thread.queuedAt)
    fields.append(("queued", age == "now" ? "now" : "\(age) ago"))
    fields.append(("waiting", ReceiptText.counted(visit.waiting, "message")))
    if visit.removed {
      fields.append(("removed", "from the thread queue; cospool undo brings it back"))
    }
    return FieldText.text(of: fields, style: style)
  }

  static func statistics(_ numbers: ThreadStatisticsAnswer, style: TextStyle) -> String {
    guard numbers.enabled else { return off }
    var fields = [
      (
        "threads",
        "\(numbers.count) in the queue, \(numbers.ready) ready, \(numbers.locked) locked"
      )
    ]
    if let oldest = numbers.oldestQueuedAt {
      let age = style.age(oldest)
      fields.append(("oldest", age == "now" ? "queued now" : "queued \(age) ago"))
    }
    if let review = numbers.reviewSeconds, let estimate = numbers.estimateSeconds {
      fields.append(
        (
          "to review",
          "about \(TextStyle.duration(seconds: estimate)), "
            + "\(TextStyle.duration(seconds: review)) each, "
            + "the median of your last \(numbers.reviews)"
        ))
    } else if numbers.ready > 0 {
      fields.append(("to review", "not known yet: answer a few threads first"))
    }
    return FieldText.text(of: fields, style: style)
  }
}

enum SessionText {
  static func list(_ sessions: [SessionAnswer], style: TextStyle) -> String {
    guard !sessions.isEmpty else { return "no sessions yet" }
    var table = TextTable([
      .init(title: "SESSION", isName: true), .init(title: "WAITING", isNumber: true),
      .init(title: "THREAD", isNumber: true, goes: 2), .init(title: "STATE"),
      .init(title: "HOST", goes: 1), .init(title: "AGENT", goes: 5),
      .init(title: "NAME", goes: 3), .init(title: "PROJECT", goes: 4),
    ])
    table.rows = sessions.map { session in
      let (state, colour) = OverviewText.words(of: session)
      return [
        .init(session.id.rawValue), .init("\(session.waiting)"),
        .init(session.threadPosition.map(String.init) ?? "-"), .init(state, colour),
        .init(session.hostName ?? "-"), .init(session.agent ?? ""),
        .init(session.name == session.id.rawValue ? "" : session.name), .init(session.project),
      ]
    }
    return table.text(style: style)
  }

  /// The labels of sessions: their names, and, if two have the same one, also the beginning of the
  /// id.
  static func names(of sessions: [SessionAnswer]) -> [String] {
    let beginnings = Dictionary(grouping: sessions, by: \.name).filter { $0.value.count > 1 }
      .mapValues { called in
        let ids = called.map(\.id.rawValue)
        return Dictionary(
          zip(ids, QueueText.shortened(ids)), uniquingKeysWith: { first, _ in first })
      }
    return sessions.map { session in
      let id = session.id.rawValue
      guard session.name != id, let beginning = beginnings[session.name]?[id] else {
        return session.name
      }
      return "\(session.name) (\(beginning))"
    }
  }
}

/// Names and values, one pair a line.
enum FieldText {
  struct Field {
    var name: String
    var value: String
    var colour: TextStyle.Colour?

    init(_ name: String, _ value: String, _ colour: TextStyle.Colour? = nil) {
      self.name = name
      self.value = value
      self.colour = colour
    }
  }

  static func text(of fields: [(name: String, value: String)], style: TextStyle) -> String {
    text(of: fields.map { Field($0.name, $0.value) }, style: style)
  }

  /// Values that are too long for the terminal continue below their beginning.
  static func text(of fields: [Field], style: TextStyle) -> String {
    let indent = (fields.map { CharacterWidth.columns($0.name) }.max() ?? 0) + 2
    return fields.flatMap { field in
      let value = TextStyle.line(field.value)
      let room = style.width.map { max(16, $0 - indent) }
      let lines = room.map { TextStyle.wrapped(value, toColumns: $0) } ?? [value]
      return lines.enumerated().map { index, line in
        let name = index == 0 ? field.name : ""
        let padding = String(repeating: " ", count: indent - CharacterWidth.columns(name))
        let shown = style.coloured(style.isolated(line), field.colour)
        return style.coloured(name, .dim) + padding + shown
      }
    }.joined(separator: "\n")
  }
}
