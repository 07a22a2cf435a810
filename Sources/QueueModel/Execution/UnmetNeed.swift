import SequenceCRDT

/// A message that another one waits for, and that has not succeeded.
public struct UnmetNeed: Hashable, Sendable {
  /// The message that the other one waits for.
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

  /// Whether that message may still succeed without a user's decision. If not, a user decides about
  /// it, or starts the waiting message.
  public var isPending: Bool { status == .queued || status == .running }
}

extension UnmetNeed {
  /// The messages that a message waits for, in the order in which its user named them.
  ///
  /// - Parameter circles: those of the same workspace, for several messages.
  /// - Complexity: O(messages that lead to each other by their needs), for all messages with the
  ///   same `circles` together; also O(messages of each packed session that holds one).
  static func all(
    of message: ShownMessage, in workspace: Workspace, _ circles: inout NeedCircles
  ) -> [UnmetNeed] {
    message.needs.compactMap { id in
      guard let need = workspace.shownMessage(id) else { return UnmetNeed(message: id) }
      let run = need.runState
      guard run.run?.phase != .succeeded, !isCut(from: message, to: need, in: workspace, &circles)
      else { return nil }
      return UnmetNeed(
        message: id, session: need.session,
        status: run.status(stands: workspace.isWaiting(need)))
    }
  }

  static func all(of message: ShownMessage, in workspace: Workspace) -> [UnmetNeed] {
    var circles = NeedCircles()
    return all(of: message, in: workspace, &circles)
  }

  /// Whether a need does not count because it is part of a circle: a message does not wait for one
  /// that was queued after it and that waits, directly or through others, for the message itself.
  /// So every circle is cut, at the same places on every device.
  private static func isCut(
    from message: ShownMessage, to need: ShownMessage, in workspace: Workspace,
    _ circles: inout NeedCircles
  ) -> Bool {
    message.queuingOrder <= need.queuingOrder
      && circles.circle(of: message.id, in: workspace) == circles.circle(of: need.id, in: workspace)
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

  /// The sessions of a message and of all that it waits for: if a change of its needs closes a
  /// circle, one of these messages may come into line.
  static func sessions(around id: MessageID, in workspace: Workspace) -> Set<SessionID> {
    Set(around(id, in: workspace).compactMap { workspace.shownMessage($0)?.session })
  }
}

/// The circles of needs in one state of a workspace: messages are in the same circle if each leads
/// to the other. A message that is in none is a circle of its own.
struct NeedCircles {
  private var circles: [MessageID: Int] = [:]
  private var places: [MessageID: Int] = [:]

  /// A message whose needs are being followed.
  private struct Step {
    var message: MessageID
    var needs: [MessageID]
    /// The first place that it leads to, among those whose circle is not complete.
    var first: Int
  }

  /// The number of the circle that a message is in.
  ///
  /// - Complexity: O(messages that it leads to by needs) for the first of these, then O(1).
  mutating func circle(of id: MessageID, in workspace: Workspace) -> Int? {
    if circles[id] == nil { follow(id, in: workspace) }
    return circles[id]
  }

  /// Tarjan's algorithm, without recursion.
  private mutating func follow(_ start: MessageID, in workspace: Workspace) {
    var open: [MessageID] = []
    var path: [Step] = []
    func enter(_ id: MessageID, at place: Int) {
      open.append(id)
      path.append(Step(message: id, needs: workspace.shownMessage(id)?.needs ?? [], first: place))
    }
    places[start] = places.count
    enter(start, at: places.count - 1)
    while var step = path.popLast() {
      if let need = step.needs.popLast() {
        if let place = places[need] {
          if circles[need] == nil { step.first = min(step.first, place) }
          path.append(step)
        } else {
          path.append(step)
          places[need] = places.count
          enter(need, at: places.count - 1)
        }
        continue
      }
      if let last = path.indices.last { path[last].first = min(path[last].first, step.first) }
      guard let place = places[step.message], step.first == place else { continue }
      while let member = open.popLast() {
        circles[member] = place
        if member == step.message { break }
      }
    }
  }
}

extension [UnmetNeed] {
  /// The need to report to a user: the first that needs a decision, else the first.
  package var mostPressing: UnmetNeed? { first { !$0.isPending } ?? first }
}

/// The needs of a message, in the form of its register.
enum MessageNeeds {
  static func value(_ ids: [MessageID]) -> RegisterValue {
    .text(ids.map(\.description).joined(separator: " "))
  }

  /// Reads a register; words that are not ids are skipped.
  static func ids(_ value: RegisterValue?) -> [MessageID] {
    guard case .text(let text)? = value, !text.isEmpty else { return [] }
    return Array(text.split(separator: " ").compactMap { MessageID($0) }.prefix(Limits.needsMax))
  }

  /// The bytes of needs in a register.
  static func bytes(_ ids: [MessageID]) -> Int { ids.isEmpty ? 0 : ids.count * 37 - 1 }

  /// The needs that a command may give a message: known messages, without repetitions.
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

  /// Writes the messages that a message waits for.
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

  /// Makes a message wait for none; met needs stay, because they block nothing.
  static func release(
    _ id: MessageID, by author: inout CommandAuthor
  ) throws(QueueError) -> CommandOutcome.Notice {
    let workspace = author.workspace
    guard let message = workspace.shownMessage(id),
      !UnmetNeed.all(of: message, in: workspace).isEmpty
    else { return .unchanged }
    return try set([], of: id, by: &author)
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
