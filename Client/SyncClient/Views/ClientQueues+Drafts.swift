import ClientCore
import ClientStore
public import QueueModel

/// Drafts are kept on this device across restarts. Sending a prompt that contains the whole draft
/// of its session ends the draft, in the same transaction (S2-44). A different draft stays.
extension ClientQueues {
  /// Every draft, by session.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if they cannot be read, `.closed`.
  public func drafts() async throws(ClientError) -> [Draft] {
    try await client.engine.withStore { store throws(StoreError) in
      try store.drafts()
    }
  }

  /// A session's draft; nil if there is none.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if it cannot be read, `.closed`.
  public func draft(of session: SessionID) async throws(ClientError) -> Draft? {
    try await client.engine.withStore { store throws(StoreError) in
      try store.draft(of: session)
    }
  }

  /// Stores a session's draft, replacing its former one; an empty text removes it. The session need
  /// not exist yet. On disk when the call returns.
  ///
  /// - Returns: the draft; nil if it was removed.
  /// - Throws: `.queue` with `contentTooLong`, `limitReached` or `persistenceFailed`, `.closed`.
  @discardableResult
  public func setDraft(
    _ text: String, of session: SessionID
  ) async throws(ClientError) -> Draft? {
    let bytes = text.utf8.count
    guard bytes <= Limits.contentBytesMax else {
      throw .queue(.contentTooLong(bytes: bytes, max: Limits.contentBytesMax))
    }
    let draft = try await client.engine.submit {
      _, context, store throws(Replica.Fault) -> (Draft?, [Engine.Action]) in
      do throws(StoreError) {
        guard !text.isEmpty else {
          try store.forgetDraft(of: session)
          return (nil, [])
        }
        let draft = Draft(session: session, text: text, updatedAt: context.wall)
        if try store.keep(draft) { return (draft, []) }
      } catch {
        throw .store(error)
      }
      throw .queue(.limitReached(what: "drafts", max: Limits.draftsMax))
    }
    client.device.noteDraft(of: session, exists: draft != nil, isNews: true)
    return draft
  }
}
