package import QueueModel
package import SequenceCRDT

/// Finds the messages that, because of operations (a batch on the server, or a command on its
/// device), wait until a user chooses their text; SPECIFICATION.md, section "Notifications".
///
/// Created with the state before the operations, and queried with the state after them. It examines
/// the last `WireLimits.batchNewsMax` messages.
package struct MergeChanges: Sendable {
  /// A message that waits for its user's choice because of these operations.
  package struct Merge: Sendable {
    /// The name of the notification on every device.
    package var name: OperationID
    package var message: MessageID
    package var session: SessionID
    package var text: String
  }

  /// The operations that add editions.
  private let saves: [Operation]
  /// The operations that make an earlier merged message wait, or all messages of a session.
  private let returns: [Operation]
  /// The live editions of the messages that waited before.
  private let waited: [MessageID: Set<OperationID>]

  /// - Complexity: O(operations), and O(texts) of the messages with several editions.
  package init(_ operations: [Operation], before content: Workspace) {
    saves = operations.filter(\.putsEdition)
    returns = operations.filter(\.mayRestoreMerged)
    waited = MergeChanges.waiting(
      Set(MergeChanges.latest(saves, in: content).keys)
        .union(MergeChanges.returning(returns, in: content).flatMap(\.messages)),
      in: content)
  }

  /// Whether they make no further message wait.
  package var isEmpty: Bool { saves.isEmpty && returns.isEmpty }

  /// The merges that cause notifications, by the operations that cause them: messages that wait for
  /// a choice only afterwards, or one of whose editions was cleared.
  ///
  /// - Parameter content: the state after the operations.
  package func merges(after content: Workspace) -> [OperationID: [Merge]] {
    var merges: [OperationID: [Merge]] = [:]
    var told: Set<MessageID> = []
    for (message, name) in MergeChanges.latest(saves, in: content) {
      guard let merge = merge(of: message, name, in: content) else { continue }
      told.insert(message)
      merges[name] = [merge]
    }
    for (name, messages) in MergeChanges.returning(returns, in: content) {
      for message in messages where told.count < WireLimits.batchNewsMax && !told.contains(message)
      {
        let place = merges[name]?.count ?? 0
        let subject = RequestID(high: message.high, low: message.low)
        guard let merge = merge(of: message, name.naming(subject, at: place), in: content) else {
          continue
        }
        told.insert(message)
        merges[name, default: []].append(merge)
      }
    }
    return merges
  }

  private func merge(
    of message: MessageID, _ name: OperationID, in content: Workspace
  ) -> Merge? {
    guard let (session, editions) = Edition.live(of: message, in: content),
      waited[message]?.isSubset(of: editions) != true, content.waitsForChoice(message)
    else { return nil }
    return Merge(
      name: name, message: message, session: session, text: content.text(of: message) ?? "")
  }

  /// The last edition of each message.
  private static func latest(
    _ saves: [Operation], in content: Workspace
  ) -> [MessageID: OperationID] {
    var latest: [MessageID: OperationID] = [:]
    for save in saves.reversed() where latest.count < WireLimits.batchNewsMax {
      guard let message = save.message(in: content), latest[message] == nil else { continue }
      latest[message] = save.id
    }
    return latest
  }

  /// The messages that operations may cause to wait again.
  private static func returning(
    _ returns: [Operation], in content: Workspace
  ) -> [(name: OperationID, messages: [MessageID])] {
    returns.suffix(WireLimits.batchNewsMax).map { operation in
      if let message = operation.message(in: content) { return (operation.id, [message]) }
      guard case .setRegister(let element, _, _, _) = operation.body,
        let session = content.session(introducedBy: element)
      else {
        return (operation.id, [])
      }
      return (operation.id, Edition.merged(in: session, of: content))
    }
  }

  private static func waiting(
    _ messages: Set<MessageID>, in content: Workspace
  ) -> [MessageID: Set<OperationID>] {
    messages.reduce(into: [:]) { waited, message in
      guard content.waitsForChoice(message) else { return }
      waited[message] = Edition.live(of: message, in: content)?.editions
    }
  }
}

extension Operation {
  fileprivate var putsEdition: Bool {
    if case .addTag(_, .edition, _, _) = body { true } else { false }
  }

  /// Whether it restores a message to a queue, moves it to another one, or sets whether its session
  /// runs merged messages.
  fileprivate var mayRestoreMerged: Bool {
    switch body {
    case .addTag(_, .live, _, _), .placeMessage, .setRegister(_, .onMerge, _, _): true
    default: false
    }
  }
}
