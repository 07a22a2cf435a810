import SequenceCRDT

/// Undoes a change step by step, unless another device's change or an agent prevents it.
struct UndoReversal {
  let entry: UndoEntry
  /// Fields that later changes by this device wrote, and that are not touched.
  let later: Set<UndoField>
  /// The editions that changes by this device added, by their short notes.
  let own: Set<String>
  /// Sessions to pause first, to prevent starts.
  let pausing: [SessionID]
  /// The facts that are certain on a device that does not know the current state; nil if its copy
  /// is the current state.
  let apart: Apartness?
  /// Why steps were not undone, each reason once.
  private(set) var left: [UndoObstacle] = []
  /// Sessions that were restored or kept alive.
  private var revived: Set<SessionID> = []

  init(
    of entry: UndoEntry, besides later: Set<UndoField>, own: Set<String>,
    pausing: [SessionID] = [], apart: Apartness?
  ) {
    self.entry = entry
    self.apart = apart
    self.later = later
    self.own = own
    self.pausing = pausing
  }

  mutating func write(by author: inout CommandAuthor) {
    for session in pausing { pause(session, by: &author) }
    let isBlocked = hasNoMessageLeft(author.workspace)
    // Stops precede starts, because another device may receive the operations one by one.
    for step in entry.steps.enumerated().sorted(by: {
      ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset)
    }).map(\.element) {
      if let obstacle = obstacle(of: step, author.workspace) {
        // A send or an import concerns its messages, so a session that stays or is listed because of what others
        // did there need not be reported.
        if sendsMessages, step.takesSessionAway || step.archives { continue }
        if !left.contains(obstacle) { left.append(obstacle) }
      } else if !isBlocked || step.field.element.message != nil {
        undo(step, by: &author)
      }
    }
  }

  /// Whether none of the messages that a change sent can be undone; then its thread keeps its
  /// place.
  private func hasNoMessageLeft(_ workspace: Workspace) -> Bool {
    let steps = entry.steps.filter { $0.field.element.message != nil }
    return sendsMessages && !steps.isEmpty
      && steps.allSatisfy { obstacle(of: $0, workspace) != nil }
  }

  private var sendsMessages: Bool { [.sent, .imported].contains(entry.label.kind) }

  // MARK: - What is in the way

  private func obstacle(of step: UndoStep, _ workspace: Workspace) -> UndoObstacle? {
    switch step.field.element {
    case .message(let id):
      guard let message = workspace.messageStates[id], !workspace.isForgotten(id) else {
        return .overtaken(remedy: nil)
      }
      if message.element.runState.isInFlight {
        return .started(id, message.ranBeginning, message.session)
      }
      if message.element.runState.run != nil {
        return .ended(id, message.ranBeginning, remedy: step.remedy(in: workspace))
      }
    case .session(let id):
      guard let session = workspace.sessionStates[id] else { return .overtaken(remedy: nil) }
      if step.takesSessionAway, session.exists, let obstacle = history(of: id, step, workspace) {
        return obstacle
      }
    }
    return isOvertaken(step, workspace) ? .overtaken(remedy: step.remedy(in: workspace)) : nil
  }

  private func isOvertaken(_ step: UndoStep, _ workspace: Workspace) -> Bool {
    guard step.field.isOfText, let message = step.field.element.message else {
      return step.isOvertaken || later.contains(step.field)
    }
    return SavedOver(message: message, entry: entry, own: own)
      .isOvertaken(in: workspace, later: later)
  }

  /// The reason why a session is not removed; nil if it may be. An added session stays if it
  /// contains anything that the change did not make. If the deletion of a session is redone, the
  /// session stays if agents have worked in it.
  private func history(
    of id: SessionID, _ step: UndoStep, _ workspace: Workspace
  ) -> UndoObstacle? {
    let byHand = UndoObstacle.needsCommand(ShellLine.named("session delete", id))
    // Another device may use it, unknown to this device.
    if let apart, !apart.isAlone(id, in: workspace) {
      return .apart(ShellLine.named("session delete", id))
    }
    let messages = workspace.shownMessages(of: id)
    guard let session = workspace.sessionStates[id],
      session.host == nil || brings(back: .register(.host), of: id),
      messages.allSatisfy({ $0.runState.run == nil })
    else { return byHand }
    if entry.label.kind == .deletedSession { return nil }
    let own = entry.messages
    let author = session.element.references.first.flatMap { workspace.device(of: $0.replica)?.id }
    // Messages that the device itself sent and withdrew do not count.
    let holdsNothing = messages.allSatisfy { message in
      own.contains(message.id)
        || !message.stands && author != nil
          && message.primary.flatMap { workspace.device(of: $0.id.replica)?.id } == author
    }
    let isPaused = session.isPaused && !brings(back: .tags(.paused), of: id)
    return !step.isOvertaken && !isPaused && session.task == nil && holdsNothing ? nil : byHand
  }

  /// Whether it restores a property that a session had before it was deleted and began as a new
  /// one. The session gets it back, and is deleted again.
  private func brings(back part: UndoField.Part, of id: SessionID) -> Bool {
    entry.steps.contains { step in
      guard step.field == UndoField(element: .session(id), part: part), !step.isOvertaken else {
        return false
      }
      switch step.value {
      case .notes(let notes): return notes != nil
      case .register(let before): return before != nil && before != .text("")
      default: return false
      }
    }
  }

  // MARK: - Steps

  private mutating func undo(_ step: UndoStep, by author: inout CommandAuthor) {
    guard let element = author.workspace.elementState(step.field.element),
      let reference = element.references.first
    else { return }
    switch (step.field.part, step.value) {
    case (.tags(let field), .notes(let notes)):
      undoTags(step.field.element, reference, field, notes, by: &author)
    case (.tags(.edition), .files(let taken, let given)):
      guard let message = step.field.element.message else { return }
      EditionReversal(
        message: message, taken: taken, given: given, isRewritten: entry.isRewritten
      ).write(by: &author)
    case (.tags, .files(let taken, let given)):
      undoFiles(element, reference, taken: taken, given: given, by: &author)
    case (.register(let field), .register(let before)):
      undoRegister(element, reference, field, before, by: &author)
    case (.place, .place(let place)):
      undoPlace(step.field.element, reference, place, by: &author)
    case (.text, .text(let text)):
      guard let message = step.field.element.message else { return }
      let made = author.operations.count
      author.reverse(
        text, of: message, isLatest: !step.isOvertaken && !later.contains(step.field),
        isSaved: SavedOver(message: message, entry: entry, own: own).isSaved(in: author.workspace))
      // This is typing whose edition belongs to a later change.
      let edition = UndoField(element: step.field.element, part: .tags(.edition))
      if author.operations.count > made, !entry.speaks(of: edition) {
        let isMerged = author.workspace.shownMessage(message)?.isMerged == true
        author.putEdition(of: message, over: isMerged ? [] : nil)
      }
    default: return
    }
  }

  private mutating func undoTags(
    _ element: ElementName, _ reference: OperationID, _ field: TagField, _ notes: [String]?,
    by author: inout CommandAuthor
  ) {
    let state = author.workspace.elementState(element)
    let present = state?.tagIDs(field) ?? []
    guard var notes else {
      let staysPaused = field == .paused && element.session.map(pausing.contains) == true
      guard !present.isEmpty, !staysPaused else { return }
      author.emit(.clearTags(element: reference, field: field, clears: present))
      return
    }
    switch (element, field) {
    case (.session(let key), .exists):
      // What came meanwhile keeps it in the lists.
      if Archival.holds(notes), author.workspace.sessionStates[key]?.standing.count != 0 { return }
      revived.insert(key)
    case (.session(let key), _):
      guard author.workspace.sessionStates[key]?.exists == true || brings(back: key) else { return }
    case (.message(let id), .live):
      guard let session = author.workspace.messageStates[id]?.session,
        author.workspace.sessionStates[session]?.exists == true
      else { return }
      if present.isEmpty, revived.insert(session).inserted { author.keepAlive(session) }
      // A restored message is used with the parts that arrived, even if the rest never arrives.
      let marks = state?.tagIDs(.incomplete) ?? []
      if present.isEmpty, !marks.isEmpty {
        author.emit(.clearTags(element: reference, field: .incomplete, clears: marks))
      }
    default: break
    }
    // The earlier reason of a pause replaces the command's own.
    let isReplaced = field == .paused && state?.notes(.paused) != notes
    let isArchival =
      field == .exists && !present.isEmpty
      && Archival.holds(notes) != Archival.holds(state?.notes(.exists) ?? [])
    guard present.isEmpty || isReplaced || isArchival else { return }
    if isArchival { notes = [Archival.holds(notes) ? Archival.archived : Archival.unarchived] }
    var clears = present
    notes = notes.isEmpty ? [""] : notes
    for note in notes {
      author.emit(.addTag(element: reference, field: field, clears: clears, note: note))
      clears = []
    }
  }

  private func brings(back key: SessionID) -> Bool {
    entry.steps.contains {
      $0.field == UndoField(element: .session(key), part: .tags(.exists)) && !$0.takesSessionAway
    }
  }

  private func undoFiles(
    _ element: ElementState, _ reference: OperationID, taken: [String], given: [String],
    by author: inout CommandAuthor
  ) {
    let tags = element.tags[.attachment]?.tags ?? []
    let gone = tags.filter { taken.contains($0.note) }.map(\.id)
    if !gone.isEmpty {
      author.emit(.clearTags(element: reference, field: .attachment, clears: gone))
    }
    for note in given where !tags.contains(where: { $0.note == note }) {
      author.emit(.addTag(element: reference, field: .attachment, clears: [], note: note))
    }
  }

  private func undoRegister(
    _ element: ElementState, _ reference: OperationID, _ field: RegisterField,
    _ before: RegisterValue?, by author: inout CommandAuthor
  ) {
    guard let now = element.registers[field]?.value else { return }
    // An empty text, or the time 0, counts as none.
    let value: RegisterValue
    switch (before, now) {
    case (let known?, _): value = known
    case (nil, .text): value = .text("")
    case (nil, .number): value = .number(0)
    }
    guard value != now else { return }
    author.emit(
      .setRegister(element: reference, field: field, value: value, stamp: author.stamp))
  }

  private func undoPlace(
    _ element: ElementName, _ reference: OperationID, _ place: UndoPlace,
    by author: inout CommandAuthor
  ) {
    switch element {
    case .message(let id):
      guard let (queue, origins) = messagePlace(place, author.workspace) else { return }
      if let key = place.session, author.workspace.messageStates[id]?.session != key {
        author.keepAlive(key)
      }
      author.emit(
        .placeMessage(message: reference, session: queue, origins: origins, stamp: author.stamp))
    case .session:
      let origins = threadPlace(place, author.workspace)
      author.emit(.placeThread(session: reference, origins: origins, stamp: author.stamp))
    }
  }

  /// A place in a queue, as ids: a reference to the slots while operations are made would cause a
  /// copy.
  private func messagePlace(
    _ place: UndoPlace, _ workspace: Workspace
  ) -> (queue: OperationID, origins: Operation.Origins)? {
    guard let key = place.session, let session = workspace.sessionStates[key], session.exists,
      let queue = session.element.references.first
    else { return nil }
    func slot(_ neighbour: ElementName?) -> OperationID? {
      neighbour?.message.flatMap { workspace.messageStates[$0] }
        .flatMap { $0.session == key ? $0.position.value : nil }
    }
    let origins = session.slots.origins(
      behind: session.slots.contains(place.slot) ? place.slot : slot(place.left),
      before: slot(place.right))
    return (queue, origins)
  }

  private func threadPlace(_ place: UndoPlace, _ workspace: Workspace) -> Operation.Origins {
    func slot(_ neighbour: ElementName?) -> OperationID? {
      neighbour?.session.flatMap { workspace.sessionStates[$0]?.threadPosition?.value }
    }
    let slots = workspace.threadSlots
    return slots.origins(
      behind: slots.contains(place.slot) ? place.slot : slot(place.left),
      before: slot(place.right))
  }

  // MARK: - Pausing

  /// The beginning of the reason of a pause that an undo or a redo set.
  private static let reasonStart = "An undo or redo "

  private func pause(_ id: SessionID, by author: inout CommandAuthor) {
    guard let element = author.workspace.sessionStates[id]?.element,
      let reference = element.references.first
    else { return }
    let isTakenAway = entry.steps.contains {
      $0.letsGoOn && $0.field.element == .session(id)
    }
    // A pause that a user set for a different reason stays.
    let clears = (element.tags[.paused]?.tags ?? []).filter {
      isTakenAway || $0.note.hasPrefix(Self.reasonStart)
    }
    let what =
      apart == nil
      ? "brought back what could start" : "came from a device without a connection"
    let reason =
      Self.reasonStart + "\(what) (\(entry.label)); resume with: "
      + ShellLine.session("queue resume", id)
    author.emit(
      .addTag(
        element: reference, field: .paused, clears: clears.map(\.id),
        note: reason.cut(toUTF8Bytes: Limits.nameBytesMax)))
  }
}

extension UndoStep {
  /// Whether it archives a session.
  var archives: Bool {
    guard field.part == .tags(.exists), case .notes(let notes?) = value else { return false }
    return Archival.holds(notes)
  }

  /// Whether it removes a session.
  var takesSessionAway: Bool { field.part == .tags(.exists) && value == .notes(nil) }

  /// Steps that stop something come first, steps that allow starts last, all others between.
  fileprivate var rank: Int {
    switch (field.part, value) {
    case (.tags(.paused), .notes(let notes)): notes == nil ? 8 : 0
    case (.tags(.live), .notes(let notes)): notes == nil ? 1 : 6
    case (.tags(.exists), .notes(let notes)): notes == nil ? 7 : 3
    case (.register(.notBefore), .register(let time)), (.register(.heldUntil), .register(let time)),
      (.register(.later), .register(let time)):
      time?.milliseconds == nil ? 7 : 2
    case (.register(.needs), .register(let needs)): MessageNeeds.ids(needs).isEmpty ? 7 : 2
    case (.text, _), (.tags(.attachment), _): 3
    case (.place, _), (.register, _): 5
    default: 4
    }
  }
}

extension CommandAuthor {
  /// A restored message keeps its session alive.
  mutating func keepAlive(_ key: SessionID) {
    guard let session = workspace.sessionStates[key],
      let reference = session.element.references.first
    else { return }
    emit(
      .addTag(
        element: reference, field: .exists, clears: session.element.tagIDs(.exists), note: ""))
  }
}
