import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// A workspace in memory: what is durable and told to others, and the content, which may be ahead
/// of it by the one transaction in flight.
///
/// `content` changes when a batch is staged; `head` changes when the store has it. If the store fails,
/// the content is thrown away and read again. So nothing that is not durable is ever told to anybody,
/// and no copy of the content has to be kept.
struct ResidentWorkspace: Sendable {
  /// A device of the workspace, as presence shows it.
  struct Device: Hashable, Sendable {
    var name: String
    var seen: UInt64
    /// Positions after `seen` that the device wrote itself, in order.
    var authored: [UInt64] = []
    var needsTouch = false
    /// Milliseconds since 1970; nil for never.
    var lastSeenAt: Int64?
    var role = DeviceRole.host
    /// How many replica ids it may still draw; nil before the first.
    var replicas: TokenBucket?
    /// How often the whole state may still be packed for it; nil before the first time.
    var snapshots: TokenBucket?

    /// Takes note of what the device has stored, its own entries included.
    mutating func advance(to position: UInt64) {
      seen = max(seen, position)
      while let next = authored.first, next <= seen + 1 {
        seen = max(seen, next)
        authored.removeFirst()
      }
    }

    /// Takes note of an entry that came from the device itself.
    mutating func wrote(_ position: UInt64) {
      authored.append(position)
      advance(to: seen)
      if authored.count > 1_000 { authored.removeFirst() }
    }
  }

  let id: WorkspaceID
  private(set) var name: String
  /// The durable log.
  private(set) var head: LogPrefix
  var devices: [DeviceID: Device]

  /// nil after a failure and after long silence: to be read again before the next batch.
  var content: Workspace?
  /// The log with what is staged; equals `head` when nothing is in flight.
  private(set) var stagedHead: LogPrefix

  /// Who runs which session's messages, and what was let out; ahead of the store by the transaction
  /// in flight, as the content is.
  var authority: Authority
  /// Questions to the authority that wait for their turn.
  var requests: [PendingRequest] = []
  /// Requests for the next message, by session: they wait for one that may start.
  var standing: [SessionID: PendingRequest] = [:]
  /// The queues have changed since those were looked at.
  var standingIsDue = false
  /// The inboxes of the devices; ahead of the store as the authority is.
  var inboxes: ServerInboxes
  /// The store did not take what the inboxes say: they are to be read again.
  var inboxesAreLost = false
  /// What is shown in place of running tasks; ahead of the store as the inboxes are.
  var liveStatus: LiveStatuses
  /// Sessions whose tasks the batch that was staged last says something of.
  var stagedTasks: Set<SessionID> = []
  /// What is to be told of tasks once it is stored.
  var stagedStatuses: [LiveStatusChange] = []
  /// Answers that wait for the inboxes to be stored.
  var inboxAnswers: [(connection: ConnectionID, response: Response)] = []
  /// Batches that wait for validation, in order of arrival.
  private(set) var inbox: [PendingBatch] = []
  /// Connections that get what others write, in any order.
  var members: Set<ConnectionID> = []
  var usedAt: Int64
  /// Devices' states that wait to be joined.
  var offers: [OfferedState] = []
  /// The store joins one; nothing is staged meanwhile.
  var isJoining = false
  var presenceSentAt: Int64 = .min / 2
  /// What the owner allows it, and what it took today.
  var quota = WorkspaceQuota()
  private(set) var written = DailyWrites()
  private(set) var tailEntries = 0
  private(set) var tailBytes = 0
  private(set) var snapshotBytes = 0
  /// The entries and bytes that the snapshot being saved covers.
  private var snapshotInFlight: (entries: Int, bytes: Int)?

  init(
    id: WorkspaceID, loaded: LoadedWorkspace, configuration: ServerConfiguration, at now: ServerTime
  ) {
    self.id = id
    name = ""
    head = .empty
    stagedHead = .empty
    devices = [:]
    usedAt = now.uptimeMilliseconds
    authority = Authority()
    inboxes = ServerInboxes(
      loaded.header.inboxes, patienceMilliseconds: configuration.notificationMilliseconds,
      uptime: usedAt)
    liveStatus = LiveStatuses(loaded.header.inboxes.statuses, now: now)
    refresh(from: loaded, at: now)
  }

  /// Batches or requests wait.
  var hasWork: Bool { !inbox.isEmpty || !requests.isEmpty || hasInboxWork }
  /// Something of the inboxes waits to be stored.
  var hasInboxWork: Bool {
    inboxes.hasChanges || !inboxAnswers.isEmpty || !stagedStatuses.isEmpty
  }

  /// Nothing is in flight: the content is exactly what is durable.
  var isQuiet: Bool { stagedHead == head }

  /// Takes over what was read from the store.
  mutating func refresh(from loaded: LoadedWorkspace, at now: ServerTime) {
    let header = loaded.header
    name = header.name
    head = header.head
    stagedHead = header.head
    for device in header.devices { note(device) }
    authority = Authority(
      header.authority, uptime: now.uptimeMilliseconds, wall: now.wallMilliseconds)
    content = loaded.workspace
    if inboxesAreLost {
      inboxesAreLost = false
      let lookedAt = inboxes.lookedAt
      inboxes = ServerInboxes(
        header.inboxes, patienceMilliseconds: inboxes.patienceMilliseconds,
        uptime: now.uptimeMilliseconds)
      inboxes.lookedAt = lookedAt
      liveStatus = LiveStatuses(header.inboxes.statuses, now: now)
    }
    quota = header.quota
    written = header.written
    tailEntries = loaded.tailEntries
    tailBytes = loaded.tailBytes
    snapshotBytes = loaded.snapshotBytes
  }

  mutating func enqueue(_ batch: PendingBatch) {
    inbox.append(batch)
  }

  /// Takes all waiting batches, to refuse them.
  mutating func drainInbox() -> [PendingBatch] {
    defer { inbox = [] }
    return inbox
  }

  /// The store has everything staged.
  mutating func stagedBecameDurable(_ append: LogAppend) {
    head = append.prefix
    tailEntries += 1
    tailBytes += append.delta.count
  }

  /// The store has nothing of what was staged: the content is ahead of it and useless.
  mutating func stagedWasLost() {
    content = nil
    stagedHead = head
  }

  /// Whether a snapshot would save a good part of the next load.
  func wantsSnapshot(_ configuration: ServerConfiguration) -> Bool {
    guard isQuiet, snapshotInFlight == nil, content != nil else { return false }
    return tailEntries >= configuration.snapshotEntriesMax
      || tailEntries >= configuration.snapshotEntries && tailBytes >= snapshotBytes / 2
  }

  /// A snapshot of the state at `head` was handed to the store.
  mutating func snapshotBegan() {
    snapshotInFlight = (tailEntries, tailBytes)
  }

  /// The snapshot was stored; nil where that failed, to be tried again after the next commit.
  mutating func snapshotEnded(bytes: Int?) {
    guard let covered = snapshotInFlight else { return }
    snapshotInFlight = nil
    guard let bytes else { return }
    tailEntries = max(tailEntries - covered.entries, 0)
    tailBytes = max(tailBytes - covered.bytes, 0)
    snapshotBytes = bytes
  }

  /// Takes note of a device as it is stored.
  mutating func note(_ record: DeviceRecord) {
    devices[record.id, default: Device(name: record.name, seen: 0)].advance(
      to: record.seenLogPosition)
    devices[record.id]?.role = record.role
    if let seenAt = record.lastSeenAt {
      let known = devices[record.id]?.lastSeenAt ?? seenAt
      devices[record.id]?.lastSeenAt = max(known, seenAt)
    }
  }

  /// Up to where every device has the log that may still come back with a prefix of it.
  ///
  /// - Parameter connected: the devices that are there now.
  func positionSeenByAll(
    connected: Set<DeviceID>, since wallMilliseconds: Int64
  ) -> UInt64 {
    devices.reduce(head.position) { position, entry in
      let counts =
        connected.contains(entry.key) || entry.value.lastSeenAt ?? .min >= wallMilliseconds
      return counts ? min(position, entry.value.seen) : position
    }
  }
}

/// A batch as it came from a client.
struct PendingBatch: Hashable, Sendable {
  var connection: ConnectionID
  var device: DeviceID
  var batch: UInt64
  var delta: [UInt8]
}

extension ResidentWorkspace {
  /// What became of the first batch of the inbox.
  enum Staging: Sendable {
    case nothingWaits
    case needsContent
    /// It repeats what may be being stored right now: look again afterwards.
    case blockedUntilDurable
    case refused(PendingBatch, Rejection)
    /// All of it is in the log.
    case duplicate(PendingBatch, LogPrefix)
    /// Validated and applied to the content; this is what people are told of it.
    case staged(PendingBatch, LogAppend, [NotificationChange])
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
  }

  /// Validates and applies the first waiting batch.
  ///
  /// - Parameter work: grows by what it holds: one, and its operations.
  mutating func stageNext(
    _ configuration: ServerConfiguration, work: inout Int, at now: ServerTime
  ) -> Staging {
    guard let batch = inbox.first else { return .nothingWaits }
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
    // The answer has to come behind the entry that it is about.
    if examination.hasKnown, !isQuiet { return .blockedUntilDurable }
    if examination.fresh.isEmpty { return .duplicate(inbox.removeFirst(), head) }
    if let rejection = rejection(to: examination.fresh, of: batch, configuration, at: now) {
      return refuseFirst(rejection)
    }
    return applyFirst(examination, configuration, at: now)
  }

  private mutating func refuseFirst(_ rejection: Rejection) -> Staging {
    .refused(inbox.removeFirst(), rejection)
  }

  private mutating func applyFirst(
    _ examination: BatchExamination, _ configuration: ServerConfiguration, at now: ServerTime
  ) -> Staging {
    let batch = inbox.removeFirst()
    // Once, before it has a place in the log: what is logged never changes.
    let stamped = examination.fresh.lowered(
      to: now.wallMilliseconds + configuration.stampAheadMillisecondsMax,
      behind: content?.latestStamp ?? .zero)
    let lowered =
      (stamped ?? examination.fresh)
      .lowered(toToken: authority.tokenCeiling(wall: now.wallMilliseconds)) ?? stamped
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
    stagedHead = stagedHead.appending(delta)
    standingIsDue = true
    var news: [NotificationChange] = []
    if let reading, !reading.isEmpty, let content {
      news = reading.news(
        after: content, wall: now.wallMilliseconds,
        ageMax: configuration.notificationAgeMilliseconds
      ) {
        content.device(of: $0)?.id
      }
      stagedTasks.formUnion(reading.sessionsWithTasks(after: content))
    }
    let append = LogAppend(
      workspace: id, prefix: stagedHead, delta: delta, hasOtherStamps: lowered != nil,
      wallMilliseconds: now.wallMilliseconds)
    written.add(delta.count, at: now.wallMilliseconds)
    return .staged(batch, append, news)
  }

  /// What speaks against new operations that are causally ready, if anything.
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
        return .invalid("the first operation of a replica, and no other, announces its device")
      }
      announcesReplica = announcesReplica || isAnnouncement
    }
    if let content, BatchCosts(operations, on: content).isTooMuch {
      return Rejection(
        code: .limitReached,
        message: "a session or a message has at most \(WireLimits.elementTagsMax) tags of a kind, "
          + "and is introduced as often")
    }
    if let rejection = roleObjection(to: operations, of: batch) { return rejection }
    if let rejection = quotaObjection(to: batch, configuration, at: now) { return rejection }
    guard announcesReplica, var replicas = devices[batch.device]?.replicas else { return nil }
    replicas.spend(configuration.replicas.seconds, uptimeMilliseconds: now.uptimeMilliseconds)
    guard replicas.isEmpty else { return nil }
    return Rejection(
      code: .rateLimited,
      message: "the device draws replica ids too fast: more than "
        + "\(configuration.replicas.burst) at once, or one in \(configuration.replicas.seconds) s",
      retryAfterMilliseconds: UInt32(clamping: configuration.replicas.seconds * 1_000))
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
        perSecond: 1, burst: Int64(configuration.replicas.burst * configuration.replicas.seconds),
        uptimeMilliseconds: now.uptimeMilliseconds)
    bucket.spend(
      drawn * configuration.replicas.seconds, uptimeMilliseconds: now.uptimeMilliseconds)
    devices[device]?.replicas = bucket
  }
}

extension MergeError {
  /// What is wrong, for the sender.
  var description: String {
    switch self {
    case .invalidReference(let operation, let reference, let reason):
      "operation \(operation) refers to \(reference): \(reason)"
    case .invalidOperation(let operation, let reason):
      "operation \(operation): \(reason)"
    case .originsOutOfOrder(let operation):
      "operation \(operation): its right origin stands before its left one"
    case .tooManyPending(let max):
      "more than \(max) operations wait for others"
    case .limitReached(_, let what, let max):
      "a workspace holds at most \(max) \(what)"
    case .invalidImage(let reason):
      "the image contradicts itself: \(reason)"
    }
  }
}
