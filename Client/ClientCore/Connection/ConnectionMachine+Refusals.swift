import QueueModel
import SequenceCRDT
import WireProtocol

extension ConnectionMachine {
  mutating func refused(
    _ refusal: Refusal, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let why = ConnectionProblem(message: refusal.message, refusal: refusal.code)
    switch refusal.code {
    case .unsupportedVersion, .unauthorized, .revoked, .wrongWorkspace:
      problem = why
      if refusal.code == .revoked {
        try replica.remember(store: store) { $0.access = .ended(reason: refusal.message) }
      }
      return disconnect(for: .refused) + [.report(why)]
    default:
      break
    }
    guard case .live(var live) = state, refusal.batch != 0 else {
      return fail(
        why, retryAfter: retryAfter(refusal) ?? ClientLimits.backoffMillisecondsMax,
        at: context)
    }
    guard live.window.contains(refusal.batch) else {
      live.window.dropAnswer()
      state = .live(live)
      return sendBatches(at: context, store: store)
    }
    problem = why
    live.window.voidFlights(alreadyAnswered: 1)
    live.sending =
      retryAfter(refusal).map { .held(until: context.now + $0 + wait(at: context)) } ?? .refused
    state = .live(live)
    return [.report(why)]
  }

  /// The minimum wait in milliseconds; nil if trying again on this connection is pointless.
  private func retryAfter(_ refusal: Refusal) -> Int64? {
    if let milliseconds = refusal.retryAfterMilliseconds { return Int64(milliseconds) }
    switch refusal.code {
    case .storageFailed, .unavailable, .tooManyConnections, .rateLimited, .authenticationBudget,
      .outOfOrder:
      return 0
    default:
      return nil
    }
  }
}
