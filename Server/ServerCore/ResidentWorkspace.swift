import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// A workspace in memory: the durable state that others have seen, and the content, which may be
/// ahead of it by the one transaction in flight.
///
/// `content` changes when a batch is staged; `head` changes when the store has it. If the store
/// fails, the content is discarded and read again. So nothing is sent before it is durable, and no
/// copy of the content is kept.
struct ResidentWorkspace: Sendable {
  let id: WorkspaceID
  /// The latest mark of the store that is known here.
  var mark: WorkspaceMark
  var log = WorkspaceLog()
  var devices: [DeviceID: Device] = [:]
  /// nil after a failure and after long silence; it is read again before the next batch.
  var content: Workspace?
  /// Leases and granted attempts; ahead of the store by the transaction in flight, like the
  /// content.
  private var authority = Authority()
  /// Requests to the authority.
  var requests = PendingRequests()
  /// The inboxes of the devices; ahead of the store like the authority.
  var inboxes: ServerInboxes
  /// The displayed statuses of running tasks; ahead of the store like the inboxes.
  var liveStatus: LiveStatuses
  /// Batches that wait for validation, in order of arrival.
  private var waitingBatches: [PendingBatch] = []
  /// Offered states of devices that wait to be joined.
  var joins = StateJoins()
  var allowance = WorkspaceAllowance()
  var usedAt: Int64
  var presenceSentAt: Int64 = .min / 2

  init(
    id: WorkspaceID, loaded: LoadedWorkspace, configuration: ServerConfiguration, at now: ServerTime
  ) {
    self.id = id
    mark = loaded.header.mark
    usedAt = now.uptimeMilliseconds
    inboxes = ServerInboxes(
      loaded.header.inboxes,
      patienceMilliseconds: configuration.notifications.patienceMilliseconds, uptime: usedAt)
    liveStatus = LiveStatuses(loaded.header.inboxes.statuses, now: now)
    refresh(from: loaded, at: now)
  }

  /// Whether batches or requests wait.
  var hasWork: Bool { !waitingBatches.isEmpty || requests.waitingCount > 0 || hasInboxWork }
  /// Whether changes of the inboxes wait to be stored.
  var hasInboxWork: Bool { inboxes.hasWork || liveStatus.hasStaged }
  /// Whether nothing waits or is being processed.
  var isIdle: Bool { isQuiet && !hasWork && joins.isEmpty }
  /// Whether no later notification is planned, and no device has used its shares.
  func maySleep(at now: ServerTime) -> Bool {
    !inboxes.awaitsPush && !inboxes.isLookFresh(uptime: now.uptimeMilliseconds)
      && liveStatus.isEmpty && devices.values.allSatisfy { $0.isRested(at: now) }
  }
  /// Whether nothing is in flight: the content is exactly the durable state.
  var isQuiet: Bool { log.isQuiet }

  /// Adopts the state read from the store.
  mutating func refresh(from loaded: LoadedWorkspace, at now: ServerTime) {
    let header = loaded.header
    log.refresh(from: loaded)
    for device in header.devices { note(device) }
    authority = Authority(
      header.authority, uptime: now.uptimeMilliseconds, wall: now.wallMilliseconds)
    content = loaded.workspace
    if inboxes.areLost {
      inboxes.readAgain(header.inboxes, uptime: now.uptimeMilliseconds)
      liveStatus = LiveStatuses(header.inboxes.statuses, now: now)
    }
    allowance.refresh(from: header)
    // A joined state may have settled some of them.
    endRequests()
    endMerges()
  }

  mutating func enqueue(_ batch: PendingBatch) {
    waitingBatches.append(batch)
  }

  /// Removes and returns all waiting batches, to refuse them.
  mutating func takeWaitingBatches() -> [PendingBatch] {
    defer { waitingBatches = [] }
    return waitingBatches
  }

  /// The store lost the staged changes: the content is ahead of it, and must be read again.
  mutating func stagedWasLost() {
    content = nil
    log.stagedWasLost()
  }

  /// The store lost the changes of the inboxes: everything is read again.
  mutating func inboxesWereLost() {
    inboxes.wereLost()
    liveStatus.stagedWasLost()
    stagedWasLost()
  }

  /// Hands a snapshot to the store, if it would save a good part of the next load.
  ///
  /// - Returns: the state at the head; nil if none is due.
  mutating func beginSnapshot(_ configuration: ServerConfiguration) -> Workspace? {
    let tailBytesMax = allowance.tailBytesMax(configuration)
    guard !joins.isUnderWay, let content,
      log.wantsSnapshot(configuration.log, tailBytesMax: tailBytesMax)
    else { return nil }
    log.snapshotBegan()
    return content
  }

  /// Whether a load would read much after the latest snapshot.
  func hasLongTail(_ configuration: ServerConfiguration) -> Bool {
    log.isTailLong(allowance.tailBytesMax(configuration))
  }

  /// Decides the waiting and open requests. None is answered while the content is not loaded.
  ///
  /// - Parameter isConnected: whether a store has a connection.
  mutating func answerRequests(
    at now: ServerTime, isConnected: (LeaseHolder) -> Bool
  ) -> [(PendingRequest, PendingRequests.Outcome)] {
    guard let content else { return [] }
    return requests.answer(by: &authority, in: content, at: now) { [devices] holder in
      isConnected(holder) ? nil : devices[holder.device]?.lastSeenAt ?? 0
    }
  }
}

/// A batch as it came from a client.
struct PendingBatch: Hashable, Sendable {
  var connection: ConnectionID
  var workspace: WorkspaceID
  var device: DeviceID
  var batch: UInt64
  var delta: [UInt8]
  /// Whether its stamps are too far ahead: then its author receives it as it is in the log.
  var getsOtherStamps = false
}

extension ResidentWorkspace {
  /// The result of staging the first waiting batch.
  enum Staging: Sendable {
    case nothingWaits
    case needsContent
    /// It repeats operations that may be in flight; examine it again when they are durable.
    case blockedUntilDurable
    case refused(PendingBatch, Rejection)
    /// All of it is already in the log.
    case duplicate(PendingBatch, LogPrefix)
    /// Validated and applied to the content, with the events for users.
    case staged(PendingBatch, LogEntry, [NotificationChange])
    /// The content contradicts the validation and must be read again.
    case contentBroken(PendingBatch)
  }

  /// Why a batch is refused.
  struct Rejection: Hashable, Sendable {
    var code: RefusalCode
    var message: String
    var retryAfterMilliseconds: UInt32?

    static func invalid(_ message: String) -> Rejection {
      Rejection(code: .invalidChanges, message: message)
    }

    static func storageFailed(_ times: ServerConfiguration.Times) -> Rejection {
      Rejection(
        code: .storageFailed,
        message: "the server cannot store now; nothing of the batch is stored",
        retryAfterMilliseconds: UInt32(clamping: times.storageRetryMilliseconds))
    }
  }

  /// Validates and applies the first waiting batch.
  ///
  /// - Parameter work: increased by one, and by the number of its operations.
  mutating func stageNext(
    _ configuration: ServerConfiguration, work: inout Int, at now: ServerTime
  ) -> Staging {
    guard let batch = waitingBatches.first else { return .nothingWaits }
    guard let vector = content?.vector else { return .needsContent }
    work += 1
    let operations: [Operation]
    let examination: BatchExamination
    do {
      operations = try PackedDelta.unpack(batch.delta)
      work += operations.count
      examination = try BatchExamination(operations, given: vector)
    } catch let error as WireError {
      return refuseFirst(.invalid(error.message))
    } catch let defect as BatchExamination.BatchError {
      return refuseFirst(Rejection(code: defect.code, message: defect.message))
    } catch {
      return refuseFirst(.invalid("the delta cannot be read"))
    }
    guard !operations.isEmpty else { return refuseFirst(.invalid("the delta holds no operations")) }
    // The answer must come after the entry that it is about.
    if examination.hasKnown, !isQuiet { return .blockedUntilDurable }
    if examination.fresh.isEmpty { return .duplicate(waitingBatches.removeFirst(), log.head) }
    if let rejection = rejection(to: examination.fresh, of: batch, configuration, at: now) {
      return refuseFirst(rejection)
    }
    return applyFirst(examination, configuration, at: now)
  }

  private mutating func refuseFirst(_ rejection: Rejection) -> Staging {
    .refused(waitingBatches.removeFirst(), rejection)
  }

  private mutating func applyFirst(
    _ examination: BatchExamination, _ configuration: ServerConfiguration, at now: ServerTime
  ) -> Staging {
    var batch = waitingBatches.removeFirst()
    // Once, before it has a place in the log: logged operations never change.
    let stamped = examination.fresh.lowered(
      to: now.wallMilliseconds + configuration.devices.stampAheadMillisecondsMax,
      behind: content?.latestStamp ?? .zero)
    let lowered =
      (stamped ?? examination.fresh)
      .lowered(toToken: authority.tokenCeiling(wall: now.wallMilliseconds)) ?? stamped
    batch.getsOtherStamps = lowered != nil
    let operations = lowered ?? examination.fresh
    let reading = content.map { BatchChanges(operations, before: $0) }
    do {
      let outcome = try content?.merge(operations)
      guard let outcome, outcome.waiting == 0 else { return .contentBroken(batch) }
    } catch {
      let code: RefusalCode =
        if case .limitReached = error { .limitReached } else { .invalidChanges }
      return .refused(batch, Rejection(code: code, message: error.description))
    }
    noteReplicas(operations, of: batch.device, configuration, at: now)
    let isAsSent = lowered == nil && !examination.hasKnown
    let delta = isAsSent ? batch.delta : PackedDelta.pack(operations)
    log.stage(delta)
    requests.queuesChanged()
    if let reading, let content {
      endRequests(in: reading.sessionsThatMayAwaitLess(after: content))
      endMerges(changedBy: operations)
    }
    var news: [NotificationChange] = []
    if let reading, !reading.isEmpty, let content {
      news = reading.news(
        after: content, wall: now.wallMilliseconds,
        ageMax: configuration.notifications.ageMillisecondsMax
      ) {
        content.device(of: $0)?.id
      }
      liveStatus.concerns(reading.sessionsWithTasks(after: content))
    }
    allowance.took(delta.count, at: now)
    return .staged(batch, LogEntry(prefix: log.stagedHead, content: .delta(delta)), news)
  }

  /// The objection to new operations that are causally ready, if any.
  private func rejection(
    to operations: [Operation], of batch: PendingBatch, _ configuration: ServerConfiguration,
    at now: ServerTime
  ) -> Rejection? {
    var announcesReplica = false
    for operation in operations {
      let isAnnouncement: Bool
      if case .announceDevice = operation.body {
        isAnnouncement = true
      } else {
        isAnnouncement = false
      }
      guard isAnnouncement == (operation.id.seq == 1) else {
        return .invalid("the first operation of a replica, and only that, must announce its device")
      }
      announcesReplica = announcesReplica || isAnnouncement
    }
    if let content, BatchCosts(operations, on: content).isTooMuch {
      return Rejection(
        code: .limitReached,
        message: "a session or a message has at most \(WireLimits.elementTagsMax) tags of a kind, "
          + "and at most as many introductions")
    }
    if let rejection = roleObjection(to: operations, of: batch) { return rejection }
    if let rejection = allowance.objection(
      to: batch.delta.count, on: log, units: content?.units ?? 0, configuration.quota, at: now)
    {
      return rejection
    }
    guard announcesReplica, var replicas = devices[batch.device]?.replicas else { return nil }
    replicas.spend(
      configuration.devices.replicas.seconds, uptimeMilliseconds: now.uptimeMilliseconds)
    guard replicas.isEmpty else { return nil }
    return Rejection(
      code: .rateLimited,
      message: "the device draws replica ids too fast: more than "
        + "\(configuration.devices.replicas.burst) at once, or one in \(configuration.devices.replicas.seconds) s",
      retryAfterMilliseconds: UInt32(clamping: configuration.devices.replicas.seconds * 1_000))
  }

  private mutating func noteReplicas(
    _ operations: [Operation], of device: DeviceID, _ configuration: ServerConfiguration,
    at now: ServerTime
  ) {
    let drawn = operations.count { $0.id.seq == 1 }
    guard drawn > 0 else { return }
    var bucket =
      devices[device]?.replicas
      ?? TokenBucket(
        perSecond: 1,
        burst: Int64(configuration.devices.replicas.burst * configuration.devices.replicas.seconds),
        uptimeMilliseconds: now.uptimeMilliseconds)
    bucket.spend(
      drawn * configuration.devices.replicas.seconds, uptimeMilliseconds: now.uptimeMilliseconds)
    devices[device]?.replicas = bucket
  }
}

extension MergeError {
  /// The fault, for the sender.
  var description: String {
    switch self {
    case .invalidReference(let operation, let reference, let reason):
      "operation \(operation) refers to \(reference): \(reason)"
    case .invalidOperation(let operation, let reason):
      "operation \(operation): \(reason)"
    case .originsOutOfOrder(let operation):
      "operation \(operation): its right origin is before its left one"
    case .tooManyPending(let max):
      "more than \(max) operations wait for others"
    case .limitReached(_, let what, let max):
      "a workspace holds at most \(max) \(what)"
    case .invalidImage(let reason):
      "the image contradicts itself: \(reason)"
    }
  }
}
