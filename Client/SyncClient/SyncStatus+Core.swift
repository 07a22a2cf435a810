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
    let digits = String(record.replica.rawValue, radix: 16)
    replica = String(repeating: "0", count: 16 - digits.count) + digits
    outgoing = core.replica.outgoingCount
    pending = core.replica.workspace.pendingOperations.count
    missing = core.replica.workspace.missingRanges
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
    epoch = Int(EpochName.count(record.epoch))
    loggedOperations = core.replica.workspace.vector.operationCount(missingFrom: record.floor)
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
    case .fork: "fork"
    case .clockAhead: "clockAhead"
    case .invalidChanges: "invalidChanges"
    case .limitReached: "limitReached"
    case .storageFailed: "storageFailed"
    case .unavailable: "unavailable"
    case .tooManyConnections: "tooManyConnections"
    case .foreignReplica: "foreignReplica"
    case .authenticationBudget: "authenticationBudget"
    case .rateLimited: "rateLimited"
    case .otherEpoch: "otherEpoch"
    default: "code\(rawValue)"
    }
  }
}
