public import QueueModel

extension ClientQueues {
  /// Chooses one of the texts of a merged message, or the merged one, so that it can start.
  ///
  /// - Parameter base: the content that the user saw; later versions continue to wait. nil for the
  ///   present content.
  /// - Returns: as `edit`.
  /// - Throws: as `edit`; `.queue(.messageNotMerged)`, `.queue(.versionNotFound)`,
  ///   `.queue(.versionTooLong)` and `.queue(.mergedTextBlank)` if there is no such text.
  public func resolve(
    _ id: MessageID, taking choice: VersionChoice, base: EditBase? = nil
  ) async throws(ClientError) -> (receipt: CommandReceipt, isConfirmed: Bool) {
    let workspace = client.workspace()
    let content: String
    let present: EditBase
    do {
      content = try workspace.message(id).text(choosing: choice, among: base)
      present = try workspace.editBase(id)
    } catch {
      throw .queue(error)
    }
    return try await edit(id, content: content, base: base.map(present.cleared(as:)) ?? present)
  }
}
