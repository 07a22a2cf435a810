import NIOCore
import NIOPosix
import QueueModel
import ServerCore

/// Requests for the files of attachments. They run on their own thread, so that no commit waits for
/// them. Each needs a seat, because it takes memory. A device's connections for them are limited:
/// each may be idle for long, and occupies a place among all connections.
struct FileRequests {
  /// The owner of connections that are counted together.
  struct Owner: Hashable {
    let workspace: WorkspaceID
    let device: DeviceID
  }

  let thread: NIOThreadPool
  private let blobs: BlobStore
  private let rules: SyncServerOptions.Files
  private let connectionsMax: Int
  /// Running requests, by workspace.
  private var seats: [WorkspaceID: Int] = [:]
  private var connections: [Owner: Int] = [:]

  init(_ options: SyncServerOptions, thread: NIOThreadPool) {
    self.thread = thread
    rules = options.files
    connectionsMax = options.core.devices.connectionsMax
    blobs = BlobStore(
      dataDirectory: options.dataDirectory, quotaBytes: options.files.quotaBytes,
      freeSpace: options.freeSpace)
  }

  /// The device of a connection became known.
  ///
  /// - Returns: whether it may have one more.
  mutating func came(_ owner: Owner) -> Bool {
    let own = connections[owner, default: 0]
    guard own < connectionsMax else { return false }
    connections[owner] = own + 1
    return true
  }

  /// A counted connection has ended, or now belongs to another device.
  mutating func left(_ owner: Owner) {
    guard let own = connections[owner] else { return }
    connections[owner] = own > 1 ? own - 1 : nil
  }

  /// Whether there is a seat for one more; one workspace cannot take all.
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

  /// Performs a request.
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
