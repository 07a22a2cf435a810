import SequenceCRDT

extension Workspace {
  /// The thread queue: every thread in it, in slot order, with derived positions (S2-34).
  ///
  /// - Complexity: O(slots).
  public func threadQueue() -> ThreadQueueView {
    var threads: [ThreadView] = []
    for key in threadOrder() {
      guard let session = head(of: key) else { continue }
      threads.append(
        ThreadView(
          session: key, name: session.displayName, project: session.element.text(.project) ?? "",
          position: threads.count + 1, queuedAt: session.queuedAt?.value ?? 0,
          locked: session.isLocked))
    }
    return ThreadQueueView(threads: threads)
  }

  /// The sessions in the thread queue, in order.
  func threadOrder() -> [SessionID] {
    threadSlots.inOrder.compactMap { place in
      if let cold, let index = untouchedIndex(of: place.owner) {
        return cold.isInThreadQueue(index) ? place.owner : nil
      }
      guard let session = sessionStates[place.owner], session.isInThreadQueue,
        session.threadPosition?.value == place.slot
      else { return nil }
      return place.owner
    }
  }

  /// A session's message queue in effective order: messages that are in flight or were tried, then
  /// urgent, then normal ones, each in slot order (S0-55).
  ///
  /// - Throws: `QueueError.sessionNotFound` if it was never seen or is deleted.
  /// - Complexity: O(slots of the session).
  public func messageQueue(_ session: SessionID) throws(QueueError) -> MessageQueueView {
    guard let state = head(of: session), state.exists else {
      throw .sessionNotFound(id: session.rawValue)
    }
    let messages = standingMessages(of: session).enumerated()
      .map { view(of: $0.element, position: $0.offset + 1) }
    return MessageQueueView(
      session: session, paused: state.isPaused,
      pauseReasons: state.element.notes(.paused).filter { !$0.isEmpty }, messages: messages,
      host: state.host)
  }

  /// A session's waiting messages in the order of their places alone, which reordering changes
  /// (S0-55).
  public func placedOrder(of session: SessionID) -> [MessageView] {
    let positions = effectiveOrder(of: session).enumerated()
    let places = Dictionary(uniqueKeysWithValues: positions.map { ($1, $0 + 1) })
    return shownMessages(of: session).filter { places[$0.id] != nil }
      .map { view(of: $0, position: places[$0.id] ?? 0) }
  }

  /// The messages at some places of a session's queue, and how many wait in it.
  ///
  /// - Parameter places: from 0 in effective order; those that the queue does not have are left
  ///   out.
  /// - Throws: `QueueError.sessionNotFound` if it was never seen or is deleted.
  /// - Complexity: O(places + log slots); O(messages of the session) if nothing has touched the
  ///   session since the workspace was opened.
  public func messages(
    in places: Range<Int>, of session: SessionID
  ) throws(QueueError) -> MessageWindow {
    guard sessionExists(session) else { throw .sessionNotFound(id: session.rawValue) }
    let total = waitingCount(of: session)
    let places = places.clamped(to: 0..<total)
    let messages = zip(places, standingMessages(of: session, at: places))
      .map { view(of: $1, position: $0 + 1) }
    return MessageWindow(session: session, total: total, messages: messages)
  }

  /// One message, cancelled ones too.
  ///
  /// - Throws: `QueueError.messageNotFound`.
  public func message(_ id: MessageID) throws(QueueError) -> MessageView {
    guard let message = shownMessage(id) else { throw .messageNotFound(id: id.description) }
    return view(of: message, position: position(of: message))
  }

  /// The data of a message for its agent in addition to the text: the files, and its own project or
  /// its session's. nil if there is no such message.
  ///
  /// - Complexity: O(log).
  package func surroundings(
    of id: MessageID, in session: SessionID
  ) -> (project: String?, attachments: [Attachment]) {
    let message = shownMessage(id)
    let own = message?.project
    guard own == nil, let state = head(of: session), state.exists else {
      return (own, message?.attachments ?? [])
    }
    return (state.element.text(.project) ?? "", message?.attachments ?? [])
  }

  /// Whether a message is in a queue, and its session exists.
  func isWaiting(_ message: MessageState) -> Bool {
    message.stands && sessionExists(message.session)
  }

  func isWaiting(_ message: ShownMessage) -> Bool {
    message.stands && sessionExists(message.session)
  }

  private func view(of message: ShownMessage, position: Int) -> MessageView {
    MessageView(
      id: message.id, session: message.session, content: message.text(),
      priority: message.priority, status: message.runState.status(stands: isWaiting(message)),
      position: position, createdAt: message.primary?.stamp.milliseconds ?? 0,
      device: (message.primary?.id.replica).flatMap(device(of:)), project: message.project,
      attempts: message.allAttempts,
      lastError: message.runState.run.map(\.error) ?? message.lastError,
      attachments: message.attachments, isByAgent: message.isByAgent, run: message.runState.run,
      notBefore: message.notBefore, heldUntil: message.heldUntil,
      later: message.later, needs: message.needs, withdrawal: message.withdrawal,
      saved: message.savedTexts(of: device(of:)))
  }

  /// How many of a session's waiting messages were merged from texts that were saved independently,
  /// and wait for a check.
  ///
  /// - Complexity: O(1) if nothing waits, else as `messageQueue`, without the texts.
  package func mergedCount(of session: SessionID) -> Int {
    guard let view = summary(of: session), view.waiting > 0 else { return 0 }
    return standingMessages(of: session).count(where: \.isMerged)
  }

  /// The messages of a session that were taken out of its queue, by id; not those that were done or
  /// are forgotten.
  ///
  /// - Complexity: O(messages of the session · log).
  public func cancelledMessages(of session: SessionID) -> [MessageView] {
    finishedMessages(of: session).filter { $0.status == .cancelled }
  }

  /// The messages of a session that have left its queue, by id: done, skipped or cancelled.
  /// Forgotten messages are omitted.
  ///
  /// - Complexity: O(messages of the session · log).
  public func finishedMessages(of session: SessionID) -> [MessageView] {
    shownMessages(of: session).filter { !isWaiting($0) && !$0.isForgotten }
      .sorted { $0.id < $1.id }.map { view(of: $0, position: 0) }
  }

  /// The message with a full id or a unique beginning of 4 digits or more; hyphens may be left out.
  ///
  /// - Throws: `QueueError.messageNotFound`, or `messageAmbiguous` with up to ten candidates.
  /// - Complexity: O(messages) for a prefix.
  public func messageID(fromPrefix text: some StringProtocol) throws(QueueError) -> MessageID {
    if let id = MessageID(text) {
      guard messageStates.contains(id) else { throw .messageNotFound(id: id.description) }
      return id
    }
    switch NameMatch(text, among: Array(messageStates.keys), id: { $0 }) {
    case .one(let id): return id
    case .none: throw .messageNotFound(id: String(text))
    case .several(let found):
      let candidates = found.sorted()
      let named = candidates.prefix(10).indices.compactMap { index in
        shownMessage(candidates[index]).map {
          MessageCandidate($0, at: index, of: candidates)
        }
      }
      throw .messageAmbiguous(prefix: String(text), candidates: named)
    }
  }

  /// Every session that exists, by id.
  public func sessions() -> [SessionView] {
    let order = threadOrder()
    let positions = Dictionary(order.enumerated().map { ($1, $0 + 1) }) { first, _ in first }
    return heads.filter(\.exists).sorted { $0.key < $1.key }
      .map { view(of: $0, threadPosition: positions[$0.key]) }
  }

  /// One session, or nil if it was never seen or is deleted.
  public func session(_ id: SessionID) -> SessionView? {
    guard let state = head(of: id), state.exists else { return nil }
    let index = state.isInThreadQueue ? threadOrder().firstIndex(of: id) : nil
    return view(of: state, threadPosition: index.map { $0 + 1 })
  }

  /// As `session(_:)`, but without the place in the thread queue, which takes time to find.
  func summary(of id: SessionID) -> SessionView? {
    guard let state = head(of: id), state.exists else { return nil }
    return view(of: state, threadPosition: nil)
  }

  private func view(of session: SessionState, threadPosition: Int?) -> SessionView {
    // The head of a packed session has no messages.
    let packed = cold.flatMap { cold in untouchedIndex(of: session.key).map(cold.waiting) }
    let waiting = packed ?? session.standing.count
    return SessionView(
      id: session.key, name: session.displayName, project: session.element.text(.project) ?? "",
      paused: session.isPaused, archived: session.isArchived(waiting: waiting), waiting: waiting,
      threadPosition: threadPosition,
      locked: session.isLocked, host: session.host, onLostServer: session.onLostServer,
      onMerge: session.onMerge, task: session.task?.state)
  }
}

extension MessageCandidate {
  /// - Parameter ids: all with the same beginning, in order; the message's own is at the index.
  fileprivate init(_ message: ShownMessage, at index: Int, of ids: [MessageID]) {
    let digits = Array(message.id.description)
    let alike = [index - 1, index + 1].filter(ids.indices.contains).map { other in
      zip(digits, ids[other].description).prefix { $0 == $1 }.count
    }
    let line = message.text().prefix { !$0.isNewline }
    self.init(
      id: message.id, beginning: String(digits.prefix(max(8, (alike.max() ?? 0) + 1))),
      session: message.session, text: line.cut(toUTF8Bytes: 60))
  }
}

extension SessionState {
  /// The name, or the id if none was given; an undo sets an empty one.
  var displayName: String {
    guard let name = element.text(.name), !name.isEmpty else { return key.rawValue }
    return name
  }
}
