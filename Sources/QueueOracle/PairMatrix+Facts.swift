package import QueueModel

extension PairMatrix {
  /// A property of a result that the contract requires.
  package enum Fact: Hashable, Sendable {
    /// These messages wait in the session in this order; other messages are ignored.
    case order(session: String, [UInt64])
    /// The message waits in this session and in no other.
    case waits(UInt64, in: String)
    /// The message is cancelled.
    case cancelled(UInt64)
    /// The message has this text, whether it waits or not.
    case text(UInt64, String)
    /// The message waits with this priority.
    case priority(UInt64, Priority)
    /// The message is not in line before the time of this author; nil if it is in line.
    case later(UInt64, Int?)
    /// The message waits for these; the first list contains the ids in its register.
    case needs(UInt64, [UInt64], unmet: [UInt64])
    /// Whether the session exists, and whether it is paused.
    case session(String, exists: Bool)
    case paused(String, Bool)
    /// The thread queue, in order.
    case threads([String])
    /// The message has these files, by number.
    case files(UInt64, [Int])

    /// The difference, as text; nil if the fact holds.
    package func difference(in workspace: Workspace) -> String? {
      switch self {
      case .order(let session, let expected):
        let numbers = waiting(session, workspace).filter(expected.contains)
        return numbers == expected ? nil : "\(session) has \(numbers), not \(expected)"
      case .waits(let number, let session):
        let holders = ["s", "t", "u"].filter { waiting($0, workspace).contains(number) }
        return holders == [session] ? nil : "\(number) waits in \(holders), not in \(session)"
      case .cancelled(let number):
        let status = (try? workspace.message(message(number)))?.status
        return status == .cancelled ? nil : "\(number) is not cancelled"
      case .text(let number, let expected):
        let text = (try? workspace.message(message(number)))?.content
        return text == expected ? nil : "\(number) says \(text ?? "nothing"), not \(expected)"
      case .priority(let number, let expected):
        let priority = (try? workspace.message(message(number)))?.priority
        return priority == expected ? nil : "\(number) is not \(expected)"
      case .later(let number, let author):
        let later = (try? workspace.message(message(number)))?.later
        return later == author.map(PairMatrix.laterTime)
          ? nil : "\(number) is wanted at \(later ?? 0)"
      case .needs(let number, let named, let unmet):
        let needs = (try? workspace.message(message(number)))?.needs.map(\.low)
        let waits = workspace.unmetNeeds(of: message(number)).map(\.message.low)
        return needs == named && waits == unmet
          ? nil : "\(number) needs \(needs ?? []), and waits for \(waits)"
      case .session(let name, let exists):
        let isThere = (try? workspace.messageQueue(PairMatrix.session(name))) != nil
        return isThere == exists ? nil : "session \(name) \(isThere ? "exists" : "is gone")"
      case .paused(let name, let expected):
        let paused = (try? workspace.messageQueue(PairMatrix.session(name)))?.paused
        return paused == expected
          ? nil : "session \(name) is not \(expected ? "paused" : "running")"
      case .threads(let expected):
        let names = workspace.threadQueue().threads.map(\.session.rawValue)
        return names == expected ? nil : "threads \(names), not \(expected)"
      case .files(let number, let expected):
        let names = (try? workspace.message(message(number)))?.attachments.map(\.name)
        return names == expected.map { "file \($0)" }
          ? nil : "\(number) has \(names ?? []), not \(expected)"
      }
    }

    private func waiting(_ session: String, _ workspace: Workspace) -> [UInt64] {
      let queue = try? workspace.messageQueue(PairMatrix.session(session))
      return (queue?.messages ?? []).map(\.id.low)
    }
  }

  /// The facts of an ordered pair; the second author has the later clock.
  static func facts(of first: String, _ second: String) -> [Fact] {
    let names: Set = [first, second]
    if let facts = symmetric[names] { return facts }
    return ordered[first]?[second] ?? []
  }

  /// Results of two equal actions, or results that do not depend on the clocks.
  private static let symmetric: [Set<String>: [Fact]] = [
    ["insert a batch in the middle"]: [
      .order(session: "s", [1, 2]), .order(session: "s", [100, 101, 110, 111]),
    ],
    ["insert at end"]: [
      .waits(100, in: "s"), .waits(110, in: "s"), .order(session: "s", [100, 110]),
    ],
    ["add with the same key"]: [.waits(50, in: "s")],
    ["move by one"]: [.order(session: "s", [1, 3, 2, 4])],
    ["move behind a target", "move the target"]: [
      .waits(1, in: "s"), .waits(3, in: "s"), .order(session: "s", [3, 2, 1, 4]),
    ],
    ["move behind a target", "remove the target"]: [
      .cancelled(3), .order(session: "s", [2, 1, 4]),
    ],
    ["move by one", "remove"]: [.cancelled(2), .order(session: "s", [1, 3, 4])],
    ["move to the end", "remove"]: [.cancelled(2), .order(session: "s", [1, 3, 4])],
    ["move to another queue", "remove"]: [.cancelled(2)],
    ["move by one", "clear"]: [.cancelled(2), .order(session: "s", [])],
    ["remove"]: [.cancelled(2), .order(session: "s", [1, 3, 4])],
    ["set urgent", "move by one"]: [
      .priority(2, .urgent), .order(session: "s", [2, 1, 3, 4]),
    ],
    ["set urgent", "remove"]: [.cancelled(2)],
    ["want later", "remove"]: [.cancelled(2)],
    ["let it wait for another"]: [.needs(2, [3], unmet: [3])],
    // The message that was queued first does not wait.
    ["let it wait for another", "let the other wait for it"]: [
      .needs(2, [3], unmet: []), .needs(3, [2], unmet: [2]),
    ],
    ["let it wait for another", "remove"]: [.cancelled(2)],
    ["let it wait for another", "remove the target"]: [.needs(2, [3], unmet: [3])],
    ["let it wait for another", "want later"]: [.needs(2, [3], unmet: [3])],
    ["let it wait for another", "replace the text"]: [.needs(2, [3], unmet: [3])],
    ["let it wait for another", "move to another queue"]: [
      .needs(2, [3], unmet: [3]), .waits(2, in: "t"),
    ],
    ["let it wait for another", "move the target"]: [.needs(2, [3], unmet: [3])],
    ["want later", "replace the text"]: [.waits(2, in: "s")],
    ["restore"]: [.waits(6, in: "s")],
    ["restore", "restore and remove again"]: [.waits(6, in: "s")],
    ["restore", "clear"]: [.waits(6, in: "s"), .cancelled(1), .cancelled(4)],
    ["clear"]: [.cancelled(1), .cancelled(2), .cancelled(3), .cancelled(4)],
    ["remove", "insert text at the end"]: [.cancelled(2)],
    ["delete text at the start"]: [.text(2, "wo")],
    ["delete text at the end"]: [.text(2, "tw")],
    ["delete text at the start", "delete text at the end"]: [.text(2, "w")],
    ["attach a file"]: [.files(2, [0, 1, 2])],
    ["attach the same file"]: [.files(2, [0])],
    ["attach the same file", "remove"]: [.cancelled(2), .files(2, [0])],
    ["take a file away"]: [.files(7, [])],
    ["take a file away", "take a file away and attach it again"]: [.files(7, [9])],
    ["take a file away and attach it again"]: [.files(7, [9])],
    ["add the session"]: [.session("new", exists: true)],
    ["delete the session"]: [.session("s", exists: false)],
    ["delete the session", "insert at end"]: [.session("s", exists: true)],
    ["pause", "resume"]: [.paused("t", true)],
    ["pause"]: [.paused("t", true)],
    ["resume"]: [.paused("t", false)],
    ["requeue the thread", "remove the thread"]: [.threads(["s", "u", "t"])],
    ["requeue the thread"]: [.threads(["s", "u", "t"])],
    ["remove the thread"]: [.threads(["s", "u"])],
    ["remove the thread", "move the thread"]: [.threads(["s", "u"])],
    ["move the thread"]: [.threads(["s", "t", "u"])],
    ["clear the threads"]: [.threads([])],
    ["clear the threads", "requeue the thread"]: [.threads(["t"])],
  ]

  /// Results that the later clock decides: first action, then second.
  private static let ordered: [String: [String: [Fact]]] = [
    "move by one": [
      "move to the end": [.order(session: "s", [1, 3, 4, 2])],
      "move to another queue": [.waits(2, in: "t")],
    ],
    "move to the end": ["move by one": [.order(session: "s", [1, 3, 2, 4])]],
    "move to another queue": [
      "move to a third queue": [.waits(2, in: "u")], "move by one": [.waits(2, in: "s")],
    ],
    "move to a third queue": ["move to another queue": [.waits(2, in: "t")]],
    "set urgent": ["set urgent and normal again": [.priority(2, .normal)]],
    "set urgent and normal again": ["set urgent": [.priority(2, .urgent)]],
    "want later": [
      "want later": [.later(2, 1)], "want later, and now again": [.later(2, nil)],
      "move by one": [.later(2, 0), .order(session: "s", [1, 3, 2, 4])],
      "move to another queue": [.later(2, 0), .waits(2, in: "t")],
      "set urgent": [.later(2, 0), .order(session: "s", [2, 1, 3, 4])],
    ],
    "want later, and now again": ["want later": [.later(2, 1)]],
    "let it wait for another": ["let it wait, and now again": [.needs(2, [], unmet: [])]],
    "let it wait, and now again": ["let it wait for another": [.needs(2, [3], unmet: [3])]],
    "requeue the thread": ["move the thread": [.threads(["s", "t", "u"])]],
    "move the thread": ["requeue the thread": [.threads(["s", "u", "t"])]],
    "insert text at the start": [
      "insert text at the end": [.text(2, "<0two1>")],
      "delete text at the start": [.text(2, "<0wo")],
    ],
    "insert text at the end": [
      "insert text at the start": [.text(2, "<1two0>")],
      "delete text at the end": [.text(2, "tw0>")],
    ],
    "delete text at the start": ["insert text at the start": [.text(2, "<1wo")]],
    "delete text at the end": ["insert text at the end": [.text(2, "tw1>")]],
  ]
}
