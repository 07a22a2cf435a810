import ClientCore
import QueueModel

/// What readers see without waiting for the store: the outcome of the latest event.
///
/// Small besides the workspace, which shares what does not change: none of the core's own tables is in
/// it, which the next event would have to copy.
struct Published: Sendable {
  var workspace: Workspace
  var status: SyncStatus
  /// The server's clock as it was read last.
  var clock: ServerClock?

  /// - Parameter now: milliseconds on the clock of the core's contexts.
  init(of core: ClientCore, now: Int64) {
    workspace = core.replica.workspace
    status = SyncStatus(of: core, now: now)
    clock = core.serverClock
  }
}
