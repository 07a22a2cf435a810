import SequenceCRDT

/// The text that an agent got, of a message whose text somebody changed since.
package struct RanText: Hashable, Sendable {
  var message: MessageID
  var attempt: UInt16
  var text: String
  /// The editions of before.
  var known: [OperationID]
}

extension Workspace {
  /// The texts of messages whose agents a device started, and whose content is another one in a later state.
  ///
  /// - Parameters:
  ///   - later: this state and what others did.
  ///   - ids: where to look.
  /// - Complexity: O(ids and their texts).
  package func ranTexts(
    changedIn later: Workspace, among ids: some Collection<MessageID>, on device: DeviceID
  ) -> [RanText] {
    ids.compactMap { id in
      guard let message = shownMessage(id), message.hasStarted, let run = message.runState.run,
        isRun(message, on: device), let now = later.shownMessage(id), now.hasStarted,
        now.runState.run?.attempt == run.attempt
      else { return nil }
      let text = message.text()
      guard !text.isEmpty, !text.utf8.elementsEqual(now.text().utf8) else { return nil }
      let isKept = message.editions.ran(in: run.attempt) != nil
      return RanText(
        message: id, attempt: run.attempt, text: text,
        known: isKept ? [] : message.editions.map(\.id))
    }
  }

  /// The messages whose agents a device started and that run or are done.
  ///
  /// - Complexity: O(messages).
  package func startedMessages(on device: DeviceID) -> Set<MessageID> {
    heads.reduce(into: []) { found, session in
      for message in shownMessages(of: session.key)
      where message.hasStarted && isRun(message, on: device) {
        found.insert(message.id)
      }
    }
  }

  private func isRun(_ message: ShownMessage, on device: DeviceID) -> Bool {
    message.runWriter().flatMap { self.device(of: $0.replica)?.id } == device
  }

  /// The messages whose text or editions operations change.
  package func retyped(by operations: [Operation]) -> Set<MessageID> {
    Set(
      operations.compactMap { operation in
        switch operation.body {
        case .insertText(let insertion): messageKeys[insertion.message]
        case .deleteText(let deletion): messageKeys[deletion.message]
        case .addTag(let element, .edition, _, _), .clearTags(let element, .edition, _):
          messageKeys[element]
        default: nil
        }
      })
  }

  /// Keeps the texts that agents got beside those that came too late.
  package mutating func keep(
    _ texts: [RanText], in context: CommandContext
  ) throws(QueueError) -> CommandOutcome {
    try write(in: context) { author in
      for ran in texts where !author.workspace.isForgotten(ran.message) {
        author.putRan(ran.text, of: ran.message, attempt: ran.attempt, over: ran.known)
      }
      return author.operations.isEmpty ? .unchanged : .done
    }.outcome
  }
}

/// What agents get, beside what is saved too late.
extension CommandAuthor {
  /// Has the letters of a message that has started make what its agent gets, and keeps that beside them: what is
  /// saved later came too late. Nothing is to do if no texts were merged.
  ///
  /// - Parameter text: what it showed before it started.
  mutating func settleStart(of id: MessageID, _ text: String, attempt: UInt16) throws(QueueError) {
    guard let message = workspace.messageStates[id].map(ShownMessage.init),
      message.editions.count >= 2
    else { return }
    let isWhole = text.utf8.elementsEqual(message.letters().utf8)
    if !isWhole { try emitLetters(from: try workspace.editBase(id), to: text, of: id) }
    guard !isWhole || !message.editions.allSatisfy({ Edition(note: $0.note).holds(text) })
    else { return }
    putRan(text, of: id, attempt: attempt, over: message.editions.map(\.id))
  }

  /// Puts an edition of what the agent of an attempt got.
  mutating func putRan(
    _ text: String, of id: MessageID, attempt: UInt16, over known: [OperationID]
  ) {
    guard let element = workspace.messageStates[id]?.element,
      let reference = element.references.first
    else { return }
    let live = Set(element.tagIDs(.edition))
    var edition = Edition(of: text, milliseconds: context.time)
    edition.attempt = attempt
    let pending = PendingEdition(note: edition.note, clears: known.filter(live.contains))
    changing(reference, bytes: pending.bytes) { $0.emit(pending, of: reference) }
  }
}
