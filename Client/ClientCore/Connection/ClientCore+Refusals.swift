import QueueModel
import SequenceCRDT
import WireProtocol

extension ClientCore {
  mutating func refused(
    _ refusal: Refusal, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let why = Trouble(message: refusal.message, refusal: refusal.code)
    switch refusal.code {
    case .unsupportedVersion, .unauthorized, .revoked, .wrongWorkspace:
      trouble = why
      return leave(for: .refused) + [.report(why)]
    default:
      break
    }
    guard case .exchanging(var exchange) = link, refusal.batch != 0 else {
      return fail(
        why, retryAfter: retryAfter(refusal) ?? ClientLimits.backoffMillisecondsMax,
        at: occasion)
    }
    guard exchange.flights.contains(where: { $0.batch == refusal.batch }) else {
      exchange.voidedAnswers = max(0, exchange.voidedAnswers - 1)
      link = .exchanging(exchange)
      return pumped(at: occasion, store: store)
    }
    trouble = why
    exchange.voidFlights(alreadyAnswered: 1)
    exchange.heldUntil =
      retryAfter(refusal).map { occasion.now + $0 + backoff(at: occasion) }
      ?? .max
    link = .exchanging(exchange)
    return [.report(why)]
  }

  /// Milliseconds to wait at least; nil where trying again on this connection is pointless.
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
