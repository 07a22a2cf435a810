package import QueueModel
package import SequenceCRDT

/// Reads out of operations, a batch on the server or a command on its device, which messages they
/// merged; SPECIFICATION.md, section "Notifications".
///
/// Made with the state before the operations, asked with the state after them. It looks at the
/// last `WireLimits.batchNewsMax` messages.
package struct MergeChanges: Sendable {
  /// A message that waits for its person's choice from the operations on.
  package struct Merge: Sendable {
    package var message: MessageID
    package var session: SessionID
    package var text: String
  }

  /// The operations that put editions.
  private let saves: [Operation]
  /// The live editions of the messages that waited before.
  private let waited: [MessageID: Set<OperationID>]

  /// - Complexity: O(operations), and O(texts) of the messages with several editions.
  package init(_ operations: [Operation], before content: Workspace) {
    saves = operations.filter(\.putsEdition)
    waited = MergeChanges.latest(saves, in: content).keys
      .reduce(into: [:]) { waited, message in
        guard content.waitsForChoice(message) else { return }
        waited[message] = Edition.live(of: message, in: content)?.editions
      }
  }

  /// They put no edition.
  package var isEmpty: Bool { saves.isEmpty }

  /// The merges that make notifications, by the operation that names each: messages that wait for a
  /// choice afterwards and did not before, or one of whose editions was cleared.
  ///
  /// - Parameter content: the state after the operations.
  package func merges(after content: Workspace) -> [OperationID: Merge] {
    var merges: [OperationID: Merge] = [:]
    for (message, name) in MergeChanges.latest(saves, in: content) {
      guard let (session, editions) = Edition.live(of: message, in: content),
        waited[message]?.isSubset(of: editions) != true, content.waitsForChoice(message)
      else { continue }
      merges[name] = Merge(
        message: message, session: session, text: content.text(of: message) ?? "")
    }
    return merges
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
}

extension Operation {
  fileprivate var putsEdition: Bool {
    if case .addTag(_, .edition, _, _) = body { true } else { false }
  }
}
