import SequenceCRDT

/// What a merge changes, as it was before: a refused one leaves nothing behind.
///
/// A whole copy kept beside the state would have the merge copy whatever it touches, the slots of a queue
/// above all. Slots only come, so their number is enough to take them back.
struct MergeJournal: Sendable {
  private struct Session: Sendable {
    /// Without its slots; nil if it was not there.
    var state: SessionState?
    var slotCount: Int
  }

  private var vector: VersionVector
  private var announcements: [ReplicaID: WorkspaceImage.Announcement]
  private var pending: PendingOperations
  private var latestStamp: Stamp
  private var threadSlotCount: Int
  private var sessions: [SessionID: Session] = [:]
  private var messages: [MessageID: MessageState?] = [:]
  private var introductions: [OperationID] = []

  init(_ workspace: Workspace) {
    vector = workspace.vector
    announcements = workspace.announcements
    pending = workspace.pending
    latestStamp = workspace.latestStamp
    threadSlotCount = workspace.threadSlots.count
  }

  func knows(_ id: SessionID) -> Bool { sessions.keys.contains(id) }
  func knows(_ id: MessageID) -> Bool { messages.keys.contains(id) }

  mutating func note(_ id: SessionID, _ state: consuming SessionState?) {
    let slotCount = state?.slots.count ?? 0
    state?.slots = SlotList()
    sessions[id] = Session(state: state, slotCount: slotCount)
  }

  mutating func note(_ id: MessageID, _ state: MessageState?) {
    messages[id] = .some(state)
  }

  mutating func note(introduction id: OperationID) { introductions.append(id) }

  /// Returns to the state before.
  func takeBack(_ workspace: inout Workspace) {
    workspace.vector = vector
    workspace.announcements = announcements
    workspace.pending = pending
    workspace.latestStamp = latestStamp
    workspace.threadSlots.truncate(to: threadSlotCount)
    for (id, former) in sessions {
      var state = former.state
      state?.slots = workspace.sessionStates[id]?.slots ?? SlotList()
      state?.slots.truncate(to: former.slotCount)
      workspace.sessionStates[id] = state
    }
    for (id, former) in messages { workspace.messageStates[id] = former }
    for id in introductions {
      workspace.sessionKeys[id] = nil
      workspace.messageKeys[id] = nil
    }
  }
}

extension Workspace {
  /// Notes a session that is about to change.
  mutating func keepFormer(_ id: SessionID) {
    guard journal?.knows(id) == false else { return }
    journal?.note(id, sessionStates[id])
  }

  /// Notes a message that is about to change.
  mutating func keepFormer(_ id: MessageID) {
    guard journal?.knows(id) == false else { return }
    journal?.note(id, messageStates[id])
  }
}
