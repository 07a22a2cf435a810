import QueueModel
import SequenceCRDT
import WireProtocol

extension ServerCore {
  /// A frame of a welcomed connection arrived.
  mutating func received(
    _ frame: Frame, from connection: Connection, _ session: Session, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) {
    let id = connection.id
    workspaces[session.workspace]?.usedAt = now.uptimeMilliseconds
    switch frame {
    case .changes(let changes):
      guard changes.batch != 0 else {
        return fault(id, .malformed, "changes: a batch is numbered from 1")
      }
      // After goAway the server accepts nothing new; the client sends it again to the next server.
      guard stopping == nil else { return }
      let batch = PendingBatch(
        connection: id, workspace: session.workspace, device: session.device,
        batch: changes.batch, delta: changes.delta)
      withConnections { $0.holds(batch, &$1) }
      // Its contents are examined in its turn.
      if let objection = DeviceRole.objection(of: session.role, toWriting: []) {
        return refuse(batch, objection, at: now)
      }
      workspaces[session.workspace]?.enqueue(batch)
      workspaces.markReady(session.workspace)
      stageCommit(at: now)
    case .ack(let ack):
      let isNews = workspaces[session.workspace]?.stored(
        through: ack.prefix.position, by: session.device)
      guard isNews == true else { return }
      workspaces.touch(session.device, of: session.workspace)
      workspaces.presenceChanged(in: session.workspace)
      sendPresenceIfDue(of: session.workspace, at: now)
    case .request(let request):
      requested(request, by: connection, session, at: now, using: &generator)
    case .notified(let position):
      notified(through: position, on: id, by: session, at: now)
    case .output(let reply):
      withConnections { $0.outputReceived(reply, from: id, &$1) }
    case .unknownOptional:
      break
    case .error(let fault):
      actions.add(.report(.faulted(id, message: "the client says: \(fault.message)")))
      close(id, .normal, "the client cannot continue")
    case .snapshot(let part):
      offered(part, by: connection, session, at: now)
    case .pair, .paired, .hello, .welcome, .refused, .response, .presence, .goAway, .notification,
      .answered, .outputWanted, .access:
      fault(id, .unexpected, "a client does not send this frame after hello")
    }
  }

  // MARK: - Staging

  /// Validates the waiting batches, and hands them to the store unless a transaction is in flight.
  mutating func stageCommit(at now: ServerTime) {
    guard commitInFlight == nil else { return }
    if storeHealth.isLeftAlone(at: now) {
      for workspace in workspaces.takeReady() { refuseWaiting(of: workspace, at: now) }
      return
    }
    var commit = CommitInFlight()
    let isFull = workspaces.stage(into: &commit, &connections, &actions, at: now)
    noteDepartures()
    commit.touches = workspaces.takeTouches(
      isDue: !commit.entries.isEmpty || stopping != nil, at: now)
    // If everything was refused and more waits, the store's answer to an empty commit starts the
    // next turn.
    guard !commit.isEmpty || isFull else {
      deliver(commit.answers)
      return settle(commit.posts)
    }
    let batch = commit.batch(at: now.wallMilliseconds) { workspaces[$0]?.mark }
    commitInFlight = commit
    actions.ask(.commit(batch), for: .commit)
  }

  // MARK: - The store's answers

  /// The store has finished a task.
  mutating func finished(_ purpose: StorePurpose, _ outcome: StoreOutcome, at now: ServerTime) {
    switch purpose {
    case .redeem(let id, let request, let source):
      redeemed(id, by: request, from: source, outcome, at: now)
    case .authenticate(let id): authenticated(id, outcome, at: now)
    case .addCode(let id, let request, let code, let proposal):
      codeAdded(code, proposal, for: id, request, outcome, at: now)
    case .findLapsed: foundLapsed(outcome, at: now)
    case .load(let id): loaded(id, outcome, at: now)
    case .catchUp(let id, let session):
      workspaces[session.workspace]?.catchUpEnded(
        for: session.device, outcome, configuration, at: now)
      caughtUp([id], outcome, at: now)
    case .packSnapshot(let state):
      caughtUp(arrivals.takeWaiting(for: state), outcome, at: now)
    case .commit: committed(outcome, at: now)
    case .join(let id, let connection, let device):
      joined(id, from: connection, of: device, outcome, at: now)
    case .findUnpushed: foundUnpushed(outcome, at: now)
    case .probe:
      storeHealth.probeEnded()
      switch outcome {
      case .probed: storageWorked()
      case .failed(let fault): storageFailed(fault, at: now)
      default: preconditionFailure("the store answered another question")
      }
    case .saveSnapshot(let id):
      switch outcome {
      case .snapshotSaved(let bytes): workspaces[id]?.log.snapshotEnded(bytes: bytes)
      case .failed(let fault):
        workspaces[id]?.log.snapshotEnded(bytes: nil)
        storageFailed(fault, at: now)
      default: preconditionFailure("the store answered another question")
      }
    }
  }

  private mutating func committed(_ outcome: StoreOutcome, at now: ServerTime) {
    guard var commit = commitInFlight else {
      preconditionFailure("a commit ended that was not in flight")
    }
    commitInFlight = nil
    switch outcome {
    case .committed(let result):
      storageWorked()
      for (id, mark) in result.marks { workspaces[id]?.mark = mark }
      // These are closed first, so that nothing of this commit reaches their members.
      for (id, loss) in result.lost.sorted(by: { $0.key < $1.key })
      where workspaces[id]?.mark == commit.marks[id] {
        lose(id, loss, at: now)
      }
      for post in commit.drop(result.lost) {
        actions.add(.answerSettled(post.id, .unavailable))
      }
      let changed = workspaces.publish(commit, &connections, &actions, at: now)
      noteDepartures()
      deliver(commit.answers)
      settle(commit.posts)
      publish(commit.verdicts)
      for id in changed {
        resumeJoins(of: id, at: now)
        joinIfPossible(id, at: now)
        saveSnapshotIfDue(id, at: now)
        sendPresenceIfDue(of: id, at: now)
      }
    case .failed(let fault):
      storageFailed(fault, at: now)
      workspaces.wereLost(commit)
      for batch in commit.batches { refuse(batch, .storageFailed(configuration.times), at: now) }
      deliverFailure(of: commit.answers)
      for post in commit.posts { actions.add(.answerSettled(post.id, .unavailable)) }
      for id in Set(commit.entries.map(\.batch.workspace)).sorted() {
        resumeJoins(of: id, at: now)
        joinIfPossible(id, at: now)
      }
    default:
      preconditionFailure("the store answered another question")
    }
    stageCommit(at: now)
  }

  mutating func saveSnapshotIfDue(_ id: WorkspaceID, at now: ServerTime) {
    guard let content = workspaces[id]?.beginSnapshot(configuration),
      let resident = workspaces[id]
    else { return }
    let seen = resident.positionSeenByAll(
      connected: connections.devices(of: id),
      since: now.wallMilliseconds - configuration.log.retentionMilliseconds)
    actions.ask(
      .saveSnapshot(id, content, prefix: resident.log.head, truncatingBefore: seen),
      for: .saveSnapshot(id))
  }

  // MARK: - Storage failures

  mutating func storageFailed(_ fault: StorageFault, at now: ServerTime) {
    storeHealth.failed(fault, at: now)
    actions.add(.report(.storageFailed(fault)))
  }

  mutating func storageWorked() {
    if storeHealth.worked() { actions.add(.report(.storageRecovered)) }
  }

  mutating func refuseForStorage(_ id: ConnectionID, at now: ServerTime) {
    refuse(
      id, .storageFailed, "the server cannot read or write its data now",
      retryAfter: UInt32(clamping: configuration.times.storageRetryMilliseconds), at: now)
  }

  private mutating func refuse(
    _ batch: PendingBatch, _ rejection: ResidentWorkspace.Rejection, at now: ServerTime
  ) {
    withConnections { $0.refuse(batch, rejection, &$1, at: now) }
  }

  /// Refuses the batches and requests that wait in a workspace.
  mutating func refuseWaiting(of id: WorkspaceID, at now: ServerTime) {
    for batch in workspaces[id]?.takeWaitingBatches() ?? [] {
      refuse(batch, .storageFailed(configuration.times), at: now)
    }
    refuseRequests(of: id)
  }
}
