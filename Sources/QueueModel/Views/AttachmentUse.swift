import SequenceCRDT

extension Workspace {
  /// Every file that a message refers to, cancelled messages included, by hash.
  ///
  /// - Complexity: O(messages).
  public func attachments() -> [ContentHash: AttachmentUse] {
    var uses: [ContentHash: AttachmentUse] = [:]
    for session in heads.map(\.key) {
      for message in shownMessages(of: session) {
        for attachment in message.attachments {
          var use = uses[attachment.hash] ?? AttachmentUse(attachment: attachment)
          if message.stands && sessionExists(session) { use.isWaiting = true }
          if message.runState.isInFlight { use.isRunning = true }
          uses[attachment.hash] = use
        }
      }
    }
    return uses
  }
}

/// A file that messages refer to.
public struct AttachmentUse: Hashable, Sendable {
  /// The file, as one of the messages describes it.
  public var attachment: Attachment
  /// Whether a waiting message needs it.
  public var isWaiting = false
  /// Whether a host has got such a message, and may be looking for the file.
  public var isRunning = false
}
