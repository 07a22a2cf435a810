public import SequenceCRDT

/// The replicated queues of one user or team: sessions, thread queue and message queues.
///
/// A value: copying it is cheap until one copy changes. Operations arrive through `merge` (from
/// elsewhere) or `perform` (a local command); the state depends only on the set of applied
/// operations. Ids, times and settings are arguments; the workspace has no clock.
public struct Workspace: Sendable {
  /// The applied operations: every operation up to each entry.
  public internal(set) var vector = VersionVector()
  var announcements: [ReplicaID: WorkspaceImage.Announcement] = [:]
  /// Sessions of an opened snapshot; touched ones are also in the tables below.
  var cold: ColdSessions?
  var sessionStates = SessionTable()
  var messageStates = MessageTable()
  /// The session that each `openSession` introduced.
  var sessionKeys = ReferenceTable<SessionID> { $0.session(introducedBy: $1) }
  /// The message that each `addMessage` introduced.
  var messageKeys = ReferenceTable<MessageID> { $0.message(introducedBy: $1) }
  /// The thread queue: a slot for each time that a session was added or moved.
  var threadSlots = SlotList<SessionID>()
  var pending = PendingOperations()
  /// Messages with texts to be packed at the end of a merge or a command; empty between them.
  var textsToPack: Set<MessageID> = []
  /// The latest stamp of all applied operations; a device's clock must not fall behind it.
  package internal(set) var latestStamp = Stamp.zero

  /// An empty workspace.
  package init() {}

  /// Operations that wait until others are known, by replica and sequence number.
  package var pendingOperations: [Operation] { pending.operations }

  /// The missing operations on which the waiting ones depend, by replica.
  public var missingRanges: [OperationRange] { pending.missingRanges(given: vector) }

  /// The device of a replica, if its announcement is known.
  public func device(of replica: ReplicaID) -> DeviceView? {
    announcements[replica].map { DeviceView(id: $0.device, name: $0.name) }
  }
}

extension Workspace {
  /// The result of a merge.
  package struct MergeOutcome: Sendable {
    /// The applied operations, in order, including those that waited before, with known parts cut
    /// off.
    package var applied: [Operation] = []
    /// How many operations now wait for others.
    package var waiting = 0
    /// How many operations were already known.
    package var duplicates = 0
    /// The queues that changed.
    package var touched = TouchedQueues()
    /// Why operations that had waited since an earlier merge were dropped.
    package var dropped: [MergeError] = []
  }

  /// Merges operations from elsewhere, in any order; those that need unknown ones wait.
  ///
  /// A waiting operation that proves invalid is dropped: it must not block those that it waited
  /// for, which other authors may have made.
  ///
  /// - Throws: `MergeError`, without applying anything of the batch.
  /// - Complexity: O(operations · log) if they come in order, plus the integration of each.
  package mutating func merge(_ operations: [Operation]) throws(MergeError) -> MergeOutcome {
    var dropped: [MergeError] = []
    while true {
      var backup = self
      let slotBackup = SlotBackup(from: &backup, addedToBy: operations)
      var outcome = MergeOutcome()
      do {
        for operation in operations { try admit(operation, into: &outcome) }
        if !pending.isEmpty { try drain(into: &outcome) }
        packTexts()
        outcome.waiting = pending.count
        outcome.dropped = dropped
        return outcome
      } catch {
        let grown = self
        self = backup
        slotBackup.restore(to: &self, from: grown)
        guard let culprit = error.operation, pending.remove(holding: culprit) else {
          throw error
        }
        dropped.append(error)
      }
    }
  }

  private mutating func admit(
    _ operation: Operation, into outcome: inout MergeOutcome
  ) throws(MergeError) {
    try operation.checkForm()
    let known = vector[operation.id.replica]
    guard let last = operation.lastID else {
      throw .invalidOperation(operation: operation.id, reason: "its ids overflow")
    }
    if last.seq <= known {
      outcome.duplicates += 1
      return
    }
    if operation.id.seq <= known + 1, areKnown(operation.dependencies) {
      try applyUnknownPart(of: operation, into: &outcome)
    } else {
      try pending.insert(operation)
    }
  }

  private mutating func applyUnknownPart(
    of operation: Operation, into outcome: inout MergeOutcome
  ) throws(MergeError) {
    let known = operation.id.count(through: vector[operation.id.replica])
    guard let rest = operation.droppingFirst(known) else {
      throw .invalidOperation(
        operation: operation.id, reason: "it overlaps known operations and cannot be cut")
    }
    try apply(rest, touched: &outcome.touched)
    outcome.applied.append(rest)
  }

  /// Applies operations that no longer have to wait, until none is left.
  private mutating func drain(into outcome: inout MergeOutcome) throws(MergeError) {
    var moved = true
    while moved {
      moved = false
      for replica in pending.replicas {
        while let next = pending.first(of: replica) {
          let known = vector[replica]
          if let last = next.lastID, last.seq <= known {
            pending.removeFirst(of: replica)
            outcome.duplicates += 1
            continue
          }
          guard next.id.seq <= known + 1, areKnown(next.dependencies) else { break }
          pending.removeFirst(of: replica)
          try applyUnknownPart(of: next, into: &outcome)
          moved = true
        }
      }
    }
  }

  func areKnown(_ ids: [OperationID]) -> Bool {
    ids.allSatisfy(vector.contains)
  }
}

/// The numbers of slots before a merge, in lists that are missing in the state kept for a rollback.
///
/// The lists have a slot for every requeue and every message, and a second reference would copy
/// them with each merge. A merge only adds slots, so they can be removed again. A list is copied if
/// only operations that had waited add to it.
private struct SlotBackup {
  private var threads: Int
  private var sessions: [SessionID: Int] = [:]

  /// Removes from the kept state the lists of slots to which operations add.
  init(from backup: inout Workspace, addedToBy operations: [Operation]) {
    threads = backup.threadSlots.count
    backup.threadSlots = SlotList()
    var latest: OperationID?
    for operation in operations {
      guard let session = operation.queue, session != latest else { continue }
      latest = session
      guard let key = backup.sessionKeys[session], sessions[key] == nil,
        let slots = backup.sessionStates.takeSlots(of: key)
      else { continue }
      sessions[key] = slots
    }
  }

  /// Restores the lists as they were, from the state that a refused merge left.
  func restore(to workspace: inout Workspace, from grown: consuming Workspace) {
    var slots = grown.threadSlots
    slots.truncate(to: threads)
    workspace.threadSlots = slots
    for (key, count) in sessions {
      guard var slots = grown.sessionStates[key]?.slots else { continue }
      slots.truncate(to: count)
      workspace.sessionStates[key]?.slots = slots
    }
  }
}
