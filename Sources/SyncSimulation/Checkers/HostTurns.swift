import QueueModel
import SequenceCRDT

/// The messages that a session's host runs, one after the other, without another command from a
/// user. They are found by running them, with each attempt succeeding at once, and not by rules.
struct HostTurns {
  /// Longer queues are not judged, because running one takes as long as everything else.
  private static let runsMax = 150

  private struct Turn {
    var message: MessageID
    /// The time before which it does not start, its own or that of an earlier message.
    var earliest: Int64
  }

  private var turns: [Turn] = []

  /// - Parameters:
  ///   - waiting: the messages in the queue.
  ///   - time: messages for later are skipped until this time.
  private init(
    of session: SessionID, _ waiting: [MessageView], in workspace: Workspace, by time: Int64
  ) {
    guard workspace.session(session)?.host != nil else { return }
    let context = CommandContext(
      replica: ReplicaID(rawValue: .max), stamp: workspace.latestStamp, recordsUndo: false)
    var world = workspace
    var earliest: Int64 = 0
    func end(_ message: MessageID, attempt: UInt16) -> Bool {
      let run = Run(
        token: .max >> 1, attempt: attempt, phase: .succeeded,
        milliseconds: context.stamp.milliseconds)
      return (try? world.perform(.reportRun(message, run), in: context)) != nil
    }
    for message in waiting where message.status == .running {
      guard end(message.id, attempt: message.run?.attempt ?? 1) else { return }
    }
    while turns.count < waiting.count, let (message, state) = world.startable(in: session, by: time)
    {
      earliest = max(earliest, state.earliest ?? 0)
      // Until it is in line, it does not delay other messages.
      turns.append(Turn(message: message, earliest: max(earliest, state.later ?? 0)))
      guard end(message, attempt: (state.runState.run?.attempt ?? 0) &+ 1) else { return }
    }
  }

  /// Why these turns differ from those without a change: another message, an earlier time, or
  /// another first message. If a message is gone, those after it may run in their turn; that is not
  /// a difference.
  ///
  /// - Parameter waiting: the messages in the queue after the change.
  private func started(besides former: HostTurns, waiting: Set<MessageID>) -> String? {
    guard let first = turns.first else { return nil }
    for turn in turns {
      guard let old = former.turns.first(where: { $0.message == turn.message }) else {
        return "\(turn.message) could start"
      }
      if turn.earliest < old.earliest { return "\(turn.message) could start sooner" }
    }
    let next = former.turns.first { waiting.contains($0.message) }
    return next?.message == first.message
      ? nil : "\(first.message) could start in the place of \(former.turns[0].message)"
  }
}

extension HostTurns {
  /// The messages that hosts can start in a workspace only now, or earlier than before: now, and
  /// when all times have come.
  static func started(
    in sessions: some Sequence<SessionID>, from before: Workspace, to after: Workspace
  ) -> [String] {
    let now = after.latestStamp.milliseconds
    func waiting(in session: SessionID, _ workspace: Workspace) -> [MessageView] {
      (try? workspace.messageQueue(session))?.messages ?? []
    }
    return sessions.compactMap { session in
      let (old, new) = (waiting(in: session, before), waiting(in: session, after))
      guard max(old.count, new.count) <= runsMax else { return nil }
      return [now, .max].lazy.compactMap { time in
        let former = HostTurns(of: session, old, in: before, by: time)
        return HostTurns(of: session, new, in: after, by: time)
          .started(besides: former, waiting: Set(new.map(\.id))).map { "\($0) in \(session)" }
      }.first
    }
  }
}
