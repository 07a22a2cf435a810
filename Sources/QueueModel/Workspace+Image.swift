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
    image.threadSlots = slotRuns(of: threadSlots)
    image.sessions = sessionStates.values.sorted { $0.key < $1.key }.map(self.image)
    return image
  }

  /// What is known of each replica, by replica id.
  var imageReplicas: [WorkspaceImage.Replica] {
    vector.sorted.map { entry in
      WorkspaceImage.Replica(
        id: entry.replica, seq: entry.seq, digest: digest(of: entry.replica),
        announcement: announcements[entry.replica])
    }
  }

  private func image(of session: SessionState) -> WorkspaceImage.Session {
    var image = WorkspaceImage.Session(key: session.key)
    image.references = session.element.references
    image.tags = session.element.imageTags
    image.registers = session.element.imageRegisters
    image.threadPosition = session.threadPosition.map(position)
    image.enqueued = session.enqueued.map(position)
    image.slots = slotRuns(of: session.slots)
    image.messages = messagesInPlace(of: session).map(self.image)
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

  private func image(of message: MessageState) -> WorkspaceImage.Message {
    var image = WorkspaceImage.Message(id: message.id, position: position(message.position))
    image.tags = message.element.imageTags
    image.registers = message.element.imageRegisters
    image.additions = message.additions.map { addition in
      WorkspaceImage.Addition(
        id: addition.id, stamp: addition.stamp,
        runs: canonicalRuns(of: addition.content.sequence).map {
          WorkspaceImage.TextRun(slots: slotRun($0), isVisible: $0.isVisible)
        },
        text: addition.content.text)
    }
    return image
  }

  private func position(_ register: Register<OperationID>) -> WorkspaceImage.Position {
    WorkspaceImage.Position(stamp: register.stamp, slot: register.value)
  }

  private func slotRuns(of sequence: RunSequence) -> [WorkspaceImage.SlotRun] {
    canonicalRuns(of: sequence).map(slotRun)
  }

  private func slotRun(_ run: RunSequence.Run) -> WorkspaceImage.SlotRun {
    WorkspaceImage.SlotRun(
      id: run.id, length: run.length, origins: .init(left: run.left, right: run.right))
  }

  /// Runs as long as they can be, whatever the order their units arrived in.
  private func canonicalRuns(of sequence: RunSequence) -> [RunSequence.Run] {
    var runs: [RunSequence.Run] = []
    for run in sequence.runs {
      if let last = runs.last, last.id.advanced(by: last.length) == run.id,
        run.left == last.unitID(at: last.length - 1), run.right == last.right,
        run.isVisible == last.isVisible
      {
        runs[runs.count - 1].length += run.length
      } else {
        runs.append(run)
      }
    }
    return runs
  }
}
