package import QueueModel
package import SequenceCRDT

/// The whole state in the form of a snapshot, from the contract of `WorkspaceImage`.
extension SlowState {
  /// The canonical image; the digests are the engine's own matter and are taken as given.
  package func image(digests: (ReplicaID) -> UInt64) -> WorkspaceImage {
    let sessionKeys = sessions.keys.sorted()
    let sessionIndexes = Dictionary(
      uniqueKeysWithValues: sessionKeys.enumerated().map { ($1, $0) })
    let messageIDs = messages.keys.sorted()
    let messageIndexes = Dictionary(
      uniqueKeysWithValues: messageIDs.enumerated().map { ($1, $0) })
    var image = WorkspaceImage()
    image.replicas = vector.sorted.map { entry in
      WorkspaceImage.Replica(
        id: entry.replica, seq: entry.seq, digest: digests(entry.replica),
        announcement: announcements[entry.replica])
    }
    image.sessions = sessionKeys.compactMap { key in
      sessions[key].map { imageOf($0, key, messageIndexes) }
    }
    image.messages = messageIDs.compactMap { id in
      messages[id].map { imageOf($0, id, sessionIndexes) }
    }
    let threadOrder = threadSlots.order()
    image.threadSlots = runs(of: threadSlots).map(\.slots)
    image.threadSlotOwners = threadOrder.compactMap { slot in
      threadSlotOwners[slot].flatMap { sessionIndexes[$0] }
    }
    return image
  }

  /// Differences between the engine's image and the oracle's, in words; empty where none.
  package func imageDifferences(from workspace: Workspace) -> [String] {
    let engine = workspace.image()
    let oracle = image(digests: workspace.digest(of:))
    if engine.isExactlyEqual(to: oracle) { return [] }
    var report = DifferenceReport()
    report.check("image replicas", engine.replicas, oracle.replicas)
    report.check("image thread slots", engine.threadSlots, oracle.threadSlots)
    report.check("image thread slot owners", engine.threadSlotOwners, oracle.threadSlotOwners)
    report.check("image sessions", engine.sessions.map(\.key), oracle.sessions.map(\.key))
    for (mine, theirs) in zip(engine.sessions, oracle.sessions) {
      report.check("image session \(mine.key)", mine, theirs)
    }
    report.check("image messages", engine.messages.map(\.id), oracle.messages.map(\.id))
    for (mine, theirs) in zip(engine.messages, oracle.messages) {
      report.check("image message \(mine.id)", mine, theirs)
    }
    return report.lines.isEmpty ? ["images differ in the scalars of a text"] : report.lines
  }

  private func imageOf(
    _ session: Session, _ key: SessionID, _ messageIndexes: [MessageID: Int]
  ) -> WorkspaceImage.Session {
    var image = WorkspaceImage.Session(key: key)
    image.references = session.references.sorted()
    image.tags = imageOf(session.tags)
    image.registers = imageOf(session.registers)
    image.threadPosition = session.threadPosition.map(imageOf)
    image.enqueued = session.enqueued.map(imageOf)
    image.slots = runs(of: session.slots).map(\.slots)
    image.slotOwners = session.slots.order().compactMap { slot in
      session.slotOwners[slot].flatMap { messageIndexes[$0] }
    }
    return image
  }

  private func imageOf(
    _ message: Message, _ id: MessageID, _ sessionIndexes: [SessionID: Int]
  ) -> WorkspaceImage.Message {
    var image = WorkspaceImage.Message(
      id: id, session: sessionIndexes[message.session] ?? -1, position: imageOf(message.position))
    image.additions = message.additions.sorted { $0.key < $1.key }.map { entry in
      WorkspaceImage.Addition(
        id: entry.key, stamp: entry.value.stamp,
        runs: runs(of: entry.value.scalars, hidden: entry.value.deleted), text: entry.value.text)
    }
    image.tags = imageOf(message.tags)
    image.registers = imageOf(message.registers)
    return image
  }

  private func imageOf(_ tags: [TagField: TagSet]) -> [WorkspaceImage.Tags] {
    tags.filter(\.value.holds).sorted { $0.key.rawValue < $1.key.rawValue }.map { entry in
      WorkspaceImage.Tags(
        field: entry.key,
        tags: entry.value.holding.map { WorkspaceImage.Tag(id: $0.id, note: $0.note) })
    }
  }

  private func imageOf(_ registers: [RegisterField: Register]) -> [WorkspaceImage.Register] {
    registers.sorted { $0.key < $1.key }.map { entry in
      WorkspaceImage.Register(
        field: entry.key, value: entry.value.value, stamp: entry.value.stamp,
        writer: entry.value.writer)
    }
  }

  private func imageOf(_ position: Position) -> WorkspaceImage.ThreadPosition {
    WorkspaceImage.ThreadPosition(stamp: position.stamp, slot: position.slot)
  }

  /// The nodes in order, in the longest runs of consecutive ids.
  private func runs(
    of sequence: SlowSequence, hidden: Set<OperationID> = []
  ) -> [WorkspaceImage.TextRun] {
    var runs: [WorkspaceImage.TextRun] = []
    for id in sequence.order() {
      guard let origins = sequence.origins(of: id) else { continue }
      let isVisible = !hidden.contains(id)
      if let run = runs.last, run.isVisible == isVisible,
        run.slots.id.advanced(by: run.slots.length) == id,
        origins.left == run.slots.id.advanced(by: run.slots.length - 1),
        origins.right == run.slots.origins.right
      {
        runs[runs.count - 1].slots.length += 1
      } else {
        runs.append(
          WorkspaceImage.TextRun(
            slots: WorkspaceImage.SlotRun(id: id, length: 1, origins: origins),
            isVisible: isVisible))
      }
    }
    return runs
  }
}

extension WorkspaceImage {
  /// Equality down to the scalars of all texts; `==` on strings equates canonical equivalents.
  package func isExactlyEqual(to other: WorkspaceImage) -> Bool {
    self == other && texts.elementsEqual(other.texts) { $0.utf8.elementsEqual($1.utf8) }
  }

  private var texts: [String] {
    let names = replicas.compactMap { $0.announcement?.name }
    let ofSessions = sessions.flatMap { session in
      [session.key.rawValue] + session.registers.map(\.value.text)
        + session.tags.flatMap { $0.tags.map(\.note) }
    }
    let ofMessages = messages.flatMap { message in
      message.additions.map(\.text) + message.registers.map(\.value.text)
        + message.tags.flatMap { $0.tags.map(\.note) }
    }
    return names + ofSessions + ofMessages
  }
}

extension RegisterValue {
  fileprivate var text: String {
    if case .text(let text) = self { text } else { "" }
  }
}
