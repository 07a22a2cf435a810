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
    case .fork where refusal.batch == 0:
      // What the log holds nothing of is compared with the server's state.
      if isOffering || !disputed.insert(replica.record.replica).inserted { needsSnapshot = true }
      return givenUp(why, at: occasion) ?? connectedAnew(why, nil, at: occasion)
    case .fork, .foreignReplica:
      return try refusedAsOther(refusal, at: occasion, store: store)
    case .clockAhead:
      if refusal.serverMilliseconds > 0 {
        noteServerClock(refusal.serverMilliseconds, at: occasion)
      }
      let limit = Stamp(milliseconds: time(at: occasion))
      if let actions = givenUp(why, at: occasion) { return actions }
      let touched = try replica.restamp(limit: limit, store: store)
      return connectedAnew(why, touched, at: occasion)
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

  private var isOffering: Bool {
    if case .exchanging(let exchange) = link { exchange.isOffering } else { false }
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

  /// The server has something else under the ids of a batch, or they are not this device's.
  private mutating func refusedAsOther(
    _ refusal: Refusal, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let why = Trouble(message: refusal.message, refusal: refusal.code)
    refusedBatches += 1
    if let actions = givenUp(why, at: occasion) { return actions }
    // `welcome` will tell what differs.
    if refusal.batch != 0, refusedBatches == 1 { return connectedAnew(why, nil, at: occasion) }
    let record = replica.record
    var cuts: [ReplicaID: UInt32] = [record.replica: replica.workspace.vector[record.replica] + 1]
    for own in record.ownReplicas {
      let kept = max(record.acknowledged[own], record.floor[own])
      if kept < replica.workspace.vector[own] { cuts[own] = kept + 1 }
    }
    let touched = try replica.reauthor(
      Replica.Divergence(cuts: cuts), at: occasion, store: store)
    return connectedAnew(why, touched, at: occasion)
  }

  /// What to do where this was tried too often; nil where it was not.
  private mutating func givenUp(_ why: Trouble, at occasion: Occasion) -> [Action]? {
    reauthorings += 1
    guard reauthorings > ClientLimits.reauthoringsMax else { return nil }
    reauthorings = 0
    return fail(why, retryAfter: ClientLimits.backoffMillisecondsMax, at: occasion)
  }

  private mutating func connectedAnew(
    _ why: Trouble, _ touched: TouchedQueues?, at occasion: Occasion
  ) -> [Action] {
    trouble = why
    var actions = leave(for: .stopped) + [.report(why)]
    if let touched { actions.append(.changed(touched)) }
    return actions + connectIfPossible(at: occasion)
  }
}

extension Replica {
  /// Whether operations of this device are under way, whose ids a copy of it may have used too.
  var mayBeForked: Bool {
    record.ownReplicas.contains { record.acknowledged[$0] < workspace.vector[$0] }
  }
}
