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
    case .fork, .foreignReplica:
      return try rewrite(
        limit: nil, distrusted: [], why: refusal.message, refusal: refusal.code, at: occasion,
        store: store)
    case .clockAhead:
      if refusal.serverMilliseconds > 0 {
        noteServerClock(refusal.serverMilliseconds, at: occasion)
      }
      return try rewrite(
        limit: Stamp(milliseconds: time(at: occasion)), distrusted: [], why: refusal.message,
        refusal: refusal.code, at: occasion, store: store)
    case .otherEpoch:
      guard case .exchanging(let exchange) = link,
        !exchange.flights.contains(where: { $0.batch == refusal.batch })
      else {
        // The base should have come before; `welcome` will tell which epoch it is.
        return fail(why, at: occasion)
      }
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
    case .storageFailed, .unavailable, .tooManyConnections, .rateLimited, .authenticationBudget:
      return 0
    default:
      return nil
    }
  }

  /// Rewrites unsent operations under a fresh replica id and connects again at once.
  mutating func rewrite(
    limit: Stamp?, distrusted: Set<ReplicaID>, why: String, refusal: RefusalCode,
    at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let why = Trouble(message: why, refusal: refusal)
    reauthorings += 1
    guard reauthorings <= ClientLimits.reauthoringsMax else {
      reauthorings = 0
      return fail(why, retryAfter: ClientLimits.backoffMillisecondsMax, at: occasion)
    }
    let touched = try replica.reauthor(
      stampLimit: limit, distrusted: distrusted, at: occasion, store: store)
    trouble = why
    return leave(for: .stopped) + [.report(why), .changed(touched)]
      + connectIfPossible(at: occasion)
  }
}

extension Replica {
  /// Whether operations of this device are under way, whose ids a copy of it may have used too.
  var mayBeForked: Bool {
    record.ownReplicas.contains { record.acknowledged[$0] < workspace.vector[$0] }
  }

  /// Forked replicas of which nothing is unacknowledged: the difference lies in what the server
  /// once acknowledged, so nothing of them can be trusted to be there.
  func distrusted(of forked: Set<ReplicaID>) -> Set<ReplicaID> {
    forked.filter { record.acknowledged[$0] >= workspace.vector[$0] }
  }
}
