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
      // After goAway nothing new is taken; the client sends it again elsewhere.
      guard stopping == nil else { return }
      connections[id]?.unsettledBytes += changes.delta.count
      updateReading(id)
      let batch = PendingBatch(
        connection: id, device: session.device, batch: changes.batch, delta: changes.delta)
      guard session.role != .viewer else {
        return refuse(
          batch, .notAllowed, "the device was paired to view, and changes nothing", at: now)
      }
      workspaces[session.workspace]?.enqueue(batch)
      markReady(session.workspace)
      stageCommit(at: now)
    case .ack(let ack):
      guard let head = workspaces[session.workspace]?.head,
        let device = workspaces[session.workspace]?.devices[session.device]
      else { return }
      var advanced = device
      advanced.advance(to: min(ack.prefix.position, head.position))
      guard advanced != device else { return }
      workspaces[session.workspace]?.devices[session.device] = advanced
      touch(session.device, of: session.workspace)
      presenceDue.insert(session.workspace)
      sendPresenceIfDue(of: session.workspace, at: now)
    case .request(let request):
      requested(request, by: connection, session, at: now, using: &generator)
    case .notified(let position):
      notified(through: position, on: id, by: session, at: now)
    case .unknownOptional:
      break
    case .error(let fault):
      act(.report(.faulted(id, message: "the client says: \(fault.message)")))
      close(id, .normal, "the client cannot go on")
    case .snapshot(let part):
      offered(part, by: connection, session, at: now)
    case .pair, .paired, .hello, .welcome, .refused, .response, .presence, .goAway, .notification,
      .answered:
      fault(id, .unexpected, "a client does not send this frame after hello")
    }
  }

  mutating func markReady(_ workspace: WorkspaceID) {
    ready.enter(workspace)
  }

  // MARK: - Staging

  /// Validates what waits, and hands it to the store in one transaction, unless one is in flight.
  mutating func stageCommit(at now: ServerTime) {
    guard commitInFlight == nil else { return }
    if storeHealth.isLeftAlone(at: now) {
      for workspace in ready.takeAll() { refuseInbox(of: workspace, at: now) }
      return
    }
    var commit = CommitInFlight()
    let isFull = stageReady(into: &commit, at: now)
    let touchesAreDue =
      !commit.entries.isEmpty || stopping != nil
      || now.uptimeMilliseconds - touchedAt >= configuration.touchMilliseconds
    if touchesAreDue {
      touchedAt = now.uptimeMilliseconds
      commit.touches = takeTouches(at: now)
    }
    // Where all was refused and more waits, the store's answer to nothing is the next turn.
    guard !commit.isEmpty || isFull else {
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

  /// Stages a batch of one workspace after the other, as `ReadyWorkspaces` says, until nothing waits or the
  /// commit is full. Who had much more work done than the first waits for the next commit, so that the
  /// first need not wait for what is dear.
  ///
  /// - Returns: whether it is full.
  private mutating func stageReady(into commit: inout CommitInFlight, at now: ServerTime) -> Bool {
    // Who is blocked until then enters for the next commit.
    ready.beginRound()
    var end = Int.max
    while !commit.isFull(configuration), let id = ready.next(before: end) {
      end = min(end, ready.level + configuration.commits.operationsMax)
      let before = commit.work
      let hasMore = stageOne(of: id, into: &commit, at: now)
      ready.worked(commit.work - before, for: id, hasMore: hasMore)
    }
    return ready.endRound()
  }

  /// - Returns: whether more of it may wait that can be staged now.
  private mutating func stageOne(
    of id: WorkspaceID, into commit: inout CommitInFlight, at now: ServerTime
  ) -> Bool {
    guard
      workspaces[id]?.isJoining != true,
      let staging = workspaces[id]?.stageNext(configuration, work: &commit.work, at: now)
    else { return false }
    switch staging {
    case .nothingWaits:
      stageRequests(id, into: &commit, at: now)
      stageInboxes(id, into: &commit)
      return false
    case .needsContent:
      load(id)
      return false
    case .blockedUntilDurable:
      markReady(id)
      return false
    case .refused(let batch, let refusal):
      refuse(
        batch, refusal.code, refusal.message, retryAfter: refusal.retryAfterMilliseconds, at: now)
    case .duplicate(let batch, let prefix):
      acknowledge(batch, at: prefix)
    case .staged(let batch, let append, let news):
      commit.bytes += append.delta.count
      commit.entries.append((batch, append))
      post(news, to: id, at: now)
      workspaces[id]?.stageTasks(at: now)
      stageInboxes(id, into: &commit)
    case .contentBroken(let batch):
      refuse(
        batch, .invalidChanges, "the operations are not causally ready", at: now)
      // Read again after the commit in flight; until then nothing more is staged.
      workspaces[id]?.content = nil
      markReady(id)
      return false
    }
    return true
  }

  private mutating func takeTouches(at now: ServerTime) -> [DeviceTouch] {
    var touches: [DeviceTouch] = []
    for id in touchesDue.sorted() {
      touches += workspaces[id]?.takeTouches(at: now) ?? []
    }
    touchesDue = []
    return touches
  }

  // MARK: - The store's answers

  /// The store has done a task.
  mutating func finished(_ purpose: Purpose, _ outcome: StoreOutcome, at now: ServerTime) {
    switch purpose {
    case .redeem(let id, let request, let source):
      redeemed(id, by: request, from: source, outcome, at: now)
    case .authenticate(let id): authenticated(id, outcome, at: now)
    case .addCode(let id, let request, let code, let proposal):
      codeAdded(code, proposal, for: id, request, outcome, at: now)
    case .findLapsed: foundLapsed(outcome, at: now)
    case .load(let id): loaded(id, outcome, at: now)
    case .catchUp(let id): caughtUp(id, outcome, at: now)
    case .packSnapshot(let state): packed(state, outcome, at: now)
    case .commit: committed(outcome, at: now)
    case .join(let id, let connection): joined(id, from: connection, outcome, at: now)
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
      case .snapshotSaved(let bytes): workspaces[id]?.snapshotEnded(bytes: bytes)
      case .failed(let fault):
        workspaces[id]?.snapshotEnded(bytes: nil)
        storageFailed(fault, at: now)
      default: preconditionFailure("the store answered another question")
      }
    }
  }

  private mutating func committed(_ outcome: StoreOutcome, at now: ServerTime) {
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
        joinIfPossible(id, at: now)
        saveSnapshotIfDue(id, at: now)
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
      for (workspace, _) in commit.inboxes { workspaces[workspace]?.inboxesWereLost() }
      deliverFailure(of: commit.answers)
      for post in commit.posts { act(.answerSettled(post.id, .unavailable)) }
      for id in Set(commit.entries.map(\.append.workspace)).sorted() {
        resumeJoins(of: id, at: now)
        joinIfPossible(id, at: now)
      }
    default:
      preconditionFailure("the store answered another question")
    }
    stageCommit(at: now)
  }

  /// A batch became durable: tell its author, and everybody else.
  private mutating func publish(_ batch: PendingBatch, _ append: LogAppend) {
    let prefix = append.prefix
    workspaces[append.workspace]?.stagedBecameDurable(append)
    workspaces[append.workspace]?.devices[batch.device]?.wrote(prefix.position)
    touch(batch.device, of: append.workspace)
    presenceDue.insert(append.workspace)
    if append.hasOtherStamps {
      settle(batch)
      sendIfJoined(
        .changes(Changes(batch: batch.batch, prefix: prefix, delta: append.delta)),
        to: batch.connection)
    } else {
      acknowledge(batch, at: prefix)
    }
    let frame = FrameCodec.encode(
      .changes(Changes(batch: 0, prefix: prefix, delta: append.delta)))
    // A copied data directory is a second store of the same device: it needs the batch too.
    let members = workspaces[append.workspace]?.members ?? []
    broadcast(frame, to: members.sorted().filter { $0 != batch.connection })
  }

  private mutating func saveSnapshotIfDue(_ id: WorkspaceID, at now: ServerTime) {
    guard let resident = workspaces[id], resident.wantsSnapshot(configuration),
      !resident.isJoining, let content = resident.content
    else { return }
    workspaces[id]?.snapshotBegan()
    let seen = resident.positionSeenByAll(
      connected: connectedDevices(of: resident),
      since: now.wallMilliseconds - configuration.logRetentionMilliseconds)
    ask(
      .saveSnapshot(id, content, prefix: resident.head, truncatingBefore: seen),
      for: .saveSnapshot(id))
  }

  func connectedDevices(of resident: ResidentWorkspace) -> Set<DeviceID> {
    Set(resident.members.compactMap { connections[$0]?.session?.device })
  }

  // MARK: - Answers to batches

  private mutating func acknowledge(_ batch: PendingBatch, at prefix: LogPrefix) {
    settle(batch)
    sendIfJoined(.ack(Ack(batch: batch.batch, prefix: prefix)), to: batch.connection)
  }

  private mutating func refuse(
    _ batch: PendingBatch, _ code: RefusalCode, _ message: String, retryAfter: UInt32? = nil,
    at now: ServerTime
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

  private mutating func sendIfJoined(_ frame: Frame, to id: ConnectionID) {
    guard connections[id]?.session != nil else { return }
    send(frame, to: id)
  }

  private mutating func settle(_ batch: PendingBatch) {
    connections[batch.connection]?.unsettledBytes -= batch.delta.count
    updateReading(batch.connection)
  }

  // MARK: - Storage failures

  mutating func storageFailed(_ fault: StorageFault, at now: ServerTime) {
    storeHealth.failed(fault, at: now)
    act(.report(.storageFailed(fault)))
  }

  mutating func storageWorked() {
    if storeHealth.worked() { act(.report(.storageRecovered)) }
  }

  mutating func refuseForStorage(_ id: ConnectionID, at now: ServerTime) {
    refuse(
      id, .storageFailed, "the server cannot read or write its data now",
      retryAfter: UInt32(clamping: configuration.storageRetryMilliseconds), at: now)
  }

  private mutating func refuseForStorage(_ batch: PendingBatch, at now: ServerTime) {
    refuse(
      batch, .storageFailed, "the server cannot store now; nothing of the batch is stored",
      retryAfter: UInt32(clamping: configuration.storageRetryMilliseconds), at: now)
  }

  mutating func refuseInbox(of id: WorkspaceID, at now: ServerTime) {
    for batch in workspaces[id]?.drainInbox() ?? [] { refuseForStorage(batch, at: now) }
    refuseRequests(of: id)
  }
}

extension ResidentWorkspace {
  /// The devices whose rows in the store are out of date, by id.
  fileprivate mutating func takeTouches(at now: ServerTime) -> [DeviceTouch] {
    devices.filter(\.value.needsTouch).sorted { $0.key < $1.key }.map { device, record in
      devices[device]?.needsTouch = false
      devices[device]?.lastSeenAt = now.wallMilliseconds
      return DeviceTouch(
        workspace: id, device: device, name: record.name, seenLogPosition: record.seen,
        wallMilliseconds: now.wallMilliseconds)
    }
  }
}
