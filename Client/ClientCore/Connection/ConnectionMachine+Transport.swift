import QueueModel
import WireProtocol

extension ConnectionMachine {
  /// The transport is open.
  mutating func connectionOpened(
    _ id: TransportID, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    // The driver closes a transport that opens after it was given up.
    guard case .connecting(id, _) = state, let credentials else { return [.close(id)] }
    // Operations must survive a loss of power before they are sent to the server.
    do throws(StoreError) { try store.synchronize() } catch {
      return failed(.store(error), at: context)
    }
    state = .greeting(id, since: context.now)
    announcedAccess = nil
    let record = replica.record
    let hello = Hello(
      versions: ProtocolVersion.spoken, token: credentials.token,
      workspace: credentials.workspace, device: record.device, store: record.store,
      deviceName: record.deviceName, prefix: record.prefix)
    return [.send(id, .hello(hello))]
  }

  /// The transport could not be opened, broke, or was closed by the server.
  mutating func connectionLost(
    _ id: TransportID, message: String, at context: EventContext
  ) -> [Action] {
    guard current == id else { return [] }
    return fail(ConnectionProblem(message: message), at: context)
  }

  /// Any sign of life, such as a pong.
  mutating func connectionHeard(_ id: TransportID, at context: EventContext) {
    guard case .live(var live) = state, live.id == id else { return }
    live.lastHeard = context.now
    state = .live(live)
  }

  mutating func connectIfPossible(at context: EventContext) -> [Action] {
    guard isRunning else {
      state = .idle(.stopped)
      return []
    }
    guard replica.record.isSyncEnabled else {
      state = .idle(.disabled)
      return []
    }
    guard let credentials else {
      state = .idle(.unpaired)
      return []
    }
    if let bound = replica.record.workspace, bound != credentials.workspace {
      state = .idle(.refused)
      problem = ConnectionProblem(
        message: "the credentials are for workspace \(credentials.workspace), the data belongs to "
          + "\(bound); use another data directory for another workspace",
        refusal: .wrongWorkspace)
      return []
    }
    connections += 1
    let id = TransportID(rawValue: connections)
    state = .connecting(id, since: context.now)
    return [.connect(id)]
  }

  mutating func disconnect(for idleness: Idleness) -> [Action] {
    let closing = closing()
    state = .idle(idleness)
    return closing
  }

  /// Closes open transports. A copy of this program's memory no longer has a connection: after
  /// losing one, a program writes under another replica id.
  mutating func closing() -> [Action] {
    switch state {
    case .idle, .waiting: return []
    case .connecting(let id, _): return [.close(id)]
    case .greeting(let id, _):
      replica.retireWriter()
      return [.close(id)]
    case .live(let live):
      replica.retireWriter()
      return [.close(live.id)]
    }
  }

  /// Gives the connection up and tries again later.
  mutating func fail(
    _ problem: ConnectionProblem, retryAfter: Int64 = 0, at context: EventContext
  ) -> [Action] {
    self.problem = problem
    noteLoss(at: context)
    let closing = closing()
    if case .live(let live) = state,
      context.now - live.since >= ClientLimits.healthMilliseconds
    {
      backoff.attempts = 0
    }
    state = .waiting(until: context.now + wait(at: context) + max(0, retryAfter))
    return closing + [.report(problem)]
  }

  /// Records the loss of an established connection, so that it is soon tried again.
  mutating func noteLoss(at context: EventContext) {
    guard case .live(let live) = state, live.hasCaughtUp else { return }
    let hasStood = context.now - live.since >= ClientLimits.standingMilliseconds
    backoff.loss = Loss(
      at: context.now,
      quickTriesLeft: hasStood ? ClientLimits.quickTries : backoff.loss?.quickTriesLeft ?? 0)
  }

  /// Full jitter over a range that doubles with every attempt, above the server's minimum. For a
  /// while after the loss of an established connection, the range is small.
  mutating func wait(at context: EventContext) -> Int64 {
    let doublings = min(backoff.attempts, 6)
    backoff.attempts += 1
    var range = min(
      ClientLimits.backoffMillisecondsMin << Int64(doublings),
      ClientLimits.backoffMillisecondsMax)
    if let loss = backoff.loss, context.now - loss.at < ClientLimits.returnMilliseconds {
      let isQuick = loss.quickTriesLeft > 0
      if isQuick { backoff.loss?.quickTriesLeft -= 1 }
      let longest =
        isQuick
        ? ClientLimits.quickMilliseconds
        : holdsLease
          ? ClientLimits.leasePauseMilliseconds : ClientLimits.returnPauseMilliseconds
      range = max(0, min(range, longest - backoff.minimum))
    }
    return backoff.minimum + Int64(context.random(3) % UInt64(range + 1))
  }
}
