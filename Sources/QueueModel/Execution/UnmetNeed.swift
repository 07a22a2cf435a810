import SequenceCRDT

/// A message that another one waits for, and that has not succeeded.
public struct UnmetNeed: Hashable, Sendable {
  /// The message that is waited for.
  public var message: MessageID
  /// The session of that message; nil if this device does not know the message.
  public var session: SessionID?
  /// The status of that message; nil if this device does not know it.
  public var status: MessageStatus?

  package init(message: MessageID, session: SessionID? = nil, status: MessageStatus? = nil) {
    self.message = message
    self.session = session
    self.status = status
  }

  /// Whether that message may still succeed without a decision of a user. If not, a user decides
  /// about it, or starts the waiting message.
  public var isPending: Bool { status == .queued || status == .running }
}

extension UnmetNeed {
  /// What a message waits for, in the order in which its user named it.
  ///
  /// - Complexity: O(messages that lead to each other by their needs); also O(messages of each packed
  ///   session that holds one).
  static func all(of message: ShownMessage, in workspace: Workspace) -> [UnmetNeed] {
    message.needs.compactMap { id in
      guard let need = workspace.shownMessage(id) else { return UnmetNeed(message: id) }
      let run = need.runState
      guard run.run?.phase != .succeeded, !isCut(from: message, to: need, in: workspace) else {
        return nil
      }
      return UnmetNeed(
        message: id, session: need.session,
        status: run.status(stands: workspace.isWaiting(need)))
    }
  }

  /// Whether a need does not count because it is part of a circle: a message does not wait for one that
  /// was queued after it and that waits, directly or through others, for the message itself. So every
  /// circle is cut, at the same places on every device.
  private static func isCut(
    from message: ShownMessage, to need: ShownMessage, in workspace: Workspace
  ) -> Bool {
    message.queuingOrder <= need.queuingOrder
      && leads(from: need.id, to: message.id, in: workspace)
  }

  /// Whether a message waits for another one, directly or through others; each waits for itself.
  static func leads(from start: MessageID, to end: MessageID, in workspace: Workspace) -> Bool {
    around(start, in: workspace).contains(end)
  }

  /// A message and all that it waits for, directly and through others.
  static func around(_ start: MessageID, in workspace: Workspace) -> Set<MessageID> {
    var found: Set<MessageID> = [start]
    var open = [start]
    while let next = open.popLast() {
      for need in workspace.shownMessage(next)?.needs ?? [] where found.insert(need).inserted {
        open.append(need)
      }
    }
    return found
  }

  /// The sessions of a message and of all that it waits for: if a change of its needs closes a circle, one
  /// of these may come into line.
  static func sessions(around id: MessageID, in workspace: Workspace) -> Set<SessionID> {
    Set(around(id, in: workspace).compactMap { workspace.shownMessage($0)?.session })
  }
}

extension [UnmetNeed] {
  /// The one to tell a user of: the first that needs a decision, else the first.
  package var mostPressing: UnmetNeed? { first { !$0.isPending } ?? first }
}

/// The needs of a message as its register holds them.
enum MessageNeeds {
  static func value(_ ids: [MessageID]) -> RegisterValue {
    .text(ids.map(\.description).joined(separator: " "))
  }

  /// Reads a register; words that are no ids are skipped.
  static func ids(_ value: RegisterValue?) -> [MessageID] {
    guard case .text(let text)? = value, !text.isEmpty else { return [] }
    return Array(text.split(separator: " ").compactMap { MessageID($0) }.prefix(Limits.needsMax))
  }

  /// The bytes of needs in a register.
  static func bytes(_ ids: [MessageID]) -> Int { ids.isEmpty ? 0 : ids.count * 37 - 1 }

  /// The needs that a command may give a message: known ones, each once.
  ///
  /// - Throws: `QueueError.limitReached`, `.messageNotFound` or `.needsEachOther`.
  static func checked(
    _ ids: [MessageID], of id: MessageID, in workspace: Workspace
  ) throws(QueueError) -> [MessageID] {
    var needs: [MessageID] = []
    for need in ids where !needs.contains(need) { needs.append(need) }
    guard needs.count <= Limits.needsMax else {
      throw .limitReached(what: "messages that one message waits for", max: Limits.needsMax)
    }
    for need in needs {
      guard workspace.messageStates[need] != nil else {
        throw .messageNotFound(id: need.description)
      }
      guard !UnmetNeed.leads(from: need, to: id, in: workspace) else {
        throw .needsEachOther(id: id.description, need: need.description)
      }
    }
    return needs
  }

  /// Writes what a message waits for.
  static func set(
    _ ids: [MessageID], of id: MessageID, by author: inout CommandAuthor
  ) throws(QueueError) -> CommandOutcome.Notice {
    let message = try author.idleMessage(id)
    let needs = try checked(ids, of: id, in: author.workspace)
    guard MessageNeeds.ids(message.element.registers[.needs]?.value) != needs,
      let reference = message.element.references.first
    else { return .unchanged }
    emit(needs, of: reference, by: &author)
    return .done
  }

  static func emit(
    _ needs: [MessageID], of message: OperationID, by author: inout CommandAuthor
  ) {
    author.emit(
      .setRegister(element: message, field: .needs, value: value(needs), stamp: author.stamp))
  }
}

extension ShownMessage {
  /// When it was queued, and its id.
  fileprivate var queuingOrder: QueuingOrder {
    QueuingOrder(stamp: primary?.stamp ?? .zero, id: id)
  }
}

/// Orders messages by when they were queued.
private struct QueuingOrder: Comparable {
  var stamp: Stamp
  var id: MessageID

  static func < (left: QueuingOrder, right: QueuingOrder) -> Bool {
    (left.stamp, left.id) < (right.stamp, right.id)
  }
}
