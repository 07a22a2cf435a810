import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT

/// Draws the commands of users who queue many messages and let hosts run them.
///
/// It makes long queues in a few sessions at a time, decides about stopped ones, and sometimes
/// edits, moves or withdraws a message, or changes the host.
struct QueueWorkload {
  /// Sessions that get messages at the same time.
  private static let sessionsMax = 4
  /// The maximum number of decisions about a stopped queue after everything has come to rest.
  private static let roundsMax = 3

  /// The kinds of commands.
  private enum Kind {
    case send, decide, edit, move, cancel, setHost, pause, resume
  }

  private struct Queue {
    var session: SessionID
    var left: Int
    var hasHost = false
  }

  private let itemCount: Int
  private let hostCount: Int
  private let itemsPerSession: Int
  private var generator: SeededGenerator
  private var sent = 0
  /// Queues that still receive messages.
  private var filling: [Queue] = []
  private var sessions: [SessionID] = []
  /// Queues that may hold messages after all were queued.
  private var draining: [SessionID] = []
  private var looksLeft: Int
  private var rounds = 0
  private var marks: UInt32 = 0
  /// Commands that come before anything is drawn: on this device, which knows the session, or on
  /// any.
  private var due: [(device: Int?, action: UserAction)] = []

  init(itemCount: Int, hostCount: Int, generator: SeededGenerator) {
    self.itemCount = itemCount
    self.hostCount = hostCount
    var generator = generator
    itemsPerSession = 10 + generator.below(40)
    looksLeft = 4 * itemCount
    self.generator = generator
  }

  /// The next command on a device; nil if only waiting helps.
  mutating func action(on device: SimulatedDevice) -> UserAction? {
    guard let workspace = device.process?.core.replica.workspace else { return nil }
    if let place = due.firstIndex(where: { $0.device ?? device.index == device.index }) {
      return due.remove(at: place).action
    }
    guard sent < itemCount else { return look(workspace) }
    let kinds: [(weight: Int, value: Kind)] = [
      (78, .send), (12, .decide), (3, .edit), (2, .move), (2, .cancel), (1, .setHost),
      (1, .pause), (1, .resume),
    ]
    guard let session = anySession() else { return send(on: device) }
    switch generator.pick(weighted: kinds) {
    case .send: return send(on: device)
    case .decide: return decision(in: session, workspace) ?? send(on: device)
    case .edit:
      guard let message = anyMessage(of: session, workspace) else { return send(on: device) }
      return .edit(message, content: text(), against: .current)
    case .move:
      guard let moved = anyMessage(of: session, workspace),
        let other = anySession(), let place = anyMessage(of: other, workspace)
      else { return send(on: device) }
      return .command(.move([moved], to: .before(place)))
    case .cancel:
      return anyMessage(of: session, workspace).map { .command(.cancel([$0])) } ?? send(on: device)
    case .setHost: return .command(.setHost(session, host()))
    case .pause: return .command(.pause(session, reason: nil))
    case .resume: return .command(.resume(session))
    }
  }

  /// Checks whether the queues advance until they are empty, and decides about one that does not.
  private mutating func look(_ workspace: Workspace) -> UserAction? {
    if draining.isEmpty, looksLeft > 0 { draining = sessions }
    while let session = generator.pick(draining), looksLeft > 0 {
      guard let queue = try? workspace.messageQueue(session), let head = queue.messages.first
      else {
        draining.removeAll { $0 == session }
        if draining.isEmpty { looksLeft = 0 }
        continue
      }
      looksLeft -= 1
      return decision(about: queue) ?? .open(head.id)
    }
    return nil
  }

  /// After everything was queued and came to rest: decides about stopped messages, once for each
  /// queue.
  ///
  /// - Returns: whether there was something to decide.
  mutating func decideAll(on device: SimulatedDevice) -> Bool {
    guard sent >= itemCount, rounds < Self.roundsMax,
      let workspace = device.process?.core.replica.workspace
    else { return false }
    rounds += 1
    for place in due.indices { due[place].device = nil }
    for session in sessions {
      if let decision = decision(in: session, workspace) { due.append((nil, decision)) }
    }
    return !due.isEmpty
  }

  /// The command that lets a stopped queue continue.
  private mutating func decision(
    in session: SessionID, _ workspace: Workspace
  ) -> UserAction? {
    (try? workspace.messageQueue(session)).flatMap { decision(about: $0) }
  }

  private mutating func decision(about queue: MessageQueueView) -> UserAction? {
    let stopped = queue.messages.first { $0.status.standsInFront && $0.status != .running }
    if let stopped {
      return .command(generator.chance(75) ? .retry(stopped.id) : .skip(stopped.id))
    }
    return queue.paused && !queue.messages.isEmpty ? .command(.resume(queue.session)) : nil
  }

  private mutating func send(on device: SimulatedDevice) -> UserAction {
    while filling.count < Self.sessionsMax {
      guard let session = try? SessionID("queue-\(sessions.count + 1)") else { break }
      sessions.append(session)
      filling.append(Queue(session: session, left: 1 + generator.below(2 * itemsPerSession)))
    }
    let place = generator.below(filling.count)
    let session = filling[place].session
    sent += 1
    if !filling[place].hasHost {
      filling[place].hasHost = true
      due.append((device.index, .command(.setHost(session, host()))))
    }
    filling[place].left -= 1
    if filling[place].left == 0 { filling.remove(at: place) }
    var send = Command.Send(
      session: session, id: MessageID(high: 0x4000, low: UInt64(sent)), text: text(),
      priority: generator.chance(10) ? .urgent : .normal, project: nil,
      requeuesThread: generator.chance(85))
    send.goesFirst = sent.isMultiple(of: Workload.interruptsEach)
    return .command(.send(send))
  }

  /// A new mark, by which `MarkLedger` recognises it, and a word.
  private mutating func text() -> String {
    marks += 1
    return Workload.mark(marks) + "item"
  }

  private mutating func host() -> DeviceID {
    DeviceID(high: 0xD, low: UInt64(1 + generator.below(hostCount)))
  }

  /// Usually a session that still receives messages.
  private mutating func anySession() -> SessionID? {
    generator.pick(generator.chance(80) ? filling.map(\.session) : sessions)
  }

  private mutating func anyMessage(
    of session: SessionID, _ workspace: Workspace
  ) -> MessageID? {
    let waiting = (try? workspace.messageQueue(session))?.messages ?? []
    return generator.pick(waiting.filter { $0.status == .queued })?.id
  }
}
