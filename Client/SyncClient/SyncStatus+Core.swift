import ClientCore
import QueueModel
import SequenceCRDT
import WireProtocol

extension SyncStatus {
  /// - Parameter now: milliseconds on the clock of the core's occasions.
  init(of core: ClientCore, now: Int64) {
    let record = core.replica.record
    var retryAfter: Int64?
    var since: Int64?
    switch core.condition {
    case .notPaired: state = .notPaired
    case .disabled: state = .disabled
    case .connecting: state = .connecting
    case .connected(let wall):
      state = .connected
      since = wall
    case .waiting(let until):
      state = .waiting
      retryAfter = until == .max ? nil : max(0, until - now)
    case .refused: state = .refused
    }
    server = core.server
    workspace = record.workspace?.description
    device = record.device.description
    deviceName = record.deviceName
    outgoing = record.outbox.count
    synced = core.isSynced
    lastError = core.trouble?.message
    refusalCode = core.trouble?.refusal?.name
    connectedSince = since
    lastSyncedAt = core.lastSyncedWall
    retryAfterMilliseconds = retryAfter
    let head = core.head
    devices = core.devices.filter { $0.device != record.device }.map {
      Device(
        id: $0.device, name: $0.name, connected: $0.isConnected,
        seenEverything: $0.seenLogPosition >= head)
    }
    repairs = record.repairs
  }
}

extension RefusalCode {
  /// The name that people and scripts see.
  var name: String {
    switch self {
    case .unsupportedVersion: "unsupportedVersion"
    case .unauthorized: "unauthorized"
    case .revoked: "revoked"
    case .wrongWorkspace: "wrongWorkspace"
    case .wrongCode: "wrongCode"
    case .tooManyAttempts: "tooManyAttempts"
    case .invalidChanges: "invalidChanges"
    case .limitReached: "limitReached"
    case .storageFailed: "storageFailed"
    case .unavailable: "unavailable"
    case .tooManyConnections: "tooManyConnections"
    case .authenticationBudget: "authenticationBudget"
    case .rateLimited: "rateLimited"
    case .notAllowed: "notAllowed"
    default: "code\(rawValue)"
    }
  }
}
