import SequenceCRDT

/// The text that an agent got, if the message's text was changed since.
package struct RanText: Hashable, Sendable {
  var message: MessageID
  var attempt: UInt16
  var text: String
  /// The editions before the change.
  var known: [OperationID]
}

extension RanText {
  /// The texts of messages whose agents a device started, and whose content differs in a later
  /// state.
  ///
  /// - Parameters:
  ///   - before: a state.
  ///   - later: the state and the changes of others.
  ///   - ids: the messages to examine.
  /// - Complexity: O(ids and their texts).
  package static func changed(
    from before: Workspace, to later: Workspace, among ids: some Collection<MessageID>,
    on device: DeviceID
  ) -> [RanText] {
    ids.compactMap { changed($0, from: before, to: later.shownMessage($0), on: device) }
  }

  /// The same for a later state that came as a snapshot. It may lack operations of this device.
  ///
  /// - Complexity: O(messages of the snapshot + ids and their texts).
  package static func changed(
    from before: Workspace, to later: WorkspaceImage, among ids: Set<MessageID>, on device: DeviceID
  ) -> [RanText] {
    later.sessions.flatMap { session in
      session.messages.filter { ids.contains($0.id) }.compactMap {
        changed($0.id, from: before, to: ShownMessage($0, in: session.key), on: device)
      }
    }
  }

  private static func changed(
    _ id: MessageID, from before: Workspace, to later: ShownMessage?, on device: DeviceID
  ) -> RanText? {
    guard let message = before.shownMessage(id), message.hasStarted,
      let run = message.runState.run, isRun(message, on: device, in: before), let later,
      later.hasHad(run),
      // A host that was restored from a backup receives again what it kept.
      later.editions.ran(in: run.attempt) == nil
    else { return nil }
    let text = message.text()
    guard !text.isEmpty, !text.utf8.elementsEqual(later.text().utf8) else { return nil }
    let isKept = message.editions.ran(in: run.attempt) != nil
    return RanText(
      message: id, attempt: run.attempt, text: text,
      known: isKept ? [] : message.editions.map(\.id))
  }

  /// The messages whose agents a device started and that run or are done.
  ///
  /// - Complexity: O(messages).
  package static func started(on device: DeviceID, in workspace: Workspace) -> Set<MessageID> {
    workspace.heads.reduce(into: []) { found, session in
      for message in workspace.shownMessages(of: session.key)
      where message.hasStarted && isRun(message, on: device, in: workspace) {
        found.insert(message.id)
      }
    }
  }

  /// Whether a device started the agent of a message, and the agent works or is done.
  package static func ran(_ id: MessageID, on device: DeviceID, in workspace: Workspace) -> Bool {
    workspace.shownMessage(id).map { $0.hasStarted && isRun($0, on: device, in: workspace) }
      ?? false
  }

  private static func isRun(
    _ message: ShownMessage, on device: DeviceID, in workspace: Workspace
  ) -> Bool {
    runner(of: message, in: workspace) == device
  }

  private static func runner(of message: ShownMessage, in workspace: Workspace) -> DeviceID? {
    message.runWriter().flatMap { workspace.device(of: $0.replica)?.id }
  }

  /// The device that last reported on the agent of a message; nil if it has no attempt, or the
  /// device is not known yet.
  package static func runner(of id: MessageID, in workspace: Workspace) -> DeviceID? {
    workspace.shownMessage(id).flatMap { runner(of: $0, in: workspace) }
  }

  /// The messages whose text or editions operations change.
  package static func retyped(
    by operations: [Operation], in workspace: Workspace
  ) -> Set<MessageID> {
    Set(
      operations.compactMap { operation in
        switch operation.body {
        // If the same id was sent twice, the earlier one by its clock is the text of both.
        case .addMessage(let addition): addition.message
        case .insertText(let insertion): workspace.messageKeys[insertion.message]
        case .deleteText(let deletion): workspace.messageKeys[deletion.message]
        case .addTag(let element, .edition, _, _), .clearTags(let element, .edition, _):
          workspace.messageKeys[element]
        default: nil
        }
      })
  }

  /// Keeps the texts that agents got beside those that came too late.
  package static func keep(
    _ texts: [RanText], in workspace: inout Workspace, _ context: CommandContext
  ) throws(QueueError) -> CommandOutcome {
    try workspace.write(in: context) { author in
      for ran in texts where !author.workspace.isForgotten(ran.message) { ran.put(by: &author) }
      return author.operations.isEmpty ? .unchanged : .done
    }.outcome
  }
}

extension ShownMessage {
  /// Whether an attempt that works or is done elsewhere does so here, or will once its report is
  /// here: the report is not known yet, or replaces that the attempt was given up.
  fileprivate func hasHad(_ attempt: Run) -> Bool {
    guard let own = runState.run, own.attempt >= attempt.attempt else { return true }
    return own.attempt == attempt.attempt && (hasStarted || attempt.fence > own.fence)
  }
}

extension RanText {
  /// The visible state of a message whose agent starts; nil if it does not start now. An agent that
  /// was given up may still finish, with a text that is not the message's present one.
  ///
  /// - Parameter got: the text that its agent got; nil if it is unknown.
  static func shown(before run: Run, of message: MessageState, got: String?) -> String? {
    guard !message.element.runState.isInFlight else { return nil }
    let shown = ShownMessage(message).text()
    if run.phase.isInFlight { return shown }
    guard run.phase == .succeeded, let got, !got.utf8.elementsEqual(shown.utf8) else { return nil }
    return shown
  }

  /// Changes the letters of a started message to the text that its agent gets, and keeps that text
  /// as an edition. Whatever is saved later is too late. Does nothing if no texts were merged.
  ///
  /// - Parameters:
  ///   - text: the visible text before the start.
  ///   - got: the text that its agent gets; nil if it is the same. Otherwise, what was saved after
  ///     the grant is too late.
  static func settle(
    _ text: String, of id: MessageID, got: String?, attempt: UInt16, by author: inout CommandAuthor
  ) throws(QueueError) {
    guard let message = author.workspace.messageStates[id].map(ShownMessage.init) else { return }
    if let got, !got.utf8.elementsEqual(text.utf8) {
      let known = message.editions.filter { Edition(note: $0.note).holds(got) }.map(\.id)
      return RanText(message: id, attempt: attempt, text: got, known: known).put(by: &author)
    }
    guard message.editions.count >= 2 else { return }
    let isWhole = text.utf8.elementsEqual(message.letters().utf8)
    if !isWhole {
      try author.emitLetters(from: try author.workspace.editBase(id), to: text, of: id)
    }
    guard !isWhole || !message.editions.allSatisfy({ Edition(note: $0.note).holds(text) })
    else { return }
    RanText(message: id, attempt: attempt, text: text, known: message.editions.map(\.id))
      .put(by: &author)
  }

  /// Adds an edition of it.
  private func put(by author: inout CommandAuthor) {
    guard let element = author.workspace.messageStates[message]?.element,
      let reference = element.references.first
    else { return }
    let live = Set(element.tagIDs(.edition))
    var edition = Edition(of: text, milliseconds: author.context.time)
    edition.attempt = attempt
    let pending = CommandAuthor.PendingEdition(
      note: edition.note, clears: known.filter(live.contains))
    author.changing(reference, bytes: pending.bytes) { $0.emit(pending, of: reference) }
  }
}
