import QueueModel
import SequenceCRDT

/// The end of stretches of typing; SPECIFICATION.md, section "Editions".
///
/// A stretch ends with a pause, or at its user's next other command. If the device is offline, it
/// also ends before other devices' operations are merged and before anything is sent. A stretch of
/// an earlier process ends at once.
extension ConnectionMachine {
  /// The connection over which new operations are sent at once; nil while the device is offline or
  /// has not caught up.
  var openConnection: UInt64? {
    if case .live(let live) = state, live.maySend { live.id.rawValue } else { nil }
  }

  /// When the open stretch ends; nil if there is none. At once if two others saved one text
  /// meanwhile, since the offsets of the visible text then differ from those that its user typed
  /// at.
  var typingDeadline: Int64? {
    guard let message = replica.undo.typedMessage else { return nil }
    if Edition.besidesLetters(of: message, in: replica.workspace) != nil { return 0 }
    return replica.typedAt.map { $0 + Limits.typingPauseMillisecondsMax } ?? 0
  }

  /// Ends the open stretch if its pause has passed.
  mutating func endTypingIfDue(
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    guard let due = typingDeadline, due <= context.now else { return [] }
    do throws(Replica.Fault) {
      return try endTyping(at: context, store: store) + sendBatches(at: context, store: store)
    } catch {
      // A disk that stores nothing now is tried again after another pause.
      replica.typedAt = context.now
      return []
    }
  }

  /// Ends the open stretch if its user did not see all incoming changes while typing. This sends
  /// nothing.
  mutating func endTypingApart(
    at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    guard let stretch = replica.undo.openTyping,
      stretch.connection == nil || stretch.connection != openConnection
    else { return [] }
    return try endTyping(at: context, store: store)
  }

  private mutating func endTyping(
    at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let outcome = try replica.endTyping(
      over: openConnection, wall: time(at: context), at: context, store: store)
    noteUnsent(outcome.operations)
    return outcome.touched.isEmpty ? [] : [.changed(outcome.touched)]
  }

  /// The texts that agents of this device got stay readable beside others' late texts. They are
  /// stored before the others' changes.
  mutating func noteRanTexts(_ outcome: CommandOutcome?) -> TouchedQueues {
    guard let outcome else { return TouchedQueues() }
    noteUnsent(outcome.operations)
    return outcome.touched
  }
}
