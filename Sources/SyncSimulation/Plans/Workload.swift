import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT

/// Draws commands of users, including ones that are refused.
///
/// Every typed text begins with a scalar of a private use area that no other text has. These
/// *marks* survive merging, cutting and new operation ids, so that a checker can detect a loss or a
/// duplicate.
struct Workload {
  /// The elements for which a run's commands compete.
  enum Pattern {
    /// A mix of everything.
    case human
    /// All devices move messages to the front of one queue.
    case head
    /// All devices insert after the same message.
    case gap
    /// Long texts, pasted and cut.
    case hugeText
    /// Few messages are sent, many are cancelled and cleared.
    case emptyQueues
    /// Mostly the thread queue.
    case threads
    /// Many messages are sent for hosts to run; a user who looks continues stopped queues.
    case batches

    /// The patterns from which a run draws; `batches` is useful only if messages are run.
    static let drawn: [Pattern] = [.human, .head, .gap, .hugeText, .emptyQueues, .threads]
  }

  enum Kind: CaseIterable {
    case addSession, renameSession, deleteSession, send, open, edit, move, cancel, restore, clear
    case setPriority, pause, resume, moveThread, removeThreads, clearThreads, unlockThread
    case insertText, deleteText, undo, redo
    // Only if hosts run messages; after the others, so that those are drawn in the same way.
    case setHost, retry, skip, hold, setNotBefore, setOnMerge, setLater, setNeeds, archive,
      unarchive

    var needsHosts: Bool {
      switch self {
      case .setHost, .retry, .skip, .hold, .setNotBefore, .setOnMerge, .setLater, .setNeeds,
        .archive,
        .unarchive:
        true
      default: false
      }
    }
  }

  /// Each so many messages, one goes first and stops what its user sees running.
  static let interruptsEach = 7
  private static let marksFirst: UInt32 = 0xF_0000
  private static let words = [
    "fix", "the failing test", "naïve", "e\u{301}té", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "a\u{0}b", "\u{202E}rtl\u{202C}",
    "line\nbreak", "שלום", "z", "tabs\tand  spaces",
  ]

  private let sessions: [SessionID]
  private let pattern: Pattern
  private let weights: [(weight: Int, value: Kind)]
  private let longTextScalars: Int
  /// The number of first devices that may be hosts; 0 if nothing is run.
  private let hostCount: Int
  private var messages: [MessageID] = []
  private var nextMark: UInt32 = 0
  private var generator: SeededGenerator

  init(
    pattern: Pattern, sessionCount: Int, longTextScalars: Int, hostCount: Int = 0,
    generator: SeededGenerator
  ) {
    var generator = generator
    self.pattern = pattern
    self.longTextScalars = longTextScalars
    self.hostCount = hostCount
    sessions = (1...max(sessionCount, 1)).compactMap { try? SessionID("session-\($0)") }
    weights = Workload.weights(for: pattern, withHosts: hostCount > 0, using: &generator)
    self.generator = generator
  }

  /// Whether a scalar is a mark.
  static func isMark(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= marksFirst }

  static func mark(_ number: UInt32) -> String {
    Unicode.Scalar(marksFirst + number % 0xFFFE).map(String.init) ?? ""
  }

  /// Every run omits some kinds and favours others.
  private static func weights(
    for pattern: Pattern, withHosts: Bool, using generator: inout SeededGenerator
  ) -> [(weight: Int, value: Kind)] {
    var weights: [(weight: Int, value: Kind)] = []
    for kind in Kind.allCases where withHosts || !kind.needsHosts {
      var weight = usualWeight(of: kind)
      switch generator.below(6) {
      case 0: weight = 0
      case 1: weight *= 4
      default: break
      }
      weights.append((weight, kind))
    }
    for (kind, least) in favourites(of: pattern) + (withHosts ? [(.send, 40), (.setHost, 12)] : [])
    {
      for index in weights.indices where weights[index].value == kind {
        weights[index].weight = max(weights[index].weight, least)
      }
    }
    return weights
  }

  private static func usualWeight(of kind: Kind) -> Int {
    switch kind {
    case .send: 24
    case .edit: 20
    case .move: 16
    case .cancel, .restore, .moveThread, .open, .insertText, .undo, .setHost, .retry: 8
    case .setPriority, .setLater, .setNeeds, .archive: 6
    case .pause, .resume, .removeThreads, .addSession, .deleteText, .redo: 4
    case .renameSession, .deleteSession, .unlockThread, .skip, .hold, .setOnMerge: 3
    case .clear, .setNotBefore, .unarchive: 2
    case .clearThreads: 1
    }
  }

  /// The kinds that a pattern needs.
  private static func favourites(of pattern: Pattern) -> [(Kind, Int)] {
    switch pattern {
    case .human: [(.send, 20), (.edit, 10)]
    case .head, .gap: [(.send, 20), (.move, 60)]
    case .hugeText: [(.send, 15), (.edit, 60), (.open, 15)]
    case .emptyQueues: [(.send, 10), (.cancel, 30), (.clear, 20), (.restore, 20)]
    case .batches: [(.send, 600), (.retry, 60), (.resume, 60), (.setHost, 20), (.edit, 20)]
    case .threads: [(.send, 20), (.moveThread, 40), (.removeThreads, 15), (.unlockThread, 10)]
    }
  }

  // MARK: - Drawing

  /// The next command of a user on a device.
  mutating func action(on device: SimulatedDevice) -> UserAction? {
    guard let workspace = device.process?.core.replica.workspace else { return nil }
    // A user who waits for a connection sometimes undoes or redoes.
    if hostCount > 0, device.process?.core.apart() != nil, generator.chance(25) {
      return .command(
        generator.chance(70) ? .undo(change: nil, skip: false) : .redo(change: nil))
    }
    let session = anySession()
    switch generator.pick(weighted: weights) {
    case .addSession:
      return .command(
        .addSession(
          session, name: generator.chance(50) ? name() : nil,
          project: generator.chance(50) ? name() : nil))
    case .renameSession: return .command(.renameSession(session, name: name()))
    case .deleteSession: return .command(.deleteSession(session))
    case .send: return .command(.send(send(to: session, workspace)))
    case .open: return .open(anyMessage(workspace))
    case .edit: return edit(workspace, device)
    case .move: return .command(move(workspace))
    case .cancel:
      return .command(.cancel((0..<(1 + generator.below(2))).map { _ in anyMessage(workspace) }))
    case .restore: return .command(.restore(anyMessage(workspace)))
    case .clear: return .command(.clear(session))
    case .setPriority:
      return .command(
        .setPriority(anyMessage(workspace), generator.chance(50) ? .urgent : .normal))
    case .pause: return .command(.pause(session, reason: generator.chance(50) ? name() : nil))
    case .resume: return .command(.resume(session))
    case .moveThread:
      let place = pattern == .head ? 1 : 1 + generator.below(sessions.count)
      return .command(.moveThread(session, to: place))
    case .removeThreads: return .command(.removeThreads([session]))
    case .clearThreads: return .command(.clearThreads)
    case .unlockThread: return .command(.unlockThread(session))
    case .insertText: return insertion(workspace)
    case .deleteText: return deletion(workspace)
    case .undo: return .command(.undo(change: nil, skip: generator.chance(25)))
    case .redo: return .command(.redo(change: nil))
    case .setHost: return .command(.setHost(session, host(device)))
    case .retry: return .command(.retry(stopped(in: workspace)))
    case .skip: return .command(.skip(stopped(in: workspace)))
    case .hold: return .command(.hold(anyMessage(workspace), until: soon(workspace)))
    case .setNotBefore: return .command(.setNotBefore(anyMessage(workspace), soon(workspace)))
    case .setLater: return .command(.setLater(anyMessage(workspace), soon(workspace)))
    case .setNeeds:
      return .command(.setNeeds(anyMessage(workspace), needs(workspace)))
    case .setOnMerge:
      return .command(.setOnMerge(session, generator.chance(65) ? .run : .wait))
    case .archive: return .command(.archive(finished(in: workspace) ?? session))
    case .unarchive: return .command(.unarchive(session))
    }
  }

  /// Usually the device itself; sometimes another, or none.
  private mutating func host(_ device: SimulatedDevice) -> DeviceID? {
    switch generator.below(20) {
    case ..<12: return device.currentFiles.device
    case ..<19: return DeviceID(high: 0xD, low: UInt64(1 + generator.below(hostCount)))
    default: return nil
    }
  }

  /// A message that waits for a decision, if there is one.
  private mutating func stopped(in workspace: Workspace) -> MessageID {
    for session in sessions {
      let waiting = (try? workspace.messageQueue(session))?.messages ?? []
      if let stopped = waiting.first(where: { $0.status.standsInFront && $0.status != .running }) {
        return stopped.id
      }
    }
    return anyMessage(workspace)
  }

  /// A session in which nothing waits, if there is one.
  private mutating func finished(in workspace: Workspace) -> SessionID? {
    generator.pick(sessions.filter { workspace.session($0)?.waiting == 0 })
  }

  /// A time within a minute of the latest event, or none.
  private mutating func soon(_ workspace: Workspace) -> Int64? {
    guard generator.chance(80) else { return nil }
    return workspace.latestStamp.milliseconds + Int64(generator.below(60_000))
  }

  /// One message or several of any session, or none.
  private mutating func needs(_ workspace: Workspace) -> [MessageID] {
    (0..<generator.below(3)).map { _ in anyMessage(workspace) }
  }

  /// Typing, sometimes past the end of the text.
  private mutating func insertion(_ workspace: Workspace) -> UserAction {
    let message = anyMessage(workspace)
    let count = (try? workspace.message(message).content.unicodeScalars.count) ?? 0
    let place = generator.below(count + (generator.chance(5) ? 3 : 1))
    return .command(.insertText(message, at: place, text: text()))
  }

  private mutating func deletion(_ workspace: Workspace) -> UserAction {
    let message = anyMessage(workspace)
    let count = (try? workspace.message(message).content.unicodeScalars.count) ?? 0
    let first = generator.below(count + 1)
    let last = min(count + (generator.chance(5) ? 2 : 0), first + 1 + generator.below(6))
    return .command(.deleteText(message, first..<max(first, last)))
  }

  private mutating func send(to session: SessionID, _ workspace: Workspace) -> Command.Send {
    var id = MessageID(high: 0x4000, low: UInt64(messages.count + 1))
    // Sometimes, two devices queue under one id.
    if generator.chance(4), let used = generator.pick(messages) { id = used }
    messages.append(id)
    var send = Command.Send(
      session: session, id: id, text: text(), priority: generator.chance(15) ? .urgent : .normal,
      project: generator.chance(10) ? name() : nil, requeuesThread: generator.chance(85))
    if hostCount > 0, generator.chance(8) { send.later = soon(workspace) }
    if hostCount > 0, generator.chance(10) { send.needs = needs(workspace) }
    send.goesFirst = hostCount > 0 && messages.count.isMultiple(of: Self.interruptsEach)
    return send
  }

  /// Changes the content that the user sees: the current one, or that of the last `open`.
  private mutating func edit(_ workspace: Workspace, _ device: SimulatedDevice) -> UserAction {
    let message = anyMessage(workspace)
    if generator.chance(30), let opened = device.process?.editors[message] {
      return .edit(message, content: edited(opened.text), against: .opened)
    }
    let seen = (try? workspace.message(message).content) ?? ""
    return .edit(message, content: edited(seen), against: .current)
  }

  private mutating func edited(_ text: String) -> String {
    var scalars = Array(text.unicodeScalars)
    let first = generator.below(scalars.count + 1)
    let isLong = pattern == .hugeText && generator.chance(10)
    let span = isLong ? scalars.count : 5
    let last = min(scalars.count, first + generator.below(span + 1))
    let typed = generator.chance(75) ? Array(self.text().unicodeScalars) : []
    scalars.replaceSubrange(first..<last, with: typed)
    return String(String.UnicodeScalarView(scalars))
  }

  private mutating func move(_ workspace: Workspace) -> Command {
    let count = generator.pick(weighted: [(6, 1), (3, 2), (1, 3)])
    var moved: [MessageID] = []
    for _ in 0..<count {
      let message = anyMessage(workspace)
      if !moved.contains(message) { moved.append(message) }
    }
    switch pattern {
    case .head where generator.chance(80): return .move(moved, to: .position(1))
    case .gap where generator.chance(80):
      if let anchor = messages.first { return .move(moved, to: .after(anchor)) }
    default: break
    }
    let target: MoveTarget =
      switch generator.below(3) {
      case 0: .position(1 + generator.below(5))
      case 1: .before(anyMessage(workspace))
      default: .after(anyMessage(workspace))
      }
    return .move(moved, to: target)
  }

  /// Usually one that waits on this device; otherwise any that ever existed.
  private mutating func anyMessage(_ workspace: Workspace) -> MessageID {
    if generator.chance(80) {
      let waiting = (try? workspace.messageQueue(anySession()))?.messages ?? []
      if let message = generator.pick(waiting) { return message.id }
    }
    return generator.pick(messages) ?? MessageID(high: 0x4000, low: 0)
  }

  private mutating func anySession() -> SessionID {
    let meeting = pattern == .head || pattern == .gap
    if meeting, generator.chance(80) { return sessions[0] }
    return sessions[generator.below(sessions.count)]
  }

  /// A new mark and a word, or a long text if the run has such texts.
  private mutating func text() -> String {
    let mark = Workload.mark(nextMark)
    nextMark += 1
    let word = name()
    guard pattern == .hugeText, generator.chance(12) else { return mark + word }
    let count = 1 + generator.below(max(1, longTextScalars / max(1, word.unicodeScalars.count)))
    return mark + String(repeating: word, count: count)
  }

  private mutating func name() -> String {
    Workload.words[generator.below(Workload.words.count)]
  }
}
