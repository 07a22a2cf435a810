import Basics
package import QueueModel

package struct DraftRequest: APIValue {
  /// The text typed so far; an empty text removes the draft.
  package var text: String

  package init(text: String) { self.text = text }
}

package struct DraftSendRequest: APIValue {
  package static let notes: [String: Note] = ["id": .uuid, "priority": .priority]

  package var id: String?
  package var priority: String?

  package init(id: String? = nil, priority: String? = nil) {
    self.id = id
    self.priority = priority
  }
}

/// A session's draft; without a time if there is none.
package struct DraftAnswer: APIValue {
  package static let notes = ["updatedAt": Note.time]

  package var session: SessionID
  package var text: String
  package var updatedAt: String?

  package init(_ draft: Draft) {
    session = draft.session
    text = draft.text
    updatedAt = ISOTime.text(milliseconds: draft.updatedAt)
  }

  /// No draft.
  package init(session: SessionID) {
    self.session = session
    text = ""
  }
}

/// All drafts, by session.
package struct DraftsAnswer: APIValue {
  package var drafts: [DraftAnswer]

  package init(drafts: [DraftAnswer]) { self.drafts = drafts }
}
