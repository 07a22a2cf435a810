import NIOCore
import NIOPosix
import QueueModel
import ServerCore

extension ServerDriver {
  /// Whose a token is; nil where it is wrong, revoked or at its end.
  func holder(ofToken token: [UInt8]) -> EventLoopFuture<TokenRecord?> {
    let storage = storage
    let now = clock.now.wallMilliseconds
    return storeThread.runIfActive(eventLoop: loop) { () throws -> TokenRecord? in
      guard let record = try storage.token(hash: secretHash(token)), !record.isRevoked,
        !record.hasExpired(at: now)
      else { return nil }
      return record
    }
  }

  /// Whether there is a place for a request that takes memory; one workspace does not get all.
  func takeBlobSeat(for workspace: WorkspaceID) -> Bool {
    let own = blobSeats[workspace, default: 0]
    guard own < options.files.requestsPerWorkspaceMax, !isStopped,
      blobSeats.values.reduce(0, +) < options.files.requestsMax
    else { return false }
    blobSeats[workspace] = own + 1
    return true
  }

  func leaveBlobSeat(of workspace: WorkspaceID) {
    guard let own = blobSeats[workspace] else { return }
    blobSeats[workspace] = own > 1 ? own - 1 : nil
  }

  /// Does a request beside the store's thread, so that no commit waits for it.
  func perform(
    _ request: BlobRequest, body: [UInt8], in workspace: WorkspaceID, quotaBytes: Int?
  ) -> EventLoopFuture<HTTPReply> {
    let blobs = blobs
    return blobThread.runIfActive(eventLoop: loop) {
      blobs.perform(request, body: body, in: workspace, quotaBytes: quotaBytes)
    }
  }
}
