import QueueModel
import SequenceCRDT
import WireProtocol

extension ServerCore {
  /// A frame of a welcomed connection arrived.
  mutating func received(
    _ frame: Frame, from connection: Connection, _ session: Session, at now: Moment
  ) {
    let id = connection.id
    workspaces[session.workspace]?.usedAt = now.uptimeMilliseconds
    switch frame {
    case .changes(let changes):
      guard changes.batch != 0 else {
        return fault(id, .malformed, "changes: a batch is numbered from 1")
      }
      // After goAway nothing new is taken; the client sends it again elsewhere.
      guard stopping == nil else { return }
      connections[id]?.unsettledBytes += changes.delta.count
      updateReading(id)
      let batch = PendingBatch(
        connection: id, device: session.device, replica: session.replica,
        epoch: session.epoch, batch: changes.batch, delta: changes.delta)
      if let code = connection.objection { return refuseFollower(batch, code, at: now) }
      workspaces[session.workspace]?.enqueue(batch)
      markReady(session.workspace)
      stageCommit(at: now)
    case .ack(let ack):
      guard let head = workspaces[session.workspace]?.head,
        let device = workspaces[session.workspace]?.devices[session.device]
      else { return }
      var advanced = device
      advanced.advance(to: min(ack.logPosition, head))
      guard advanced != device else { return }
      workspaces[session.workspace]?.devices[session.device] = advanced
      touch(session.device, of: session.workspace)
      presenceDue.insert(session.workspace)
      sendPresenceIfDue(of: session.workspace, at: now)
      compactIfDue(session.workspace, at: now)
    case .epoch(let epoch):
      // Where another epoch has begun meanwhile, its `compact` is under way.
      guard epoch == workspaces[session.workspace]?.epoch else { return }
      var session = session
      session.epoch = epoch
      connections[id]?.phase = .joined(session)
    case .missing(let ranges):
      asked(connection, session, for: ranges, at: now)
    case .request(let request):
      requested(request, by: connection, session, at: now)
    case .notified(let position):
      notified(through: position, on: id, by: session, at: now)
    case .unknownOptional:
      break
    case .error(let fault):
      act(.report(.faulted(id, message: "the client says: \(fault.message)")))
      close(id, .normal, "the client cannot go on")
    case .snapshot(let part):
      offered(part, by: connection, session, at: now)
    case .pair, .paired, .hello, .welcome, .refused, .response, .presence, .goAway, .compact,
      .notification, .answered:
      fault(id, .unexpected, "a client does not send this frame after hello")
    }
  }

  mutating func markReady(_ workspace: WorkspaceID) {
    if !ready.contains(workspace) { ready.append(workspace) }
  }

  // MARK: - Staging

  /// Validates what waits, and hands it to the store in one transaction, unless one is in flight.
  mutating func stageCommit(at now: Moment) {
    guard commitInFlight == nil else { return }
    if let failedAt = storageFailedAt,
      now.uptimeMilliseconds - failedAt < configuration.storageRetryMilliseconds
    {
      let waiting = ready
      ready = []
      for workspace in waiting { refuseInbox(of: workspace, at: now) }
      return
    }
    var commit = CommitInFlight()
    let waiting = ready
    ready = []
    for workspace in waiting { stage(workspace, into: &commit, at: now) }
    let touchesAreDue =
      !commit.entries.isEmpty || stopping != nil
      || now.uptimeMilliseconds - touchedAt >= configuration.touchMilliseconds
    if touchesAreDue {
      touchedAt = now.uptimeMilliseconds
      commit.touches = takeTouches(at: now)
    }
    guard !commit.isEmpty else {
      deliver(commit.answers)
      return settle(commit.posts)
    }
    var batch = CommitBatch()
    batch.appends = commit.entries.map(\.append)
    batch.touches = commit.touches
    batch.records = commit.records
    batch.inboxes = commit.inboxes
    commitInFlight = commit
    ask(.commit(batch), for: .commit)
  }

  private mutating func stage(
    _ id: WorkspaceID, into commit: inout CommitInFlight, at now: Moment
  ) {
    while true {
      guard commit.entries.count < configuration.commitBatchesMax,
        commit.bytes < configuration.commitBytesMax
      else { return markReady(id) }
      guard
        isComparing(id) == false, workspaces[id]?.compaction.isUnderWay != true,
        let staging = workspaces[id]?.stageNext(
          configuration, wallMilliseconds: now.wallMilliseconds)
      else { return }
      switch staging {
      case .nothingWaits:
        stageRequests(id, into: &commit, at: now)
        return stageInboxes(id, into: &commit)
      case .needsContent:
        return load(id)
      case .blockedUntilDurable:
        return markReady(id)
      case .needsComparison(let operations):
        lastComparison += 1
        let comparison = ComparisonID(rawValue: lastComparison)
        workspaces[id]?.comparisonBegan(comparison)
        return ask(.compare(id, operations), for: .compare(id, comparison))
      case .refused(let batch, let code, let message):
        refuse(batch, code, message, at: now)
        refuseFollowers(of: batch, in: id, code, at: now)
      case .missing(let batch, let ranges):
        settle(batch)
        sendIfJoined(.missing(ranges), to: batch.connection)
      case .duplicate(let batch, let position):
        acknowledge(batch, at: position)
      case .staged(let batch, let append, let news):
        commit.bytes += append.delta.count
        commit.entries.append((batch, append))
        post(news, to: id, at: now)
        stageTasks(of: id, at: now)
        stageInboxes(id, into: &commit)
      case .contentBroken(let batch):
        refuse(
          batch, .invalidChanges, "the operations are not causally ready", at: now)
        // Read again after the commit in flight; until then nothing more is staged.
        workspaces[id]?.content = nil
        return markReady(id)
      }
    }
  }

  private func isComparing(_ id: WorkspaceID) -> Bool {
    workspaces[id]?.comparison != nil
  }

  private mutating func takeTouches(at now: Moment) -> [DeviceTouch] {
    var touches: [DeviceTouch] = []
    for id in touchesDue.sorted() {
      let devices = workspaces[id]?.devices.filter(\.value.needsTouch) ?? [:]
      for (device, record) in devices.sorted(by: { $0.key < $1.key }) {
        workspaces[id]?.devices[device]?.needsTouch = false
        workspaces[id]?.devices[device]?.lastSeenAt = now.wallMilliseconds
        touches.append(
          DeviceTouch(
            workspace: id, device: device, name: record.name, seenLogPosition: record.seen,
            wallMilliseconds: now.wallMilliseconds))
      }
    }
    touchesDue = []
    return touches
  }

  // MARK: - The store's answers

  /// The store has done a task.
  mutating func finished(_ purpose: Purpose, _ outcome: StoreOutcome, at now: Moment) {
    switch purpose {
    case .redeem(let id, let request): redeemed(id, by: request, outcome, at: now)
    case .authenticate(let id): authenticated(id, outcome, at: now)
    case .findLapsed: foundLapsed(outcome, at: now)
    case .load(let id): loaded(id, outcome, at: now)
    case .catchUp(let id): caughtUp(id, outcome, at: now)
    case .compare(let id, let comparison): compared(id, comparison, outcome, at: now)
    case .commit: committed(outcome, at: now)
    case .startEpoch(let id): startedEpoch(of: id, outcome, at: now)
    case .adopt(let id, let connection): adopted(id, from: connection, outcome, at: now)
    case .findCompactions: foundCompactions(outcome, at: now)
    case .findUnpushed: foundUnpushed(outcome, at: now)
    case .probe:
      isProbing = false
      switch outcome {
      case .probed: storageWorked()
      case .failed(let fault): storageFailed(fault, at: now)
      default: preconditionFailure("the store answered another question")
      }
    case .saveSnapshot(let id):
      switch outcome {
      case .snapshotSaved(let bytes): workspaces[id]?.snapshotEnded(bytes: bytes)
      case .failed(let fault):
        workspaces[id]?.snapshotEnded(bytes: nil)
        storageFailed(fault, at: now)
      default: preconditionFailure("the store answered another question")
      }
    }
  }

  private mutating func compared(
    _ id: WorkspaceID, _ comparison: ComparisonID, _ outcome: StoreOutcome, at now: Moment
  ) {
    // The inbox may have been refused meanwhile: dropped.
    guard workspaces[id]?.comparison == comparison else { return }
    switch outcome {
    case .comparison(.same(let position)):
      workspaces[id]?.comparisonPassed(position: position)
    case .comparison(.different(let replica)):
      let owner = workspaces[id]?.marks[replica]?.device
      if let batch = workspaces[id]?.comparisonFailed() {
        let isOwn = replica == batch.replica || owner == batch.device
        let code: RefusalCode = isOwn ? .fork : .foreignReplica
        refuse(batch, code, "the same operation ids are stored with other content", at: now)
        refuseFollowers(of: batch, in: id, code, at: now)
      }
    case .failed(let fault):
      storageFailed(fault, at: now)
      return refuseInbox(of: id, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
    markReady(id)
    stageCommit(at: now)
  }

  private mutating func committed(_ outcome: StoreOutcome, at now: Moment) {
    guard let commit = commitInFlight else {
      preconditionFailure("a commit ended that was not in flight")
    }
    commitInFlight = nil
    switch outcome {
    case .committed:
      storageWorked()
      var changed: [WorkspaceID] = []
      var seen: Set<WorkspaceID> = []
      for (batch, append) in commit.entries {
        if seen.insert(append.workspace).inserted { changed.append(append.workspace) }
        publish(batch, append)
      }
      for (workspace, changes) in commit.inboxes { publish(changes, of: workspace) }
      deliver(commit.answers)
      settle(commit.posts)
      publish(commit.verdicts)
      for id in changed {
        resumeJoins(of: id, at: now)
        adoptIfPossible(id, at: now)
        compactIfDue(id, at: now)
        saveSnapshotIfDue(id)
        sendPresenceIfDue(of: id, at: now)
      }
    case .failed(let fault):
      storageFailed(fault, at: now)
      for touch in commit.touches {
        self.touch(touch.device, of: touch.workspace)
      }
      for (batch, append) in commit.entries {
        workspaces[append.workspace]?.stagedWasLost()
        workspaces[append.workspace]?.stagedTasks = []
        refuseForStorage(batch, at: now)
      }
      for (workspace, _) in commit.records { workspaces[workspace]?.stagedWasLost() }
      for (workspace, _) in commit.inboxes { workspaces[workspace]?.bookWasLost() }
      deliverFailure(of: commit.answers)
      for post in commit.posts { act(.answerSettled(post.id, .unavailable)) }
      for (_, append) in commit.entries { resumeJoins(of: append.workspace, at: now) }
    default:
      preconditionFailure("the store answered another question")
    }
    stageCommit(at: now)
  }

  /// A batch became durable: tell its author, and everybody else.
  private mutating func publish(_ batch: PendingBatch, _ append: LogAppend) {
    workspaces[append.workspace]?.stagedBecameDurable(append)
    workspaces[append.workspace]?.devices[batch.device]?.wrote(append.position)
    touch(batch.device, of: append.workspace)
    presenceDue.insert(append.workspace)
    acknowledge(batch, at: append.position)
    let frame = FrameCodec.encode(
      .changes(Changes(batch: 0, logPosition: append.position, delta: append.delta)))
    var receivers: [ConnectionID] = []
    for id in (workspaces[append.workspace]?.members ?? []).sorted() {
      // A copied data directory is a second store of the same device: it needs the batch too.
      guard id != batch.connection, let session = connections[id]?.session else { continue }
      guard frame.count <= session.frameBytesMax else {
        let parts = CatchUp.frames(
          splitting: append.delta, position: append.position,
          partBytesMax: session.frameBytesMax - CatchUp.frameOverheadBytes)
        for part in parts { transmit(part, to: id) }
        continue
      }
      receivers.append(id)
    }
    broadcast(frame, to: receivers)
  }

  private mutating func saveSnapshotIfDue(_ id: WorkspaceID) {
    guard let resident = workspaces[id], resident.wantsSnapshot(configuration),
      !resident.compaction.isUnderWay, let content = resident.content
    else { return }
    workspaces[id]?.snapshotBegan()
    ask(.saveSnapshot(id, content, position: resident.head), for: .saveSnapshot(id))
  }

  // MARK: - Answers to batches

  private mutating func acknowledge(_ batch: PendingBatch, at position: UInt64) {
    settle(batch)
    sendIfJoined(.ack(Ack(batch: batch.batch, logPosition: position)), to: batch.connection)
  }

  private mutating func refuse(
    _ batch: PendingBatch, _ code: RefusalCode, _ message: String, retryAfter: UInt32? = nil,
    at now: Moment
  ) {
    settle(batch)
    act(.report(.refused(batch.connection, code, message: message)))
    sendIfJoined(
      .refused(
        Refusal(
          code: code, message: message, batch: batch.batch, retryAfterMilliseconds: retryAfter,
          serverMilliseconds: now.wallMilliseconds)),
      to: batch.connection)
  }

  /// Refuses what a connection sent behind a batch for which it is to connect anew; it may be
  /// closed already.
  ///
  /// That follows on operations which are not here, though a copy of the device's store may have
  /// filled their numbers with others.
  private mutating func refuseFollowers(
    of batch: PendingBatch, in workspace: WorkspaceID, _ code: RefusalCode, at now: Moment
  ) {
    switch code {
    case .fork, .foreignReplica, .clockAhead: break
    default: return
    }
    connections[batch.connection]?.objection = code
    for follower in workspaces[workspace]?.drainInbox(of: batch.connection) ?? [] {
      refuseFollower(follower, code, at: now)
    }
  }

  private mutating func refuseFollower(
    _ batch: PendingBatch, _ code: RefusalCode, at now: Moment
  ) {
    refuse(batch, code, "it follows on a batch that was refused: connect again", at: now)
  }

  private mutating func sendIfJoined(_ frame: Frame, to id: ConnectionID) {
    guard connections[id]?.session != nil else { return }
    send(frame, to: id)
  }

  private mutating func settle(_ batch: PendingBatch) {
    connections[batch.connection]?.unsettledBytes -= batch.delta.count
    updateReading(batch.connection)
  }

  // MARK: - Storage failures

  mutating func storageFailed(_ fault: StorageFault, at now: Moment) {
    // A damaged workspace is no reason to keep the others waiting.
    if fault.code != .corrupt { storageFailedAt = now.uptimeMilliseconds }
    act(.report(.storageFailed(fault)))
  }

  mutating func storageWorked() {
    guard storageFailedAt != nil else { return }
    storageFailedAt = nil
    act(.report(.storageRecovered))
  }

  mutating func refuseForStorage(_ id: ConnectionID, at now: Moment) {
    refuse(
      id, .storageFailed, "the server cannot read or write its data now",
      retryAfter: UInt32(clamping: configuration.storageRetryMilliseconds), at: now)
  }

  private mutating func refuseForStorage(_ batch: PendingBatch, at now: Moment) {
    refuse(
      batch, .storageFailed, "the server cannot store now; nothing of the batch is stored",
      retryAfter: UInt32(clamping: configuration.storageRetryMilliseconds), at: now)
  }

  mutating func refuseInbox(of id: WorkspaceID, at now: Moment) {
    for batch in workspaces[id]?.drainInbox() ?? [] { refuseForStorage(batch, at: now) }
    refuseRequests(of: id)
  }
}
