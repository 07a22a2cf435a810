import QueueModel
import WireProtocol

extension ServerCore {
  mutating func checkTokens(at now: ServerTime) {
    guard stopping == nil, admission.tokensAreDue(at: now) else { return }
    for (id, session) in connections.sessions {
      guard let end = session.expiresAt, end <= now.wallMilliseconds else { continue }
      refuse(
        id, .revoked, "the device's access has expired, as set when it was paired", at: now)
    }
    let tokens = connections.tokens
    guard !tokens.isEmpty else { return }
    admission.storeWasAskedForTokens()
    actions.ask(.findLapsed(tokens, known: workspaces.sharedMarks), for: .findLapsed)
  }

  /// Checks whether a failed store works again.
  mutating func probeStorage(at now: ServerTime) {
    guard commitInFlight == nil, storeHealth.needsProbe(at: now) else { return }
    storeHealth.probeBegan()
    actions.ask(.probe, for: .probe)
  }

  mutating func unloadIdle(at now: ServerTime) {
    let isReleased = workspaces.unloadIdle(connections, at: now) { id in
      commitInFlight?.concerns(id) == true || arrivals.areWaiting(for: id)
    }
    if isReleased { actions.add(.contentReleased) }
  }

  /// Ends a stop when all accepted data is stored, or when its time is up.
  mutating func finishStopIfDone(at now: ServerTime) {
    guard let stopping, !stopping.isFinished else { return }
    let isTimeUp = now.uptimeMilliseconds >= stopping.deadline
    guard isTimeUp || commitInFlight == nil && workspaces.isDone && connections.isAllSent else {
      return
    }
    for id in connections.ids { close(id, .goingAway, "the server stops") }
    self.stopping?.isFinished = true
    actions.add(.stopped)
  }
}
