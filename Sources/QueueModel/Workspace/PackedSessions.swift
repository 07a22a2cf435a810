package import SequenceCRDT

/// The sessions of an opened snapshot, still in packed form; the codec implements it.
///
/// Sessions are numbered from 0 in the order of their ids. The code that opens a snapshot has
/// checked everything but the runs, so only functions that need the runs can fail.
package protocol PackedSessions: AnyObject, Sendable {
  /// How many sessions there are.
  var count: Int { get }
  /// A session without slots and messages.
  func head(of index: Int) -> WorkspaceImage.Session
  /// A session with its messages and their texts, but without the runs of slots and texts. If the
  /// runs name other slots, the slots of the messages' positions are not the final ones.
  func outline(of index: Int) -> WorkspaceImage.Session
  /// Some of a session's messages as in its outline, by their ascending numbers in slot order.
  func messages(of index: Int, at numbers: [Int]) -> [WorkspaceImage.Message]
  /// A session with its whole content.
  ///
  /// - Throws: `MergeError.invalidImage` if its runs are invalid.
  func session(at index: Int) throws(MergeError) -> WorkspaceImage.Session
}

/// A session to be packed: everything except its messages, and the messages one by one. An image
/// takes several times as much memory as its packed form.
package struct SessionToWrite {
  /// The session without its messages.
  package var session: WorkspaceImage.Session
  /// For each message, its slot and the operation that added it first, with its stamp; in the order
  /// of the slots.
  package var places: [(slot: OperationID, addition: OperationID?, stamp: Stamp)]
  /// Returns the message with a number in that order.
  package var message: (Int) -> WorkspaceImage.Message
}

extension SessionToWrite {
  /// Creates a session from an existing image.
  package init(_ image: WorkspaceImage.Session) {
    self.init(
      session: image,
      places: image.messages.map {
        ($0.position.slot, $0.additions.first?.id, $0.additions.first?.stamp ?? .zero)
      },
      message: { image.messages[$0] })
  }
}

/// The data for finding a packed session and its messages.
package struct SessionSummary: Sendable {
  package var key: SessionID
  /// Every `openSession` that named it.
  package var references: [OperationID]
  package var threadPosition: OperationID?
  package var exists: Bool
  /// Whether there is a `queued` tag.
  package var isQueued: Bool
  /// In the order of their slots.
  package var messages: [MessageID] = []
  /// Every `addMessage` with the place of its message in `messages`.
  package var additions: [(id: OperationID, message: Int)] = []
  /// The block of each message in the queue; nil for one that is not in it.
  package var blocks: [QueueBlock?] = []
  /// The latest stamp of all.
  package var latestStamp = Stamp.zero

  /// A session without messages so far.
  package init(
    key: SessionID, references: [OperationID], threadPosition: OperationID?, exists: Bool,
    isQueued: Bool
  ) {
    self.key = key
    self.references = references
    self.threadPosition = threadPosition
    self.exists = exists
    self.isQueued = isQueued
  }
}
