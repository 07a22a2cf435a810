import NIOCore
import NIOPosix
import QueueModel
import ServerCore

extension ServerDriver {
  /// The workspace of a device's token; nil where it is wrong or revoked.
  func workspace(ofToken token: [UInt8]) -> EventLoopFuture<WorkspaceID?> {
    let storage = storage
    return storeThread.runIfActive(eventLoop: loop) { () throws -> WorkspaceID? in
      guard let record = try storage.token(hash: secretHash(token)), !record.isRevoked else {
        return nil
      }
      return record.workspace
    }
  }

  /// A place for a request that takes memory; nil where all are taken.
  func takeBlobSeat() -> Bool {
    guard blobSeats < options.blobRequestsMax, !isStopped else { return false }
    blobSeats += 1
    return true
  }

  func leaveBlobSeat() {
    blobSeats -= 1
  }

  /// Does a request beside the store's thread, so that no commit waits for it.
  func perform(
    _ request: BlobRequest, body: [UInt8], in workspace: WorkspaceID
  ) -> EventLoopFuture<HTTPReply> {
    let blobs = blobs
    return blobThread.runIfActive(eventLoop: loop) {
      blobs.perform(request, body: body, in: workspace)
    }
  }
}
