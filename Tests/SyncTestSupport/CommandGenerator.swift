package import QueueModel
import SequenceCRDT

/// Draws commands of users on several devices, including ones that are refused.
package struct CommandGenerator {
  /// The contents that the editors of one device showed when they opened a message.
  package typealias OpenEditors = [MessageID: EditBase]

  private let weights: [(weight: Int, value: Kind)]
  private let sessions: [SessionID]
  /// All messages ever queued, on any device.
  private var messages: [MessageID] = []
  private var nextNumber: UInt64 = 1

  /// - Parameter executes: whether hosts also run messages, which cannot be undone.
  package init(sessionCount: Int = 4, executes: Bool = true) {
    weights =
      CommandGenerator.weights + (executes ? CommandGenerator.executionWeights : [])
    sessions = (1...max(sessionCount, 1)).map { .named("session-\($0)") }
  }

  /// The next command for a device in this state.
  package mutating func command(
    for workspace: Workspace, editors: inout OpenEditors, using generator: inout SeededGenerator
  ) -> Command {
    let kind = generator.pick(weighted: weights)
    let session = anySession(&generator)
    switch kind {
    case .addSession:
      return .addSession(
        session, name: generator.chance(50) ? name(&generator) : nil,
        project: generator.chance(50) ? name(&generator) : nil)
    case .renameSession: return .renameSession(session, name: name(&generator))
    case .deleteSession: return .deleteSession(session)
    case .archive: return generator.chance(70) ? .archive(session) : .unarchive(session)
    case .send: return send(to: session, &generator)
    case .edit: return edit(in: workspace, &editors, &generator)
    case .insertText: return insertText(in: workspace, &generator)
    case .deleteText: return deleteText(in: workspace, &generator)
    case .move: return move(in: workspace, &generator)
    case .cancel:
      return .cancel((0..<(1 + generator.below(2))).map { _ in anyMessage(workspace, &generator) })
    case .restore: return .restore(anyMessage(workspace, &generator))
    case .clear: return .clear(session)
    case .setPriority:
      return .setPriority(
        anyMessage(workspace, &generator), generator.chance(50) ? .urgent : .normal)
    case .attach:
      let count = 1 + generator.below(2)
      return .attach(
        anyMessage(workspace, &generator), (0..<count).map { _ in file(&generator) })
    case .detach: return .detach(anyMessage(workspace, &generator), [file(&generator).hash])
    case .pause: return .pause(session, reason: generator.chance(50) ? name(&generator) : nil)
    case .resume: return .resume(session)
    case .addThreads: return .addThreads([session])
    case .moveThread: return moveThread(session, &generator)
    case .removeThreads: return .removeThreads([session])
    case .clearThreads: return .clearThreads
    case .unlockThread: return .unlockThread(session)
    // A change that cannot be undone stays first until a user skips it.
    case .undo: return generator.chance(25) ? .undo(change: nil, skip: true) : .undo
    case .redo: return .redo
    case .reportRun: return report(in: workspace, &generator)
    case .reportTask: return task(of: session, &generator)
    case .retry: return .retry(anyMessage(workspace, &generator))
    case .skip: return .skip(anyMessage(workspace, &generator))
    case .setHost:
      return .setHost(
        session, generator.chance(80) ? DeviceID(high: 0xD, low: UInt64(generator.below(4))) : nil)
    case .wait:
      let time = generator.chance(60) ? Int64(generator.below(1_000_000)) : nil
      let message = anyMessage(workspace, &generator)
      switch generator.below(4) {
      case 0: return .setNotBefore(message, time)
      case 1: return .hold(message, until: time)
      case 2:
        let needs = (0..<generator.below(3)).map { _ in anyMessage(workspace, &generator) }
        return .setNeeds(message, needs)
      default:
        return .setLater(message, time.map { workspace.latestStamp.milliseconds + 60_000 + $0 })
      }
    }
  }

  /// A possible report of a host about an attempt, whatever device holds the lease.
  private func report(
    in workspace: Workspace, _ generator: inout SeededGenerator
  ) -> Command {
    let message = anyMessage(workspace, &generator)
    let attempts = (try? workspace.message(message).attempts) ?? 0
    return .reportRun(
      message,
      Run(
        token: UInt64(1 + generator.below(3)),
        attempt: UInt16(clamping: max(1, attempts + generator.below(2))),
        phase: generator.pick(RunPhase.allCases) ?? .running,
        milliseconds: Int64(generator.below(1_000_000)), note: name(&generator)))
  }

  /// A possible report of a host about its agent; half of them are refused, because they do not
  /// follow.
  private func task(
    of session: SessionID, _ generator: inout SeededGenerator
  ) -> Command {
    let request = RequestID(high: 0xA, low: UInt64(generator.below(5)))
    let text = String(repeating: name(&generator) + "\n\\", count: generator.below(400))
    let status: TaskStatus? = generator.pick([
      .idle, .processing(operation: nil), .processing(operation: name(&generator)),
      .processing(operation: nil), .completed(.success(summary: text)), .completed(.cancelled),
      .awaitingApproval(
        ApprovalRequest(id: request, toolName: "Bash", summary: name(&generator), details: text)),
      .awaitingAnswer(
        UserQuestion(id: request, question: text, options: [name(&generator), "no"])),
      .error(message: name(&generator)),
    ])
    return .reportTask(
      TaskReport(
        session: session, status: status ?? .idle, milliseconds: Int64(generator.below(1_000_000)),
        todoProgress: generator.chance(20) ? TodoProgress(completed: 1, total: 3) : nil,
        outcome: generator.chance(20)
          ? AskOutcome(request: request, ending: .allowed, device: DeviceID(high: 0xD, low: 1))
          : nil,
        token: generator.chance(50) ? UInt64(generator.below(4)) : nil))
  }

  private enum Kind {
    case addSession, renameSession, deleteSession, archive, send, edit, move, cancel, restore, clear
    case setPriority, pause, resume, moveThread, removeThreads, clearThreads, unlockThread
    case addThreads, insertText, deleteText, undo, redo, attach, detach
    case reportRun, retry, skip, setHost, wait, reportTask
  }

  private static let weights: [(weight: Int, value: Kind)] = [
    (4, .addSession), (3, .renameSession), (3, .deleteSession), (6, .archive), (24, .send),
    (24, .edit),
    (16, .move), (8, .cancel), (8, .restore), (2, .clear), (6, .setPriority), (4, .pause),
    (4, .resume), (8, .moveThread), (4, .removeThreads), (1, .clearThreads), (3, .unlockThread),
    (3, .addThreads),
    (10, .insertText), (8, .deleteText), (14, .undo), (8, .redo),
    (8, .attach), (6, .detach),
  ]

  private static let executionWeights: [(weight: Int, value: Kind)] = [
    (8, .reportRun), (4, .retry), (3, .skip), (2, .setHost), (4, .wait), (10, .reportTask),
  ]

  private static let texts = [
    "fix", "the failing test", "naïve", "e\u{301}té", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "a\u{0}b", "\u{202E}rtl\u{202C}",
    "line\nbreak", "שלום", "z", "tabs\tand  spaces",
  ]

  /// Moves one thread to a position, or two next to another one.
  private func moveThread(
    _ session: SessionID, _ generator: inout SeededGenerator
  ) -> Command {
    let others = sessions.filter { $0 != session }
    guard generator.chance(30), others.count > 1, let second = generator.pick(others),
      let neighbour = generator.pick(others.filter { $0 != second })
    else { return .moveThread(session, to: 1 + generator.below(sessions.count)) }
    return .moveThreads(
      [session, second], to: generator.chance(50) ? .before(neighbour) : .after(neighbour))
  }

  private mutating func send(to session: SessionID, _ generator: inout SeededGenerator) -> Command {
    var id = MessageID.numbered(nextNumber)
    nextNumber += 1
    // Sometimes, two devices queue under one id.
    if generator.chance(6), let used = generator.pick(messages) { id = used }
    messages.append(id)
    var send = Command.Send(
      session: session, id: id, text: name(&generator),
      priority: generator.chance(20) ? .urgent : .normal,
      project: generator.chance(10) ? name(&generator) : nil,
      requeuesThread: generator.chance(85))
    send.goesFirst = messages.count.isMultiple(of: 7)
    return .send(send)
  }

  /// Opens an editor, or saves text that was typed into one opened earlier, perhaps long ago.
  private func edit(
    in workspace: Workspace, _ editors: inout OpenEditors, _ generator: inout SeededGenerator
  ) -> Command {
    let message = anyMessage(workspace, &generator)
    let seen = (try? workspace.message(message).content) ?? ""
    let changed = edited(seen, &generator)
    switch generator.below(3) {
    case 0: return .edit(message, content: changed, base: nil)
    case 1: return .edit(message, content: changed, base: try? workspace.editBase(message))
    default:
      let base = editors[message]
      editors[message] = try? workspace.editBase(message)
      return .edit(message, content: changed, base: base)
    }
  }

  /// Types somewhere in a text, sometimes past its end.
  private func insertText(
    in workspace: Workspace, _ generator: inout SeededGenerator
  ) -> Command {
    let message = anyMessage(workspace, &generator)
    let count = (try? workspace.message(message).content.unicodeScalars.count) ?? 0
    return .insertText(
      message, at: generator.below(count + 1) + (generator.chance(3) ? 1 : 0),
      text: name(&generator))
  }

  private func deleteText(
    in workspace: Workspace, _ generator: inout SeededGenerator
  ) -> Command {
    let message = anyMessage(workspace, &generator)
    let count = (try? workspace.message(message).content.unicodeScalars.count) ?? 0
    let first = generator.below(count + 1)
    return .deleteText(message, first..<first + generator.below(4))
  }

  /// One of a few files; sometimes two names for the same bytes.
  private func file(_ generator: inout SeededGenerator) -> Attachment {
    let digit = generator.below(4)
    let name = generator.chance(10) ? "z" : "file \(digit)"
    let hash = ContentHash(String(repeating: String(digit), count: 64))
    guard let hash,
      let file = try? Attachment(hash: hash, name: name, mediaType: "image/png", size: digit + 1)
    else { preconditionFailure("file \(digit) is valid") }
    return file
  }

  /// The text with a range of scalars replaced.
  private func edited(_ text: String, _ generator: inout SeededGenerator) -> String {
    var scalars = Array(text.unicodeScalars)
    let first = generator.below(scalars.count + 1)
    let last = min(scalars.count, first + generator.below(4))
    let typed = generator.chance(75) ? Array(name(&generator).unicodeScalars.prefix(6)) : []
    scalars.replaceSubrange(first..<last, with: typed)
    return String(String.UnicodeScalarView(scalars))
  }

  private func move(in workspace: Workspace, _ generator: inout SeededGenerator) -> Command {
    let count = generator.pick(weighted: [(6, 1), (3, 2), (1, 3)])
    var moved: [MessageID] = []
    for _ in 0..<count {
      let message = anyMessage(workspace, &generator)
      if !moved.contains(message) { moved.append(message) }
    }
    let target: MoveTarget =
      switch generator.below(3) {
      case 0: .position(1 + generator.below(5))
      case 1: .before(anyMessage(workspace, &generator))
      default: .after(anyMessage(workspace, &generator))
      }
    return .move(moved, to: target)
  }

  /// Usually one that waits on this device; otherwise any that ever existed.
  private func anyMessage(
    _ workspace: Workspace, _ generator: inout SeededGenerator
  ) -> MessageID {
    if generator.chance(75) {
      let session = anySession(&generator)
      let waiting = (try? workspace.messageQueue(session))?.messages ?? []
      if let message = generator.pick(waiting) { return message.id }
    }
    return generator.pick(messages) ?? .numbered(0)
  }

  private func anySession(_ generator: inout SeededGenerator) -> SessionID {
    generator.pick(sessions) ?? .named("session-1")
  }

  private func name(_ generator: inout SeededGenerator) -> String {
    generator.pick(CommandGenerator.texts) ?? "text"
  }
}
