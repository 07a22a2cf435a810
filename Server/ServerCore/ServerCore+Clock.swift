import QueueModel
import WireProtocol

extension ServerCore {
  /// Time has passed; wanted several times a second.
  package mutating func clockTicked(at now: ServerTime) -> [ServerAction] {
    let uptime = now.uptimeMilliseconds
    for id in connections.keys.sorted() {
      guard let connection = connections[id], !connection.isClosing else { continue }
      if connection.session == nil,
        uptime - connection.openedAt >= configuration.authenticationMilliseconds
      {
        refuse(id, .authenticationBudget, "no authentication in time", at: now)
        continue
      }
      if let welcomedAt = connection.session?.welcomedAt, now.isOfAnotherClock(than: welcomedAt) {
        close(id, .serviceRestart, "the server's clock was set: connect again to read it")
        continue
      }
      connections[id]?.frames.refill(uptimeMilliseconds: uptime)
      connections[id]?.bytes.refill(uptimeMilliseconds: uptime)
      updateReading(id)
    }
    sendDuePresence(at: now)
    checkTokens(at: now)
    pushDue(at: now)
    stageCommit(at: now)
    unloadIdle(at: now)
    probeStorage(at: now)
    finishStopIfDone(at: now)
    return takeActions()
  }

  private mutating func checkTokens(at now: ServerTime) {
    guard stopping == nil, tokenCheck.begin(at: now) else { return }
    for id in connections.keys.sorted() {
      guard let end = connections[id]?.session?.expiresAt, end <= now.wallMilliseconds else {
        continue
      }
      refuse(
        id, .revoked, "the device's access has ended, as was said when it was paired", at: now)
    }
    let tokens = connections.sorted { $0.key < $1.key }.compactMap { _, connection in
      connection.session.map {
        ConnectedToken(workspace: $0.workspace, device: $0.device, hash: $0.tokenHash)
      }
    }
    guard !tokens.isEmpty else { return }
    tokenCheck.storeWasAsked()
    ask(.findLapsed(tokens), for: .findLapsed)
  }

  /// Finds out whether a store that failed works again.
  private mutating func probeStorage(at now: ServerTime) {
    guard commitInFlight == nil, storeHealth.needsProbe(at: now) else { return }
    storeHealth.probeBegan()
    ask(.probe, for: .probe)
  }

  private mutating func unloadIdle(at now: ServerTime) {
    var isReleased = false
    for id in workspaces.keys.sorted() {
      guard let resident = workspaces[id], resident.isQuiet, !resident.hasWork,
        !loading.contains(id), commitInFlight?.concerns(id) != true, !resident.isJoining,
        resident.offers.isEmpty
      else { continue }
      let idle = now.uptimeMilliseconds - resident.usedAt
      let isWanted = waitingJoins[id]?.isEmpty == false
      if resident.members.isEmpty, !isWanted, idle >= configuration.idleMilliseconds,
        !resident.inboxes.awaitsPush, !resident.inboxes.isLookFresh(uptime: now.uptimeMilliseconds),
        resident.liveStatus.isEmpty
      {
        guard !resident.devices.values.contains(where: \.needsTouch) else { continue }
        workspaces[id] = nil
        isReleased = true
      } else if resident.content != nil, !isWanted,
        idle >= configuration.connectedIdleMilliseconds
      {
        workspaces[id]?.content = nil
        isReleased = true
      }
    }
    if isReleased { act(.contentReleased) }
  }

  /// Ends a stop once everything taken is stored, or when its time is up.
  mutating func finishStopIfDone(at now: ServerTime) {
    guard let stopping, !stopping.isFinished else { return }
    let isTimeUp = now.uptimeMilliseconds >= stopping.deadline
    guard isTimeUp || commitInFlight == nil && ready.isEmpty && loading.isEmpty else { return }
    for id in connections.keys.sorted() {
      if !isTimeUp, connections[id]?.outgoing.isEmpty == false { return }
    }
    for id in connections.keys.sorted() { close(id, .goingAway, "the server stops") }
    self.stopping?.isFinished = true
    act(.stopped)
  }
}
