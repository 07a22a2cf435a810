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

  /// The untouched sessions of an opened snapshot. A damaged one comes without its runs, so that it
  /// cannot be restored; `thawed` reports damaged ones first.
  private func packedSessionImages() -> [WorkspaceImage.Session] {
    guard let cold else { return [] }
    return untouchedSessions.map { (_, index) in
      (try? cold.packed.session(at: index)) ?? cold.packed.outline(of: index)
    }
  }

  /// The thread queue's slots in their order.
  package var imageThreadSlots: [WorkspaceImage.SlotRun] {
    threadSlots.sequence.canonicalRuns.map(WorkspaceImage.SlotRun.init)
  }

  /// The known operations of each replica, by replica id.
  package var imageReplicas: [WorkspaceImage.Replica] {
    vector.sorted.map { entry in
      WorkspaceImage.Replica(
        id: entry.replica, seq: entry.seq, announcement: announcements[entry.replica])
    }
  }

  private func image(of session: SessionState) -> WorkspaceImage.Session {
    var image = WorkspaceImage.Session(withoutMessages: session)
    image.messages = messagesInPlace(of: session).map(WorkspaceImage.Message.init)
    return image
  }
}

extension WorkspaceImage.Session {
  init(withoutMessages session: SessionState) {
    self.init(key: session.key)
    references = session.element.references
    tags = session.element.imageTags
    registers = session.element.imageRegisters
    threadPosition = session.threadPosition.map(WorkspaceImage.Position.init)
    enqueued = session.enqueued.map(WorkspaceImage.Position.init)
    slots = session.slots.sequence.canonicalRuns.map(WorkspaceImage.SlotRun.init)
  }
}

extension WorkspaceImage.Message {
  init(_ message: MessageState) {
    self.init(id: message.id, position: WorkspaceImage.Position(message.position))
    tags = message.element.imageTags
    registers = message.element.imageRegisters
    additions = message.additions.map { addition in
      WorkspaceImage.Addition(
        id: addition.id, stamp: addition.stamp,
        runs: addition.text.canonicalRuns.map {
          WorkspaceImage.TextRun(slots: WorkspaceImage.SlotRun($0), isVisible: $0.isVisible)
        },
        text: addition.text.string)
    }
  }
}

extension WorkspaceImage.Position {
  fileprivate init(_ register: Register<OperationID>) {
    self.init(stamp: register.stamp, slot: register.value)
  }
}

extension WorkspaceImage.SlotRun {
  init(_ run: RunSequence.Run) {
    self.init(
      id: run.id, length: run.length,
      origins: .init(left: run.left, right: run.right, time: run.time))
  }
}
