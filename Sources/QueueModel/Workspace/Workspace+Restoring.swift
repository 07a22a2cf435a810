import SequenceCRDT

extension Workspace {
  /// Restores a workspace from its image.
  ///
  /// - Throws: `MergeError.invalidImage` if the image contradicts itself.
  package init(image: WorkspaceImage) throws(MergeError) {
    self.init()
    try restore(image.replicas)
    for session in image.sessions { try add(RestoredSession(session)) }
    threadSlots = try SlotList(
      restoring: image.threadSlots,
      places: image.sessions.compactMap { session in
        session.threadPosition.map { (slot: $0.slot, session: session.key) }
      })
    do {
      try checkInvariants()
    } catch {
      throw .invalidImage(reason: error.reason)
    }
  }

  mutating func restore(_ replicas: [WorkspaceImage.Replica]) throws(MergeError) {
    for replica in replicas {
      guard replica.isInRange else {
        throw .invalidImage(reason: "a replica entry is out of range")
      }
      vector[replica.id] = replica.seq
      announcements[replica.id] = replica.announcement
    }
  }

  private mutating func add(_ restored: RestoredSession) throws(MergeError) {
    let key = restored.session.key
    guard !sessionStates.contains(key) else {
      throw .invalidImage(reason: "session \(key) occurs twice")
    }
    sessionStates[key] = restored.session
    for reference in restored.session.element.references { sessionKeys[reference] = key }
    for message in restored.messages {
      guard !messageStates.contains(message.id) else {
        throw .invalidImage(reason: "message \(message.id) occurs twice")
      }
      messageStates[message.id] = message
      for addition in message.additions { messageKeys[addition.id] = message.id }
    }
    latestStamp = max(latestStamp, restored.latestStamp)
  }
}

extension WorkspaceImage.Replica {
  /// Whether a replica can have these numbers.
  var isInRange: Bool { id.rawValue != 0 && seq >= 1 && seq <= Limits.sequenceMax }
}

/// A session of an image with its messages, as a workspace keeps them.
struct RestoredSession {
  var session: SessionState
  var messages: [MessageState] = []
  /// The latest stamp of all.
  var latestStamp = Stamp.zero

  /// - Throws: `MergeError.invalidImage` if the session contradicts itself.
  init(_ image: WorkspaceImage.Session) throws(MergeError) {
    session = SessionState(head: image)
    note(image.registers)
    note([image.threadPosition, image.enqueued].compactMap { $0?.stamp })
    let slots = try RunSequence.restored(from: image.slots)
    var owners: [(index: Int, owner: MessageID)] = []
    for message in image.messages {
      guard let unit = slots.contentIndex(of: message.position.slot),
        unit > owners.last?.index ?? -1
      else {
        throw .invalidImage(reason: "message \(message.id) is at no slot, or out of order")
      }
      owners.append((index: unit, owner: message.id))
      try add(message)
    }
    session.slots = SlotList(slots, owners: owners)
    // The messages are in the order of their slots.
    session.standing = StandingOrder(
      inOrder: zip(owners, messages).filter { $1.stands }
        .map { (slot: UInt32($0.index), block: $1.block) })
  }

  private mutating func add(_ image: WorkspaceImage.Message) throws(MergeError) {
    var message = MessageState(
      id: image.id, session: session.key, position: Register(image.position))
    message.element = ElementState(
      references: image.additions.map(\.id), tags: image.tags, registers: image.registers)
    for addition in image.additions {
      message.additions.append(
        MessageState.Addition(
          id: addition.id, stamp: addition.stamp,
          text: try MessageText(restoring: addition.runs, text: addition.text)))
      note([addition.stamp])
    }
    note(image.registers)
    note([image.position.stamp])
    messages.append(message)
  }

  private mutating func note(_ registers: [WorkspaceImage.Register]) {
    note(registers.filter { !$0.field.isFenced }.map(\.stamp))
  }

  private mutating func note(_ stamps: [Stamp]) {
    for stamp in stamps { latestStamp = max(latestStamp, stamp) }
  }
}

extension SessionState {
  /// A session without its slots.
  init(head image: WorkspaceImage.Session) {
    self.init(key: image.key)
    element = ElementState(
      references: image.references, tags: image.tags, registers: image.registers)
    threadPosition = image.threadPosition.map(Register.init)
    enqueued = image.enqueued.map(Register.init)
  }
}

extension Register<OperationID> {
  /// A position; the slot's id is also the writer.
  init(_ position: WorkspaceImage.Position) {
    self.init(value: position.slot, stamp: position.stamp, writer: position.slot)
  }
}

extension RunSequence {
  /// A sequence of slots, all visible, whose content is numbered in their order.
  static func restored(
    from images: [WorkspaceImage.SlotRun]
  ) throws(MergeError) -> RunSequence {
    do {
      return try RunSequence(runs: images.map { Run($0, isVisible: true) })
    } catch {
      throw .invalidImage(reason: "a list of slots is wrong: \(error)")
    }
  }
}

extension TextContent {
  /// A text whose scalars are numbered in their order.
  init(
    restoring runs: [WorkspaceImage.TextRun], text: String
  ) throws(MergeError) {
    self = try MergeError.ofRuns { () throws(SequenceFault) in
      try TextContent(runs: runs.map(RunSequence.Run.init), text: text)
    }
  }
}

extension MessageText {
  fileprivate init(
    restoring runs: [WorkspaceImage.TextRun], text: String
  ) throws(MergeError) {
    self = try MergeError.ofRuns { () throws(SequenceFault) in
      try MessageText(runs: runs.map(RunSequence.Run.init), text: text)
    }
  }
}

extension MergeError {
  fileprivate static func ofRuns<Text>(
    _ body: () throws(SequenceFault) -> Text
  ) throws(MergeError) -> Text {
    do {
      return try body()
    } catch {
      throw .invalidImage(reason: "the runs of a text are wrong: \(error)")
    }
  }
}

extension RunSequence.Run {
  init(_ image: WorkspaceImage.SlotRun, isVisible: Bool) {
    self.init(
      id: image.id, length: image.length, left: image.origins.left, right: image.origins.right,
      time: image.origins.time, isVisible: isVisible)
  }

  init(_ image: WorkspaceImage.TextRun) {
    self.init(image.slots, isVisible: image.isVisible)
  }
}
