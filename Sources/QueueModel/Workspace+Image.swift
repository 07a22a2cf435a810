import SequenceCRDT

extension Workspace {
  /// The whole state as plain values in canonical order.
  ///
  /// Waiting operations are left out. Equal sets of applied operations give equal images.
  ///
  /// - Complexity: O(state · log).
  package func image() -> WorkspaceImage {
    var image = WorkspaceImage()
    image.replicas = vector.sorted.map { entry in
      WorkspaceImage.Replica(
        id: entry.replica, seq: entry.seq, digest: digest(of: entry.replica),
        announcement: announcements[entry.replica])
    }
    let sessions = sessionStates.values.sorted { $0.key < $1.key }
    let messages = messageStates.values.sorted { $0.id < $1.id }
    let sessionIndex = Dictionary(
      sessions.enumerated().map { ($1.key, $0) }
    ) { first, _ in first }
    let messageIndex = Dictionary(
      messages.enumerated().map { ($1.id, $0) }
    ) { first, _ in first }
    image.sessions = sessions.map { self.image(of: $0, messageIndex: messageIndex) }
    image.messages = messages.map { self.image(of: $0, sessionIndex: sessionIndex) }
    image.threadSlots = slotRuns(of: threadSlots)
    image.threadSlotOwners = owners(of: threadSlots, threadSlotOwners) { sessionIndex[$0] ?? 0 }
    return image
  }

  private func image(
    of session: SessionState, messageIndex: [MessageID: Int]
  ) -> WorkspaceImage.Session {
    var image = WorkspaceImage.Session(key: session.key)
    image.references = session.element.references
    image.tags = session.element.imageTags
    image.registers = session.element.imageRegisters
    image.threadPosition = session.threadPosition.map {
      WorkspaceImage.ThreadPosition(stamp: $0.stamp, slot: $0.value)
    }
    image.enqueued = session.enqueued.map {
      WorkspaceImage.ThreadPosition(stamp: $0.stamp, slot: $0.value)
    }
    image.slots = slotRuns(of: session.slots)
    image.slotOwners = owners(of: session.slots, session.slotOwners) { messageIndex[$0] ?? 0 }
    return image
  }

  private func image(
    of message: MessageState, sessionIndex: [SessionID: Int]
  ) -> WorkspaceImage.Message {
    var image = WorkspaceImage.Message(
      id: message.id, session: sessionIndex[message.session] ?? 0,
      position: WorkspaceImage.ThreadPosition(
        stamp: message.position.stamp, slot: message.position.value))
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

  private func slotRuns(of sequence: RunSequence) -> [WorkspaceImage.SlotRun] {
    canonicalRuns(of: sequence).map(slotRun)
  }

  private func slotRun(_ run: RunSequence.Run) -> WorkspaceImage.SlotRun {
    WorkspaceImage.SlotRun(
      id: run.id, length: run.length, origins: .init(left: run.left, right: run.right))
  }

  private func owners<Owner>(
    of sequence: RunSequence, _ owners: [Owner], index: (Owner) -> Int
  ) -> [Int] {
    sequence.runs.flatMap { run in
      (run.contentStart..<run.contentStart + run.length).map { index(owners[$0]) }
    }
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

extension Workspace {
  /// Restores a workspace from its image.
  ///
  /// - Throws: `MergeError.invalidImage` where the image contradicts itself.
  package init(image: WorkspaceImage) throws(MergeError) {
    self.init()
    for replica in image.replicas {
      guard replica.id.rawValue != 0, replica.seq >= 1, replica.seq <= Limits.sequenceMax else {
        throw .invalidImage(reason: "a replica entry is out of range")
      }
      vector[replica.id] = replica.seq
      digests[replica.id] = OperationDigest(value: replica.digest)
      announcements[replica.id] = replica.announcement
    }
    do {
      try restoreSessions(image)
      try restoreMessages(image)
      threadSlots = try RunSequence(runs: slots(image.threadSlots))
    } catch let fault as SequenceFault {
      throw .invalidImage(reason: "a list of runs is wrong: \(fault)")
    } catch let error as MergeError {
      throw error
    } catch {
      throw .invalidImage(reason: "\(error)")
    }
    threadSlotOwners = try owners(image.threadSlotOwners, count: threadSlots.unitCount) {
      image.sessions.indices.contains($0) ? image.sessions[$0].key : nil
    }
    do {
      try checkInvariants()
    } catch {
      throw .invalidImage(reason: error.reason)
    }
  }

  private mutating func restoreSessions(_ image: WorkspaceImage) throws {
    for session in image.sessions {
      var state = SessionState(key: session.key)
      state.element = ElementState(
        references: session.references, tags: session.tags, registers: session.registers)
      state.threadPosition = session.threadPosition.map(register)
      state.enqueued = session.enqueued.map(register)
      state.slots = try RunSequence(runs: slots(session.slots))
      state.slotOwners = try owners(session.slotOwners, count: state.slots.unitCount) {
        image.messages.indices.contains($0) ? image.messages[$0].id : nil
      }
      note(session.registers)
      note([session.threadPosition, session.enqueued].compactMap { $0?.stamp })
      guard sessionStates[session.key] == nil else {
        throw MergeError.invalidImage(reason: "session \(session.key) stands there twice")
      }
      sessionStates[session.key] = state
      for reference in session.references { sessionKeys[reference] = session.key }
    }
  }

  private mutating func restoreMessages(_ image: WorkspaceImage) throws {
    for message in image.messages {
      guard image.sessions.indices.contains(message.session) else {
        throw MergeError.invalidImage(reason: "message \(message.id) is in no session")
      }
      var state = MessageState(
        id: message.id, session: image.sessions[message.session].key,
        position: register(message.position))
      state.element = ElementState(
        references: message.additions.map(\.id), tags: message.tags, registers: message.registers)
      for addition in message.additions {
        let runs = addition.runs.map { part in
          var run = self.run(part.slots)
          run.isVisible = part.isVisible
          return run
        }
        state.additions.append(
          MessageState.Addition(
            id: addition.id, stamp: addition.stamp,
            content: try TextContent(runs: runs, text: addition.text)))
        messageKeys[addition.id] = message.id
        note([addition.stamp])
      }
      note(message.registers)
      note([message.position.stamp])
      guard messageStates[message.id] == nil else {
        throw MergeError.invalidImage(reason: "message \(message.id) stands there twice")
      }
      messageStates[message.id] = state
      if state.isLive { sessionStates[state.session]?.waiting += 1 }
    }
  }

  private mutating func note(_ registers: [WorkspaceImage.Register]) {
    note(registers.map(\.stamp))
  }

  private mutating func note(_ stamps: [Stamp]) {
    for stamp in stamps { latestStamp = max(latestStamp, stamp) }
  }

  private func register(_ position: WorkspaceImage.ThreadPosition) -> Register<OperationID> {
    Register(value: position.slot, stamp: position.stamp, writer: position.slot)
  }

  /// Slots are all visible; content is numbered in their order.
  private func slots(_ runs: [WorkspaceImage.SlotRun]) -> [RunSequence.Run] {
    var start = 0
    return runs.map { image in
      var run = self.run(image)
      run.contentStart = start
      start &+= image.length
      return run
    }
  }

  private func run(_ image: WorkspaceImage.SlotRun) -> RunSequence.Run {
    RunSequence.Run(
      id: image.id, length: image.length, left: image.origins.left, right: image.origins.right,
      isVisible: true, contentStart: 0)
  }

  private func owners<Owner>(
    _ indexes: [Int], count: Int, owner: (Int) -> Owner?
  ) throws(MergeError) -> [Owner] {
    guard indexes.count == count else {
      throw .invalidImage(reason: "slots and their owners differ in number")
    }
    let owners = indexes.compactMap(owner)
    guard owners.count == count else {
      throw .invalidImage(reason: "a slot belongs to nobody")
    }
    return owners
  }
}
