package import QueueModel
package import SequenceCRDT

/// The views as the contract describes them, computed from scratch at each call.
extension SlowState {
  package func exists(_ key: SessionID) -> Bool {
    sessions[key]?.tags[.exists]?.holds ?? false
  }

  package func isLive(_ message: MessageID) -> Bool {
    messages[message]?.tags[.live]?.holds ?? false
  }

  /// The keys of all sessions that are not deleted, in order.
  package var existingSessions: [SessionID] { sessions.keys.filter(exists).sorted() }

  /// The latest attempt at a message and its phase, from the fence of its register `run`. nil
  /// before the first attempt.
  private func run(of message: MessageID) -> (attempt: UInt64, phase: UInt64)? {
    guard let fence = messages[message]?.registers[.run]?.stamp.rawValue else { return nil }
    return (fence >> 8 & 0xffff, fence & 0xff)
  }

  /// The latest attempt at a message, from 1; 0 before that.
  func attempt(of message: MessageID) -> UInt64 { run(of: message)?.attempt ?? 0 }

  /// The decision about the latest attempt, if there is one; true continues without it.
  private func decision(about message: MessageID) -> Bool? {
    guard let run = run(of: message), (4...6).contains(run.phase) else { return nil }
    // The register that attempts order, then the one that was used before.
    for number in [UInt8(135), 8] {
      if case .number(let value)? = messages[message]?.registers[RegisterField(rawValue: number)]?
        .value, value >> 1 == run.attempt
      {
        return value & 1 == 1
      }
    }
    return nil
  }

  /// Whether the message is in its queue, if its session exists: the agent has it, or it is live
  /// and neither done nor skipped.
  package func stands(_ message: MessageID) -> Bool {
    guard let run = run(of: message) else { return isLive(message) }
    switch run.phase {
    case 4...6: return isLive(message) && decision(about: message) != true
    case 7: return isLive(message)
    case 8: return false
    default: return true
    }
  }

  /// The status of the message.
  package func status(of message: MessageID) -> MessageStatus {
    let waits = stands(message) && (messages[message].map { exists($0.session) } ?? false)
    let idle: MessageStatus = waits ? .queued : .cancelled
    guard let run = run(of: message) else { return idle }
    switch (run.phase, decision(about: message)) {
    case (8, _): return .succeeded
    case (7, _): return idle
    case (4...6, true?): return .skipped
    case (4...6, false?): return idle
    case (4, nil): return waits ? .unknown : .cancelled
    case (5, nil): return waits ? .interrupted : .cancelled
    case (6, nil): return waits ? .failed : .cancelled
    default: return .running
    }
  }

  /// The waiting messages of a session: those that were tried, urgent ones, normal ones, each by
  /// slot.
  package func effectiveOrder(of key: SessionID) -> [MessageID] {
    guard exists(key), let session = sessions[key] else { return [] }
    let waiting = session.slots.order().compactMap { slot -> MessageID? in
      guard let message = session.slotOwners[slot], messages[message]?.position.slot == slot,
        stands(message)
      else { return nil }
      return message
    }
    func block(_ message: MessageID) -> Int {
      run(of: message) != nil ? 0 : priority(of: message) == .urgent ? 1 : 2
    }
    return (0...2).flatMap { number in waiting.filter { block($0) == number } }
  }

  /// All threads in the queue in order, locked ones too.
  package var threadOrder: [SessionID] {
    threadSlots.order().compactMap { slot in
      guard let key = threadSlotOwners[slot], let session = sessions[key],
        session.threadPosition?.slot == slot, exists(key), session.tags[.queued]?.holds ?? false
      else { return nil }
      return key
    }
  }

  package func priority(of message: MessageID) -> Priority {
    guard case .number(let number)? = messages[message]?.registers[.priority]?.value,
      let raw = UInt8(exactly: number)
    else { return .normal }
    return Priority(rawValue: raw) ?? .normal
  }

  /// The time before which a user does not want the message.
  func later(of message: MessageID) -> Int64? {
    guard case .number(let number)? = messages[message]?.registers[.later]?.value, number > 0 else {
      return nil
    }
    return Int64(clamping: number)
  }

  /// The first message in line at a time: no waiting one that is wanted later, or waits for others.
  package func inLine(of key: SessionID, by time: Int64) -> MessageID? {
    effectiveOrder(of: key).first { id in
      status(of: id) != .queued || later(of: id) ?? 0 <= time && unmetNeeds(of: id).isEmpty
    }
  }

  /// The addition whose text is the message's content.
  package func shownAddition(of message: MessageID) -> OperationID? {
    messages[message]?.additions.min { ($0.value.stamp, $0.key) < ($1.value.stamp, $1.key) }?.key
  }

  /// The text of a message's letters; its content may be another text.
  package func letters(of message: MessageID) -> String {
    guard let shown = shownAddition(of: message),
      let addition = messages[message]?.additions[shown]
    else { return "" }
    return addition.text
  }

  /// The session's name, or its id if none was given.
  package func name(of key: SessionID) -> String {
    let name = text(.name, of: key)
    return name.isEmpty ? key.rawValue : name
  }

  /// The session's project path, empty if none was given.
  package func project(of key: SessionID) -> String { text(.project, of: key) }

  /// Whether its messages start if their text was merged.
  package func runsMerged(_ key: SessionID) -> Bool { text(.onMerge, of: key) == "run" }

  package func isPaused(_ key: SessionID) -> Bool { sessions[key]?.tags[.paused]?.holds ?? false }

  /// Whether lists leave the session out: all that holds it there says so, and nothing in it waits, works or asks.
  package func isArchived(_ key: SessionID) -> Bool {
    let holding = sessions[key]?.tags[.exists]?.holding ?? []
    guard !holding.isEmpty, holding.allSatisfy({ $0.note == "archived" }) else { return false }
    let works: Bool =
      switch task(of: key)?.status {
      case .processing, .awaitingApproval, .awaitingAnswer: true
      case .idle, .completed, .error, nil: false
      }
    return !works && effectiveOrder(of: key).isEmpty && !threadOrder.contains(key)
  }

  package func isLocked(_ key: SessionID) -> Bool { sessions[key]?.tags[.locked]?.holds ?? false }

  /// When the thread was queued: the later of the latest requeue and the register.
  package func queuedAt(of key: SessionID) -> Int64 {
    let requeue = sessions[key]?.enqueued
    let written = sessions[key]?.registers[.queuedAt]
    if let written, case .number(let milliseconds) = written.value,
      requeue.map({ (written.stamp, written.writer) > ($0.stamp, $0.slot) }) ?? true
    {
      return Int64(clamping: milliseconds)
    }
    return requeue?.stamp.milliseconds ?? 0
  }

  /// The reasons of the present pauses, in the order of their tags.
  package func pauseReasons(of key: SessionID) -> [String] {
    (sessions[key]?.tags[.paused]?.holding ?? []).map(\.note).filter { !$0.isEmpty }
  }

  /// The names of a message's files: the notes of the present tags, parsed by hand.
  package func attachmentNames(of id: MessageID) -> [String] {
    var names: [String: String] = [:]
    let notes = (messages[id]?.tags[.attachment]?.holding ?? []).map(\.note)
    for note in notes.sorted(by: { $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars) })
    {
      let words = note.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
      guard Attachment(note: note) != nil, names[String(words[0])] == nil else { continue }
      names[String(words[0])] = String(words[3])
    }
    return names.sorted { left, right in
      (Array(left.value.utf8), Array(left.key.utf8)).0.elementsEqual(Array(right.value.utf8))
        ? left.key < right.key
        : left.value.unicodeScalars.lexicographicallyPrecedes(right.value.unicodeScalars)
    }.map(\.value)
  }

  /// The task of the session's agent: the pieces that were written together with the first one.
  package func task(of key: SessionID) -> TaskState? {
    guard let registers = sessions[key]?.registers,
      let first = registers[RegisterField(rawValue: 129)]
    else { return nil }
    var whole = ""
    for number in UInt8(129)...134 {
      guard let piece = registers[RegisterField(rawValue: number)],
        piece.stamp == first.stamp, piece.writer.replica == first.writer.replica,
        case .text(let text) = piece.value
      else { break }
      whole += text
    }
    return TaskState(TaskText(text: whole), session: key, project: project(of: key))
  }

  /// The attempts before an import, and those since.
  private func attempts(of id: MessageID) -> Int {
    let here = Int(run(of: id)?.attempt ?? 0)
    guard case .number(let number)? = messages[id]?.registers[.attempts]?.value else { return here }
    return Int(clamping: number.addingReportingOverflow(UInt64(here)).partialValue)
  }

  /// Why the latest attempt did not succeed; nil if the engine chooses the words.
  private func error(of id: MessageID) -> String? {
    guard let run = run(of: id) else { return text(.lastError, of: id) }
    guard (4...6).contains(run.phase) else { return "" }
    guard case .text(let value)? = messages[id]?.registers[.run]?.value,
      let space = value.firstIndex(of: " "), space < value.index(before: value.endIndex)
    else { return nil }
    return String(value[value.index(after: space)...])
  }

  private func text(_ field: RegisterField, of id: MessageID) -> String {
    guard case .text(let text)? = messages[id]?.registers[field]?.value else { return "" }
    return text
  }

  private func text(_ field: RegisterField, of key: SessionID) -> String {
    guard case .text(let text)? = sessions[key]?.registers[field]?.value else { return "" }
    return text
  }
}

extension SlowState.Addition {
  /// The visible scalars.
  package var text: String {
    var view = String.UnicodeScalarView()
    for id in scalars.order() where !deleted.contains(id) {
      if let scalar = characters[id] { view.append(scalar) }
    }
    return String(view)
  }
}

/// Compares the engine's views with the oracle's, down to the last scalar.
extension SlowState {
  /// Every difference between the engine's views and the oracle's, as text; empty if there are
  /// none.
  package func differences(from workspace: Workspace) -> [String] {
    var report = DifferenceReport()
    report.check("vector", workspace.vector, vector)
    compareThreads(with: workspace, &report)
    compareSessions(with: workspace, &report)
    for key in sessions.keys.sorted() { compareQueue(of: key, with: workspace, &report) }
    compareMessages(with: workspace, &report)
    return report.lines
  }

  private func compareThreads(with workspace: Workspace, _ report: inout DifferenceReport) {
    let shown = workspace.threadQueue()
    let order = threadOrder
    report.check("thread queue", shown.threads.map(\.session), order)
    for (index, thread) in shown.threads.enumerated() {
      let key = thread.session
      report.check("position of thread \(key)", thread.position, index + 1)
      report.check(text: "name of thread \(key)", thread.name, name(of: key))
      report.check(text: "project of thread \(key)", thread.project, project(of: key))
      report.check("lock of thread \(key)", thread.locked, isLocked(key))
      report.check(
        "queuedAt of thread \(key)", thread.queuedAt, queuedAt(of: key))
    }
    report.check("ready threads", shown.ready.map(\.session), order.filter { !isLocked($0) })
  }

  private func compareSessions(with workspace: Workspace, _ report: inout DifferenceReport) {
    let shown = workspace.sessions()
    report.check("sessions", shown.map(\.id), existingSessions)
    let threads = threadOrder
    for session in shown {
      let key = session.id
      report.check(text: "name of \(key)", session.name, name(of: key))
      report.check(text: "project of \(key)", session.project, project(of: key))
      report.check("pause of \(key)", session.paused, isPaused(key))
      report.check("waiting of \(key)", session.waiting, effectiveOrder(of: key).count)
      report.check("lock of \(key)", session.locked, isLocked(key))
      report.check("task of \(key)", session.task, task(of: key))
      report.check("archive of \(key)", session.archived, isArchived(key))
      report.check("onMerge of \(key)", session.onMerge == .run, runsMerged(key))
      report.check(
        "thread position of \(key)", session.threadPosition,
        threads.firstIndex(of: key).map { $0 + 1 })
    }
  }

  private func compareQueue(
    of key: SessionID, with workspace: Workspace, _ report: inout DifferenceReport
  ) {
    do {
      let queue = try workspace.messageQueue(key)
      report.check("existence of \(key)", true, exists(key))
      report.check("queue of \(key)", queue.messages.map(\.id), effectiveOrder(of: key))
      report.check("pause of queue \(key)", queue.paused, isPaused(key))
      report.check("pause reasons of \(key)", queue.pauseReasons, pauseReasons(of: key))
      for (index, message) in queue.messages.enumerated() {
        compare(message, position: index + 1, &report)
      }
    } catch {
      report.check("existence of \(key) (\(error))", false, exists(key))
    }
  }

  private func compareMessages(with workspace: Workspace, _ report: inout DifferenceReport) {
    for (id, message) in messages {
      let position = effectiveOrder(of: message.session).firstIndex(of: id).map { $0 + 1 } ?? 0
      guard position == 0 else { continue }
      do {
        compare(try workspace.message(id), position: 0, &report)
      } catch {
        report.check("message \(id)", "\(error)", "shown")
      }
    }
  }

  private func compare(
    _ view: MessageView, position: Int, _ report: inout DifferenceReport
  ) {
    let id = view.id
    report.check(text: "content of \(id)", view.content, content(of: id))
    report.check("session of \(id)", view.session, messages[id]?.session)
    report.check("priority of \(id)", view.priority, priority(of: id))
    report.check("status of \(id)", view.status, status(of: id))
    report.check("later of \(id)", view.later, later(of: id))
    report.check("needs of \(id)", view.needs, needs(of: id))
    report.check("position of \(id)", view.position, position)
    let shown = shownAddition(of: id)
    let addition = shown.flatMap { messages[id]?.additions[$0] }
    report.check("createdAt of \(id)", view.createdAt, addition?.stamp.milliseconds)
    let announcement = shown.flatMap { announcements[$0.replica] }
    report.check("device of \(id)", view.device?.id, announcement?.device)
    report.check("device name of \(id)", view.device?.name, announcement?.name)
    report.check("attachments of \(id)", view.attachments.map(\.name), attachmentNames(of: id))
    report.check("project of \(id)", view.project ?? "", text(.project, of: id))
    if let error = error(of: id) {
      report.check(text: "error of \(id)", view.lastError ?? "", error)
    }
    report.check("attempts of \(id)", view.attempts, attempts(of: id))
    func plain(_ versions: [MessageVersion]) -> [Version] {
      versions.map { Version(text: $0.text, device: $0.device, time: $0.savedAt) }
    }
    report.check("versions of \(id)", plain(view.versions), versions(of: id))
    report.check("late versions of \(id)", plain(view.lateVersions), lateVersions(of: id))
    report.check("merging of \(id)", view.isMerged, isMerged(id))
  }
}

/// Collects differences as lines of text.
struct DifferenceReport {
  private(set) var lines: [String] = []

  mutating func check<Value: Equatable>(_ what: String, _ engine: Value, _ oracle: Value) {
    if engine != oracle { lines.append("\(what): engine \(engine), oracle \(oracle)") }
  }

  /// Texts are equal only if their scalars are; `String` equates canonical equivalents.
  mutating func check(text what: String, _ engine: String, _ oracle: String) {
    if !engine.utf8.elementsEqual(oracle.utf8) {
      lines.append(
        "\(what): engine \(engine.unicodeScalars.map(\.value)) “\(engine)”, "
          + "oracle \(oracle.unicodeScalars.map(\.value)) “\(oracle)”")
    }
  }
}
