import ClientCore
import QueueModel

/// The state after the latest event, for readers that do not wait for the store.
///
/// Small except for the workspace, which shares unchanged parts. It contains none of the core's own
/// tables, which the next event would have to copy.
struct Published: Sendable {
  var workspace: Workspace
  var status: SyncStatus
  /// The latest reading of the server's clock.
  var clock: ServerClock?
  /// The server's last report about this device's access.
  var access: DeviceAccess?

  /// - Parameter now: milliseconds on the clock of the core's contexts.
  init(of core: ClientCore, now: Int64) {
    workspace = core.replica.workspace
    status = SyncStatus(of: core, now: now)
    clock = core.serverClock
    access = core.access
  }
}
