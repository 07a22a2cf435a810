package import QueueModel
import SequenceCRDT

/// The whole state in the form of a snapshot, by the contract of `WorkspaceImage`.
extension SlowState {
  /// The canonical image.
  package func image() -> WorkspaceImage {
    var image = WorkspaceImage()
    image.replicas = vector.sorted.map { entry in
      WorkspaceImage.Replica(
        id: entry.replica, seq: entry.seq, announcement: announcements[entry.replica])
    }
    image.threadSlots = runs(of: threadSlots).map(\.slots)
    image.sessions = sessions.sorted { $0.key < $1.key }.map { imageOf($0.value, $0.key) }
    return image
  }

  /// Differences between the engine's image and the oracle's, as text; empty if there are none.
  package func imageDifferences(from workspace: Workspace) -> [String] {
    let engine = workspace.image()
    let oracle = image()
    if engine.isExactlyEqual(to: oracle) { return [] }
    var report = DifferenceReport()
    report.check("image replicas", engine.replicas, oracle.replicas)
    report.check("image thread slots", engine.threadSlots, oracle.threadSlots)
    report.check("image sessions", engine.sessions.map(\.key), oracle.sessions.map(\.key))
    for (mine, theirs) in zip(engine.sessions, oracle.sessions) {
      report.check(
        "image messages of \(mine.key)", mine.messages.map(\.id), theirs.messages.map(\.id))
      report.check("image session \(mine.key)", mine, theirs)
    }
    return report.lines.isEmpty ? ["images differ in the scalars of a text"] : report.lines
  }

  private func imageOf(_ session: Session, _ key: SessionID) -> WorkspaceImage.Session {
    var image = WorkspaceImage.Session(key: key)
    image.references = session.references.sorted()
    image.tags = imageOf(session.tags)
    image.registers = imageOf(session.registers)
    image.threadPosition = session.threadPosition.map(imageOf)
    image.enqueued = session.enqueued.map(imageOf)
    image.slots = runs(of: session.slots).map(\.slots)
    let inPlace = Dictionary(grouping: messages.filter { $0.value.session == key }) {
      $0.value.position.slot
    }
    image.messages = session.slots.order().flatMap { slot in
      (inPlace[slot] ?? []).map { imageOf($0.value, $0.key) }
    }
    return image
  }

  private func imageOf(_ message: Message, _ id: MessageID) -> WorkspaceImage.Message {
    var image = WorkspaceImage.Message(id: id, position: imageOf(message.position))
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

  private func imageOf(_ position: Position) -> WorkspaceImage.Position {
    WorkspaceImage.Position(stamp: position.stamp, slot: position.slot)
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
        origins.right == run.slots.origins.right, origins.time == run.slots.origins.time
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
    let ofMessages = sessions.flatMap(\.messages).flatMap { message in
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
