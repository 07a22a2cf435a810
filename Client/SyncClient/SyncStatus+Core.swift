import ClientCore
import QueueModel
import SequenceCRDT
import WireProtocol

extension SyncStatus {
  /// - Parameter now: milliseconds on the clock of the core's contexts.
  init(of core: ClientCore, now: Int64) {
    let record = core.replica.record
    let (state, retryAfter, since) = SyncStatus.connection(of: core, now: now)
    self.init(state: state, device: record.device, deviceName: record.deviceName)
    server = core.server
    workspace = record.workspace?.description
    outgoing = record.outbox.count
    synced = core.isSynced
    lastError = core.problem?.message
    refusalCode = core.problem?.refusal?.name
    connectedSince = since
    lastSyncedAt = core.lastSyncedWall
    retryAfterMilliseconds = retryAfter
    let head = core.head
    devices = core.devices.filter { $0.device != record.device }.map {
      Device(
        id: $0.device, name: $0.name, connected: $0.isConnected,
        seenEverything: $0.seenLogPosition >= head,
        awaySince: $0.isConnected || $0.lastSeenAt == 0 ? nil : $0.lastSeenAt)
    }
    repairs = record.repairs
    if case .given(let role, let until)? = core.access {
      self.role = role.name
      accessEndsAt = until
    }
  }

  private static func connection(
    of core: ClientCore, now: Int64
  ) -> (state: State, retryAfter: Int64?, since: Int64?) {
    switch core.condition {
    case .notPaired: (.notPaired, nil, nil)
    case .disabled: (.disabled, nil, nil)
    case .connecting: (.connecting, nil, nil)
    case .connected(let wall): (.connected, nil, wall)
    case .waiting(let until): (.waiting, until == .max ? nil : max(0, until - now), nil)
    case .refused: (.refused, nil, nil)
    }
  }
}
