/// The value of the register `task`: lines of a name, a space and a value; SPECIFICATION.md,
/// section "Tasks".
///
/// Reading never fails. Unknown names are skipped, and invalid values count as absent. A status
/// that cannot be read is `processing`, so that a busy agent is not taken for an idle one. Long
/// values are cut when they are written.
package struct TaskText: Hashable, Sendable {
  package var status: TaskStatus
  /// Milliseconds since 1970.
  package var start: Int64
  /// Milliseconds since 1970.
  package var milliseconds: Int64
  package var todo: TodoProgress?
  package var outcome: AskOutcome?
  /// The open requests other than the one in `status`, at most `Limits.taskRequestsMax - 1`.
  package var alsoAwaits: [TaskRequest]
  /// How many requests wait after those.
  package var moreRequests: Int

  package init(
    status: TaskStatus, start: Int64, milliseconds: Int64, todo: TodoProgress? = nil,
    outcome: AskOutcome? = nil, alsoAwaits: [TaskRequest] = [], moreRequests: Int = 0
  ) {
    self.status = status
    self.start = start
    self.milliseconds = milliseconds
    self.todo = todo
    self.outcome = outcome
    self.alsoAwaits = alsoAwaits
    self.moreRequests = moreRequests
  }

  /// All requests that it waits for.
  package var requests: [TaskRequest] { status.requests(beside: alsoAwaits) }
}

// MARK: - Writing

extension TaskText {
  /// The whole text. Short lines come first, so that the first piece holds the most important data.
  package var text: String {
    var lines = TaskLines()
    lines.add("status", status.kind.rawValue)
    lines.add("start", String(start))
    lines.add("at", String(milliseconds))
    if let outcome {
      let device = outcome.device.map { " \($0)" } ?? ""
      lines.add("outcome", "\(outcome.request) \(outcome.ending.rawValue)\(device)")
    }
    if let todo {
      let current = todo.currentTask.map { " " + $0.cut(toUTF8Bytes: Limits.taskNameBytesMax) }
      lines.add("todo", "\(todo.completed) \(todo.total)\(current ?? "")")
    }
    if status.request != nil, moreRequests > 0 { lines.add("more", String(moreRequests)) }
    addDetails(to: &lines)
    if status.request != nil {
      for request in alsoAwaits.prefix(Limits.taskRequestsMax - 1) {
        lines.add("also", TaskText.line(of: request))
      }
    }
    return lines.text
  }

  private func addDetails(to lines: inout TaskLines) {
    switch status {
    case .idle: break
    case .processing(let operation):
      lines.add("operation", operation, max: Limits.taskNameBytesMax)
    case .awaitingApproval(let request): lines.add(.approval(request), room: .first)
    case .awaitingAnswer(let question): lines.add(.question(question), room: .first)
    case .completed(.success(let summary)):
      lines.add("result", "success")
      lines.add("summary", summary, max: Limits.taskSummaryBytesMax)
    case .completed(.failure(let error)):
      lines.add("result", "failure")
      lines.add("error", error, max: Limits.taskSummaryBytesMax)
    case .completed(.cancelled):
      lines.add("result", "cancelled")
    case .error(let message):
      lines.add("error", message, max: Limits.taskSummaryBytesMax)
    }
  }

  /// A further open request; it has lines of its own, if there is room.
  private static func line(of request: TaskRequest) -> String {
    let rooms: [TaskLines.Room] = [.beside, .short]
    var text = ""
    for room in rooms {
      var lines = TaskLines()
      lines.add("status", request.status.kind.rawValue)
      lines.add(request, room: room)
      text = lines.text
      if TaskLines.escaped(text).utf8.count <= Limits.taskAlsoBytesMax { break }
    }
    return text
  }

  /// The values of the registers `RegisterField.taskPieces`, in their order; text that does not fit
  /// is cut off.
  package var pieces: [RegisterValue] {
    var pieces: [String] = []
    var piece = String.UnicodeScalarView()
    var bytes = 0
    for scalar in text.unicodeScalars {
      let count = UTF8.width(scalar)
      if bytes + count > Limits.nameBytesMax {
        pieces.append(String(piece))
        if pieces.count == RegisterField.taskPieces.count { break }
        (piece, bytes) = (String.UnicodeScalarView(), 0)
      }
      piece.append(scalar)
      bytes += count
    }
    if pieces.count < RegisterField.taskPieces.count { pieces.append(String(piece)) }
    return pieces.map(RegisterValue.text)
  }
}

/// The written form of lines.
private struct TaskLines {
  private(set) var text = ""

  /// The maximum length of a request's texts, in bytes, and of its options.
  struct Room {
    var name: Int
    var summary: Int
    var details: Int
    var options: Int

    static let first = Room(
      name: Limits.taskNameBytesMax, summary: Limits.taskSummaryBytesMax,
      details: Limits.taskDetailsBytesMax, options: Limits.taskOptionsMax)
    static let beside = Room(
      name: Limits.taskNameBytesMax, summary: Limits.taskNameBytesMax, details: 1_000,
      options: Limits.taskOptionsMax)
    static let short = Room(name: 80, summary: 80, details: 80, options: 0)
  }

  /// Adds the request; `cut 1` if it is not complete.
  mutating func add(_ request: TaskRequest, room: Room) {
    add("request", request.id.description)
    if let expiry = request.expiresAt { add("expires", String(expiry)) }
    var isCut = request.isCut
    func cut(_ text: String, _ max: Int, isMarked: Bool = false) -> String {
      isCut = isCut || text.utf8.count > max
      return isMarked ? text.cutWithMark(toUTF8Bytes: max) : text.cut(toUTF8Bytes: max)
    }
    switch request {
    case .approval(let request):
      let (tool, summary) = (
        cut(request.toolName, room.name), cut(request.summary, room.summary)
      )
      let details = request.details.map { cut($0, room.details, isMarked: true) }
      if isCut { add("cut", "1") }
      add("digest", request.digest?.description)
      add("tool", tool)
      add("summary", summary)
      add("details", details)
    case .question(let request):
      let question = cut(request.question, min(room.details, Limits.taskQuestionBytesMax))
      let options = request.options.prefix(room.options).map { cut($0, room.name) }
      if isCut || options.count < request.options.count { add("cut", "1") }
      add("question", question)
      for option in options { add("option", option) }
    }
  }

  /// Adds a line; nothing if the value is nil or empty.
  mutating func add(_ name: String, _ value: String?, max: Int = .max) {
    guard let value = value?.cut(toUTF8Bytes: max), !value.isEmpty else { return }
    if !text.isEmpty { text += "\n" }
    text += "\(name) \(TaskLines.escaped(value))"
  }

  /// The value as a line holds it.
  static func escaped(_ value: String) -> String {
    var text = String.UnicodeScalarView()
    // Scalars, because a line feed after a carriage return is not a separate character.
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\n": text.append(contentsOf: "\\n".unicodeScalars)
      case "\\": text.append(contentsOf: "\\\\".unicodeScalars)
      default: text.append(scalar)
      }
    }
    return String(text)
  }
}

// MARK: - Reading

extension TaskText {
  /// Reads a register; a number counts as an empty text.
  package init(_ value: RegisterValue) {
    if case .text(let text) = value { self.init(text: text) } else { self.init(text: "") }
  }

  /// The content of the lines.
  private struct Fields {
    var values: [String: String] = [:]
    var options: [String] = []
    var also: [String] = []

    init(_ text: String) {
      // Reads bytes, because every change to a workspace reads the tasks again.
      for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { continue }
        let name = String(Substring(line[..<space]))
        let value = TaskText.plain(Substring(line[line.index(after: space)...]))
        switch name {
        case "option": if options.count < Limits.taskOptionsMax { options.append(value) }
        case "also": if also.count < Limits.taskRequestsMax - 1 { also.append(value) }
        default: if values[name] == nil { values[name] = value }
        }
      }
    }
  }

  /// Reads the text.
  package init(text: String) {
    let fields = Fields(text)
    let values = fields.values
    milliseconds = values["at"].flatMap { Int64($0) } ?? 0
    start = values["start"].flatMap { Int64($0) } ?? milliseconds
    todo = values["todo"].flatMap(TodoProgress.init(text:))
    outcome = values["outcome"].flatMap(AskOutcome.init(text:))
    status = TaskText.status(fields)
    (alsoAwaits, moreRequests) = ([], 0)
    guard let first = status.request else { return }
    var known: Set<RequestID> = [first.id]
    for text in fields.also {
      guard let request = TaskText.status(Fields(text)).request,
        known.insert(request.id).inserted
      else { continue }
      alsoAwaits.append(request)
    }
    moreRequests = max(0, values["more"].flatMap { Int($0) } ?? 0)
  }

  private static func status(_ fields: Fields) -> TaskStatus {
    let values = fields.values
    let working = TaskStatus.processing(operation: values["operation"])
    let request = values["request"].flatMap { RequestID($0) }
    let expiry = values["expires"].flatMap { Int64($0) }
    let isCut = values["cut"] == "1"
    switch values["status"].flatMap(TaskStatus.Kind.init(rawValue:)) {
    case .idle: return .idle
    case .processing, nil: return working
    case .awaitingApproval:
      guard let request else { return working }
      return .awaitingApproval(
        ApprovalRequest(
          id: request, toolName: values["tool"] ?? "", summary: values["summary"] ?? "",
          details: values["details"], expiresAt: expiry, isCut: isCut,
          digest: values["digest"].flatMap(ContentHash.init)))
    case .awaitingAnswer:
      guard let request else { return working }
      return .awaitingAnswer(
        UserQuestion(
          id: request, question: values["question"] ?? "", options: fields.options,
          expiresAt: expiry, isCut: isCut))
    case .completed:
      switch values["result"] {
      case "success": return .completed(.success(summary: values["summary"]))
      case "cancelled": return .completed(.cancelled)
      // An unknown result does not count as success.
      default: return .completed(.failure(error: values["error"] ?? ""))
      }
    case .error: return .error(message: values["error"] ?? "")
    }
  }

  /// Removes the escapes of a value.
  private static func plain(_ value: Substring) -> String {
    let backslash = UInt8(ascii: "\\")
    guard value.utf8.contains(backslash) else { return String(value) }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in value.utf8 {
      if isEscaped {
        bytes.append(byte == UInt8(ascii: "n") ? UInt8(ascii: "\n") : byte)
        isEscaped = false
      } else if byte == backslash {
        isEscaped = true
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension TodoProgress {
  /// Reads `done all` or `done all current`.
  fileprivate init?(text: String) {
    let parts = text.unicodeScalars.split(
      separator: " ", maxSplits: 2, omittingEmptySubsequences: false
    ).map { String(String.UnicodeScalarView($0)) }
    guard parts.count >= 2, let completed = Int(parts[0]), let total = Int(parts[1]),
      completed >= 0, total >= 0
    else { return nil }
    let current = parts.count > 2 ? parts[2] : ""
    self.init(
      completed: completed, total: total, currentTask: current.isEmpty ? nil : current)
  }
}

extension AskOutcome {
  /// Reads `ID ending` or `ID ending DEVICE`.
  fileprivate init?(text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let request = RequestID(parts[0]),
      let ending = Ending(rawValue: String(parts[1]))
    else { return nil }
    let device = parts.count > 2 ? DeviceID(parts[2]) : nil
    self.init(request: request, ending: ending, device: device)
  }
}
