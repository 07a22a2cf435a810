import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// A workspace in memory: what is durable and told to others, and the content, which may be ahead
/// of it by the one transaction in flight.
///
/// `content` changes when a batch is staged; `head`, `marks` and `committed` change when the
/// store has it. If the store fails, the content is thrown away and read again. So nothing that
/// is not durable is ever told to anybody, and no copy of the content has to be kept.
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
  private(set) var logIdentity: UInt64
  private(set) var epoch: UInt64
  /// The operations that the log no longer holds, because the epoch's base does.
  private(set) var floor = VersionVector()
  /// The position of the base.
  private(set) var basePosition: UInt64 = 0
  /// The position of the last durable log entry.
  private(set) var head: UInt64
  /// The durable operations of each replica.
  private(set) var marks: [ReplicaID: ReplicaMark]
  private(set) var committed: VersionVector
  var devices: [DeviceID: Device]

  /// nil after a failure and after long silence: to be read again before the next batch.
  var content: Workspace?
  /// The position of the last staged entry; equals `head` when nothing is in flight.
  private(set) var stagedHead: UInt64
  /// Devices of replicas that are staged and not yet in `marks`.
  private var stagedBindings: [ReplicaID: DeviceID] = [:]

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
  var book: NotificationBook
  /// The store did not take what the book says: it is to be read again.
  var bookIsLost = false
  /// What is shown in place of running tasks; ahead of the store as the inboxes are.
  var liveStatus: LiveStatusBook
  /// Sessions whose tasks the batch that was staged last says something of.
  var stagedTasks: Set<SessionID> = []
  /// What is to be told of tasks once it is stored.
  var stagedStatuses: [LiveStatusChange] = []
  /// Answers that wait for the inboxes to be stored.
  var inboxAnswers: [(connection: ConnectionID, response: Response)] = []
  /// Batches that wait for validation, in order of arrival.
  private(set) var inbox: [PendingBatch] = []
  /// The comparison with the store that the first batch waits for.
  private(set) var comparison: ComparisonID?
  /// Connections that get what others write, in any order.
  var members: Set<ConnectionID> = []
  var usedAt: Int64
  /// What is known about compacting it.
  var compaction = CompactionOutlook()
  var presenceSentAt: Int64 = .min / 2
  private(set) var tailEntries = 0
  private(set) var tailBytes = 0
  private var snapshotBytes = 0
  /// The entries and bytes that the snapshot being saved covers.
  private var snapshotInFlight: (entries: Int, bytes: Int)?

  init(
    id: WorkspaceID, loaded: LoadedWorkspace, configuration: ServerConfiguration, at now: Moment
  ) {
    self.id = id
    name = ""
    logIdentity = 0
    epoch = 0
    head = 0
    stagedHead = 0
    marks = [:]
    committed = VersionVector()
    devices = [:]
    usedAt = now.uptimeMilliseconds
    authority = Authority(uptime: usedAt)
    book = NotificationBook(
      loaded.header.inboxes, patienceMilliseconds: configuration.notificationMilliseconds,
      uptime: usedAt)
    liveStatus = LiveStatusBook(loaded.header.inboxes.statuses, now: now)
    refresh(from: loaded, at: now)
  }

  /// Batches or requests wait.
  var hasWork: Bool { !inbox.isEmpty || !requests.isEmpty || hasInboxWork }
  /// Something of the inboxes waits to be stored.
  var hasInboxWork: Bool {
    book.hasChanges || !inboxAnswers.isEmpty || !stagedStatuses.isEmpty
  }

  /// Nothing is in flight: the content is exactly what is durable.
  var isQuiet: Bool { stagedHead == head }

  /// What `welcome` says, by replica.
  var known: [KnownReplica] {
    marks.values.sorted { $0.replica < $1.replica }.map {
      KnownReplica(replica: $0.replica, seq: $0.seq, digest: $0.digest)
    }
  }

  /// Takes over what was read from the store.
  mutating func refresh(from loaded: LoadedWorkspace, at now: Moment) {
    let header = loaded.header
    name = header.name
    logIdentity = header.logIdentity
    epoch = header.epoch
    basePosition = header.basePosition
    head = header.head
    stagedHead = header.head
    stagedBindings = [:]
    marks = [:]
    committed = VersionVector()
    floor = VersionVector()
    for mark in header.replicas {
      marks[mark.replica] = mark
      committed[mark.replica] = mark.seq
      floor[mark.replica] = mark.baseSeq
    }
    for device in header.devices { note(device) }
    authority = Authority(header.authority, uptime: now.uptimeMilliseconds)
    content = loaded.workspace
    if bookIsLost {
      bookIsLost = false
      book = NotificationBook(
        header.inboxes, patienceMilliseconds: book.patienceMilliseconds,
        uptime: now.uptimeMilliseconds)
      liveStatus = LiveStatusBook(header.inboxes.statuses, now: now)
    }
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
    comparison = nil
    return inbox
  }

  /// Takes the waiting batches of a connection, to refuse them; nothing is being compared.
  mutating func drainInbox(of connection: ConnectionID) -> [PendingBatch] {
    precondition(comparison == nil, "what is being compared would be taken away")
    defer { inbox.removeAll { $0.connection == connection } }
    return inbox.filter { $0.connection == connection }
  }

  /// The first batch is being compared with the store.
  mutating func comparisonBegan(_ id: ComparisonID) {
    comparison = id
  }

  /// The first batch was compared with the store; what the server knew of it is the same.
  mutating func comparisonPassed(position: UInt64) {
    comparison = nil
    guard !inbox.isEmpty else { return }
    inbox[0].comparedPosition = position
  }

  /// The first batch was compared with the store and differs.
  mutating func comparisonFailed() -> PendingBatch? {
    comparison = nil
    return inbox.isEmpty ? nil : inbox.removeFirst()
  }

  /// The store has everything staged.
  mutating func stagedBecameDurable(_ append: LogAppend) {
    head = append.position
    for row in append.rows {
      marks[row.range.replica] = ReplicaMark(
        replica: row.range.replica, seq: row.range.last, digest: row.digest, device: row.device,
        baseSeq: floor[row.range.replica])
      committed[row.range.replica] = row.range.last
      stagedBindings[row.range.replica] = nil
    }
    tailEntries += 1
    tailBytes += append.delta.count
  }

  /// The store has nothing of what was staged: the content is ahead of it and useless.
  mutating func stagedWasLost() {
    content = nil
    stagedHead = head
    stagedBindings = [:]
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
    if let seenAt = record.lastSeenAt {
      let known = devices[record.id]?.lastSeenAt ?? seenAt
      devices[record.id]?.lastSeenAt = max(known, seenAt)
    }
  }

  /// The store has the base of a new epoch.
  mutating func epochStarted(_ start: StartedEpoch) {
    epoch = start.epoch
    basePosition = start.position
    floor = committed
    for (replica, mark) in marks { marks[replica]?.baseSeq = mark.seq }
    // A transaction that failed meanwhile left more than the content to be read again.
    if content != nil { content = start.workspace }
    tailEntries = 0
    tailBytes = 0
    snapshotBytes = start.baseBytes
    snapshotInFlight = nil
  }

  func binding(of replica: ReplicaID) -> DeviceID? {
    marks[replica]?.device ?? stagedBindings[replica]
  }
}

/// Names one comparison of a batch with the store, so that a late answer is not taken for another.
struct ComparisonID: RawRepresentable, Hashable, Sendable {
  var rawValue: UInt64
}

/// A batch as it came from a client.
struct PendingBatch: Hashable, Sendable {
  var connection: ConnectionID
  var device: DeviceID
  /// The replica its hello named.
  var replica: ReplicaID
  /// The epoch of the state it was made on.
  var epoch: UInt64
  var batch: UInt64
  var delta: [UInt8]
  /// Set when the known part was found equal to what is stored: the position of its last entry.
  var comparedPosition: UInt64?
}

extension ResidentWorkspace {
  /// What became of the first batch of the inbox.
  enum Staging: Sendable {
    case nothingWaits
    case needsContent
    /// It repeats what is being stored right now: look again afterwards.
    case blockedUntilDurable
    case needsComparison([Operation])
    case refused(PendingBatch, RefusalCode, String)
    case missing(PendingBatch, [OperationRange])
    /// All of it is durable; its last operation at this position.
    case duplicate(PendingBatch, position: UInt64)
    /// Validated and applied to the content; this is what people are told of it.
    case staged(PendingBatch, LogAppend, [NotificationNews])
    /// The content contradicts the validation and must be read again.
    case contentBroken(PendingBatch)
  }

  /// Validates and applies the first waiting batch.
  mutating func stageNext(
    _ configuration: ServerConfiguration, wallMilliseconds: Int64
  ) -> Staging {
    guard let batch = inbox.first else { return .nothingWaits }
    guard batch.epoch == epoch else {
      return refuseFirst(.otherEpoch, "the batch was made in another epoch of the workspace")
    }
    guard let vector = content?.vector else { return .needsContent }
    let operations: [Operation]
    let examination: BatchExamination
    do {
      operations = try PackedDelta.unpack(batch.delta)
      examination = try BatchExamination(operations, given: vector)
    } catch let error as WireError {
      return refuseFirst(.invalidChanges, error.message)
    } catch let defect as BatchExamination.Defect {
      return refuseFirst(defect.code == .limit ? .limitReached : .invalidChanges, defect.message)
    } catch {
      return refuseFirst(.invalidChanges, "the delta cannot be read")
    }
    guard !operations.isEmpty else {
      return refuseFirst(.invalidChanges, "the delta holds no operations")
    }
    guard examination.missing.isEmpty else {
      return .missing(inbox.removeFirst(), examination.missing)
    }
    if !examination.known.isEmpty, batch.comparedPosition == nil {
      let isDurable = examination.known.allSatisfy { operation in
        operation.lastID.map(committed.contains) ?? false
      }
      guard isDurable else { return .blockedUntilDurable }
      // What the base holds can no longer be compared; its digests were, when it was made.
      let comparable = examination.known.compactMap { $0.droppingKnown(to: floor) }
      if !comparable.isEmpty { return .needsComparison(comparable) }
    }
    if examination.fresh.isEmpty {
      return .duplicate(inbox.removeFirst(), position: batch.comparedPosition ?? head)
    }
    if let refusal = objection(
      to: examination.fresh, of: batch, configuration, wallMilliseconds: wallMilliseconds)
    {
      return refuseFirst(refusal.code, refusal.message)
    }
    return applyFirst(
      operations, examination, wallMilliseconds: wallMilliseconds,
      ageMax: configuration.notificationAgeMilliseconds)
  }

  private mutating func refuseFirst(_ code: RefusalCode, _ message: String) -> Staging {
    .refused(inbox.removeFirst(), code, message)
  }

  private mutating func applyFirst(
    _ operations: [Operation], _ examination: BatchExamination, wallMilliseconds: Int64,
    ageMax: Int64
  ) -> Staging {
    let batch = inbox.removeFirst()
    let reading = content.map { BatchNews(examination.fresh, before: $0) }
    do {
      let outcome = try content?.merge(examination.fresh)
      guard let outcome, outcome.waiting == 0 else { return .contentBroken(batch) }
    } catch {
      let code: RefusalCode =
        if case .limitReached = error { .limitReached } else { .invalidChanges }
      return .refused(batch, code, error.description)
    }
    stagedHead += 1
    standingIsDue = true
    let rows = rows(of: examination.fresh, from: batch)
    for row in rows where marks[row.range.replica] == nil {
      stagedBindings[row.range.replica] = row.device
    }
    let delta = examination.known.isEmpty ? batch.delta : PackedDelta.pack(examination.fresh)
    var news: [NotificationNews] = []
    if let reading, !reading.isEmpty, let content {
      news = reading.news(after: content, wall: wallMilliseconds, ageMax: ageMax) {
        content.device(of: $0)?.id
      }
      stagedTasks.formUnion(reading.sessionsWithTasks(after: content))
    }
    return .staged(
      batch, LogAppend(workspace: id, position: stagedHead, delta: delta, rows: rows), news)
  }

  private func rows(of operations: [Operation], from batch: PendingBatch) -> [LogRow] {
    var ranges: [ReplicaID: OperationRange] = [:]
    for operation in operations {
      guard let range = operation.range else { continue }
      ranges[range.replica, default: range].last = range.last
    }
    return ranges.values.sorted { $0.replica < $1.replica }.map { range in
      LogRow(
        range: range, digest: content?.digest(of: range.replica) ?? 0,
        device: binding(of: range.replica) ?? announced(range.replica, in: operations)
          ?? batch.device)
    }
  }

  private func announced(_ replica: ReplicaID, in operations: [Operation]) -> DeviceID? {
    for operation in operations where operation.id.replica == replica {
      if case .announceDevice(let device, _) = operation.body { return device }
    }
    return nil
  }

  /// What speaks against new operations that are causally ready, if anything.
  private func objection(
    to operations: [Operation], of batch: PendingBatch, _ configuration: ServerConfiguration,
    wallMilliseconds: Int64
  ) -> (code: RefusalCode, message: String)? {
    var bindings: [ReplicaID: DeviceID] = [:]
    for operation in operations {
      if let stamp = operation.stamp,
        stamp.milliseconds > wallMilliseconds + configuration.stampAheadMillisecondsMax
      {
        return (
          .clockAhead,
          "the stamp of an operation is \(stamp.milliseconds - wallMilliseconds) ms ahead"
        )
      }
      let replica = operation.id.replica
      let owner = bindings[replica] ?? binding(of: replica)
      if case .announceDevice(let device, _) = operation.body {
        if replica == batch.replica, device != batch.device {
          return (.foreignReplica, "the replica announces itself for another device")
        }
        if let owner, owner != device {
          return (.foreignReplica, "the replica belongs to another device")
        }
        bindings[replica] = device
      } else if owner == nil {
        return (.invalidChanges, "the first operation of a replica must announce its device")
      }
    }
    let fresh = bindings.keys.filter { binding(of: $0) == nil }.count
    if marks.count + stagedBindings.count + fresh > configuration.replicasMax {
      return (
        .limitReached, "a workspace holds at most \(configuration.replicasMax) replicas"
      )
    }
    return nil
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
