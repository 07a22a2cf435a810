import SequenceCRDT

/// Sessions: adding, naming, pausing and deleting them, and naming their host.
extension CommandAuthor {
  mutating func addSession(
    _ id: SessionID, name: String?, project: String?
  ) throws(QueueError) -> CommandOutcome.Notice {
    let name = try checkedName(name, field: "name")
    let project = try checkedName(project, field: "project path")
    let reference = try ensureSession(id)
    if workspace.sessionStates[id]?.exists != true {
      emit(.addTag(element: reference, field: .exists, clears: [], note: ""))
    }
    Archival.bringBack(id, by: &self)
    setText(name, .name, of: id)
    setText(project, .project, of: id)
    return operations.isEmpty ? .unchanged : .done
  }

  mutating func renameSession(
    _ id: SessionID, name: String
  ) throws(QueueError) -> CommandOutcome.Notice {
    _ = try existingSession(id)
    setText(try checkedName(name, field: "name"), .name, of: id)
    return operations.isEmpty ? .unchanged : .done
  }

  /// Deleting clears what it sees: messages, place in the thread queue and locks. Additions by other
  /// devices at the same time keep the session alive, and a pause, under which they were made.
  mutating func deleteSession(_ id: SessionID) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    let reference = try self.reference(of: session)
    for message in workspace.effectiveOrder(of: id) { withdraw(message) }
    for field in [TagField.queued, .locked, .exists] where session.element.has(field) {
      emit(
        .clearTags(
          element: reference, field: field,
          clears: workspace.sessionStates[id]?.element.tagIDs(field) ?? []))
    }
    return .done
  }

  mutating func pause(_ id: SessionID, reason: String) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    let reason = reason.trimmedOfWhitespace()
    guard reason.utf8.count <= Limits.nameBytesMax else {
      throw .invalidName(
        field: "reason", reason: "it is longer than \(Limits.nameBytesMax) bytes")
    }
    emit(
      .addTag(
        element: try reference(of: session), field: .paused,
        clears: session.element.tagIDs(.paused), note: reason))
    return .done
  }

  mutating func resume(_ id: SessionID) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.isPaused else { return .unchanged }
    emit(
      .clearTags(
        element: try reference(of: session), field: .paused,
        clears: session.element.tagIDs(.paused)))
    return .done
  }

  mutating func setOnLostServer(
    _ policy: LostServerPolicy, of id: SessionID
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.onLostServer != policy else { return .unchanged }
    emit(
      .setRegister(
        element: try reference(of: session), field: .onLostServer,
        value: .text(policy.rawValue), stamp: stamp))
    return .done
  }

  mutating func setOnMerge(
    _ policy: MergePolicy, of id: SessionID
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.onMerge != policy else { return .unchanged }
    setText(policy.rawValue, .onMerge, of: id)
    return .done
  }

  mutating func setHost(
    _ device: DeviceID?, of id: SessionID
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.host != device else { return .unchanged }
    // Naming a host keeps the session: an undo elsewhere that did not see it removes nothing.
    if device != nil { try touchExistence(of: id) }
    emit(
      .setRegister(
        element: try reference(of: session), field: .host,
        value: .text(device?.description ?? ""), stamp: stamp))
    return .done
  }
}
