import ClientCore
import QueueModel

/// The texts that people wrote for messages: sent, saved, imported or chosen.
///
/// Skips messages in which a user typed, because letters merge, and those that it did not see sent.
struct WrittenTexts {
  private var texts: [MessageID: Set<[UInt8]>] = [:]
  private var typed: Set<MessageID> = []
  /// Sessions that run merged texts, or did.
  private var runsMerged: Set<SessionID> = []

  /// Records the text of an action, whatever its outcome. The result of an undo is not written.
  mutating func learn(_ action: UserAction) {
    switch action {
    case .edit(let message, let content, _), .command(.edit(let message, let content, _)):
      add(content, to: message)
    case .command(.send(let send)): add(send.text, to: send.id)
    case .command(.setOnMerge(let session, .run)): runsMerged.insert(session)
    case .command(.importDocument(let document)):
      for session in document.sessions {
        if session.onMerge == .run { runsMerged.insert(session.id) }
        for message in session.messages + session.cancelled {
          add(message.content, to: message.id)
          for edition in message.editions ?? [] {
            if let content = edition.content { add(content, to: message.id) }
          }
        }
      }
    case .command(let command):
      if let message = command.typedMessage { typed.insert(message) }
    case .open: break
    }
  }

  /// Whether no user wrote the text that an agent gets.
  func lack(_ order: StartOrder) -> Bool {
    guard let known = texts[order.message], !typed.contains(order.message),
      !runsMerged.contains(order.session)
    else { return false }
    return !known.contains(Array(order.text.utf8))
  }

  private mutating func add(_ text: String, to message: MessageID) {
    texts[message, default: []].insert(Array(text.trimmedOfWhitespace().utf8))
  }
}
