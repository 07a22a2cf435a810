import SequenceCRDT

extension Workspace {
  /// The whole state as plain values in canonical order.
  ///
  /// Waiting operations are left out. Equal sets of applied operations give equal images.
  ///
  /// - Complexity: O(state · log).
  package func image() -> WorkspaceImage {
    var image = WorkspaceImage()
    image.replicas = imageReplicas
    image.threadSlots = imageThreadSlots
    image.sessions = packedSessionImages() + touchedStates.map(self.image)
    image.sessions.sort { $0.key < $1.key }
    return image
  }

  /// The untouched sessions of an opened snapshot. One that is damaged comes without its runs, so
  /// that nothing can be restored from it; `thawed` says first whether there are any.
  private func packedSessionImages() -> [WorkspaceImage.Session] {
    guard let cold else { return [] }
    return untouchedSessions.map { (_, index) in
      (try? cold.packed.session(at: index)) ?? cold.packed.outline(of: index)
    }
  }

  /// The thread queue's slots in their order.
  package var imageThreadSlots: [WorkspaceImage.SlotRun] { slotRuns(of: threadSlots) }

  /// What is known of each replica, by replica id.
  package var imageReplicas: [WorkspaceImage.Replica] {
    vector.sorted.map { entry in
      WorkspaceImage.Replica(
        id: entry.replica, seq: entry.seq, announcement: announcements[entry.replica])
    }
  }

  func image(of session: SessionState) -> WorkspaceImage.Session {
    var image = imageWithoutMessages(of: session)
    image.messages = messagesInPlace(of: session).map(self.image)
    return image
  }

  func imageWithoutMessages(of session: SessionState) -> WorkspaceImage.Session {
    var image = WorkspaceImage.Session(key: session.key)
    image.references = session.element.references
    image.tags = session.element.imageTags
    image.registers = session.element.imageRegisters
    image.threadPosition = session.threadPosition.map(position)
    image.enqueued = session.enqueued.map(position)
    image.slots = slotRuns(of: session.slots)
    return image
  }

  /// The messages whose place is in a session's queue, cancelled ones too, in slot order.
  func messagesInPlace(of session: SessionState) -> [MessageState] {
    session.slotOwners.inOrder(of: session.slots).compactMap { place in
      guard let message = messageStates[place.owner], message.session == session.key,
        message.position.value == place.slot
      else { return nil }
      return message
    }
  }

  func image(of message: MessageState) -> WorkspaceImage.Message {
    var image = WorkspaceImage.Message(id: message.id, position: position(message.position))
    image.tags = message.element.imageTags
    image.registers = message.element.imageRegisters
    image.additions = message.additions.map { addition in
      WorkspaceImage.Addition(
        id: addition.id, stamp: addition.stamp,
        runs: addition.text.canonicalRuns.map {
          WorkspaceImage.TextRun(slots: WorkspaceImage.SlotRun($0), isVisible: $0.isVisible)
        },
        text: addition.text.string)
    }
    return image
  }

  private func position(_ register: Register<OperationID>) -> WorkspaceImage.Position {
    WorkspaceImage.Position(stamp: register.stamp, slot: register.value)
  }

  private func slotRuns(of sequence: RunSequence) -> [WorkspaceImage.SlotRun] {
    sequence.canonicalRuns.map(WorkspaceImage.SlotRun.init)
  }
}

extension WorkspaceImage.SlotRun {
  init(_ run: RunSequence.Run) {
    self.init(id: run.id, length: run.length, origins: .init(left: run.left, right: run.right))
  }
}
