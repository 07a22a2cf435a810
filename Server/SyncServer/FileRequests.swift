import NIOCore
import NIOPosix
import QueueModel

/// Requests for the files of attachments: they are done on a thread of their own, so that no commit waits
/// for them, and each needs a seat, since it takes memory.
struct FileRequests {
  let thread: NIOThreadPool
  private let blobs: BlobStore
  private let rules: SyncServerOptions.Files
  /// Those under way, by workspace.
  private var seats: [WorkspaceID: Int] = [:]

  init(_ options: SyncServerOptions, thread: NIOThreadPool) {
    self.thread = thread
    rules = options.files
    blobs = BlobStore(
      dataDirectory: options.dataDirectory, quotaBytes: options.files.quotaBytes,
      freeSpace: options.freeSpace)
  }

  /// Whether there is a seat for one more; one workspace does not get all.
  mutating func takeSeat(for workspace: WorkspaceID) -> Bool {
    let own = seats[workspace, default: 0]
    guard own < rules.requestsPerWorkspaceMax, seats.values.reduce(0, +) < rules.requestsMax
    else { return false }
    seats[workspace] = own + 1
    return true
  }

  mutating func leaveSeat(of workspace: WorkspaceID) {
    guard let own = seats[workspace] else { return }
    seats[workspace] = own > 1 ? own - 1 : nil
  }

  /// Does a request.
  func perform(
    _ request: BlobRequest, body: [UInt8], in workspace: WorkspaceID, quotaBytes: Int?,
    on loop: any EventLoop
  ) -> EventLoopFuture<HTTPReply> {
    let blobs = blobs
    return thread.runIfActive(eventLoop: loop) {
      blobs.perform(request, body: body, in: workspace, quotaBytes: quotaBytes)
    }
  }
}
