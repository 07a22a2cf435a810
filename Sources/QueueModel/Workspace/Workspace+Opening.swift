import SequenceCRDT

/// Workspaces whose sessions stay packed until they are touched.
extension Workspace {
  /// A workspace over the packed sessions of a snapshot that this program wrote, and a summary of
  /// each of them.
  ///
  /// Everything except the runs of the sessions is checked now. The runs are checked when a session
  /// is touched; the merge or command then throws. Snapshots from elsewhere go through
  /// `init(image:)`, which checks everything.
  ///
  /// - Throws: `MergeError.invalidImage` if the snapshot contradicts itself.
  /// - Complexity: O(sessions + messages + slots of the thread queue).
  package init(
    replicas: [WorkspaceImage.Replica], threadSlots: [WorkspaceImage.SlotRun],
    sessions: some PackedSessions, summaries: [SessionSummary]
  ) throws(MergeError) {
    self.init()
    let cold = try ColdSessions(sessions, summaries: summaries)
    take(cold)
    latestStamp = cold.latestStamp
    try restore(replicas)
    self.threadSlots = try SlotList(restoring: threadSlots, places: cold.threadPlaces)
  }

  /// Replaces all sessions with packed ones, and a summary of each.
  ///
  /// - Precondition: the packed sessions have the same content.
  /// - Throws: `MergeError.invalidImage` if they contradict themselves.
  /// - Complexity: O(sessions + messages).
  package mutating func pack(
    into sessions: some PackedSessions, summaries: [SessionSummary]
  ) throws(MergeError) {
    let cold = try ColdSessions(sessions, summaries: summaries)
    let threads = try SlotList(threadSlots.sequence, places: cold.threadPlaces)
    take(cold)
    threadSlots = threads
  }

  private mutating func take(_ cold: ColdSessions) {
    self.cold = cold
    sessionStates = SessionTable(over: cold)
    messageStates = MessageTable(over: cold)
    sessionKeys = ReferenceTable(over: cold) { $0.session(introducedBy: $1) }
    messageKeys = ReferenceTable(over: cold) { $0.message(introducedBy: $1) }
  }

  /// Whether any session is unpacked.
  package var hasUnpackedSessions: Bool {
    sessionStates.hasWarmValues || messageStates.hasTouchedSessions
  }

  /// The packed sessions, if the workspace was opened from a snapshot.
  package var packedSessions: (any PackedSessions)? { cold?.packed }

  /// The untouched packed sessions, with their numbers, by id.
  package var untouchedSessions: [(key: SessionID, index: Int)] {
    (cold?.keys ?? []).enumerated().filter { isUntouched($0.offset) }
      .map { (key: $0.element, index: $0.offset) }
  }

  /// The sessions that are not packed or were touched, by id, to be written one by one.
  package var touchedSessions: some Sequence<SessionToWrite> {
    touchedStates.lazy.map { session in
      let messages = messagesInPlace(of: session)
      return SessionToWrite(
        session: WorkspaceImage.Session(withoutMessages: session),
        places: messages.map {
          ($0.position.value, $0.additions.first?.id, $0.additions.first?.stamp ?? .zero)
        },
        message: { WorkspaceImage.Message(messages[$0]) })
    }
  }

  var touchedStates: [SessionState] {
    var keys = Set(sessionStates.warmValues.map(\.key))
    for (index, key) in (cold?.keys ?? []).enumerated() where !isUntouched(index) {
      keys.insert(key)
    }
    return keys.sorted().compactMap { sessionStates[$0] }
  }

  /// Whether a packed session is as in the snapshot.
  private func isUntouched(_ index: Int) -> Bool {
    guard let cold, sessionStates.coldIndex(of: cold.keys[index]) != nil else { return false }
    return !messageStates.isTouched(session: index)
  }

  /// The number of a session that is packed, and as in the snapshot.
  func untouchedIndex(of key: SessionID) -> Int? {
    guard let index = sessionStates.coldIndex(of: key),
      !messageStates.isTouched(session: index)
    else { return nil }
    return index
  }

  /// A session without its slots: the part that views need, without unpacking the rest.
  func head(of key: SessionID) -> SessionState? {
    guard let cold, let index = untouchedIndex(of: key) else { return sessionStates[key] }
    return SessionState(head: cold.packed.head(of: index))
  }

  /// Whether a session exists, without unpacking it.
  func sessionExists(_ key: SessionID) -> Bool {
    cold.flatMap { untouchedIndex(of: key).map($0.exists) } ?? sessionStates[key]?.exists ?? false
  }

  /// The heads of all sessions, in no particular order.
  var heads: [SessionState] {
    sessionStates.warmValues
      + (cold?.keys ?? []).compactMap {
        sessionStates.coldIndex(of: $0) == nil ? nil : head(of: $0)
      }
  }
}
