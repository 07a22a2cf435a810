import QueueModel
import WireProtocol

/// Pairing codes that devices ask for.
extension ServerCore {
  /// A device wants a code for a new device.
  mutating func asked(
    forCode wish: CodeWish, as request: UInt64, by connection: Connection, _ session: Session,
    at now: ServerTime, using generator: inout some RandomNumberGenerator
  ) {
    let refusal = configuration.pairing.refusal(ofCodeFor: session.role)
    guard refusal == nil, stopping == nil else {
      let answer = refusal.map(InboxAnswer.unusable) ?? .unavailable
      return send(.response(answer.response(id: request)), to: connection.id)
    }
    let code = PairingCode(using: &generator)
    let proposal = CodeProposal(
      wish, hash: code.stored(by: secretHash), by: session.device, of: session.workspace,
      source: connection.source, recentMax: configuration.pairing.deviceCodesMax, at: now)
    ask(.addCode(proposal), for: .addCode(connection.id, request: request, code, proposal))
  }

  /// The store has the code, or will not have it.
  mutating func codeAdded(
    _ code: PairingCode, _ proposal: CodeProposal, for connection: ConnectionID,
    _ request: UInt64, _ outcome: StoreOutcome, at now: ServerTime
  ) {
    if case .failed(let fault) = outcome { storageFailed(fault, at: now) }
    guard connections[connection] != nil else { return }
    send(.response(InboxAnswer(code, proposal, outcome).response(id: request)), to: connection)
  }
}

extension PairingRules {
  /// Why a device of that role gets no code; nil where it gets one.
  fileprivate func refusal(ofCodeFor role: DeviceRole) -> String? {
    guard devicesMayPair else {
      return "its owner lets no device let others in. Get a code there, with cospool-server pair; "
        + "to allow it: cospool-server serve --devices-may-pair"
    }
    guard role == .host else {
      return "this device was paired as \(role.name): only a host lets others in"
    }
    return nil
  }
}

extension CodeProposal {
  /// The longest access that ends by itself: a hundred years, in milliseconds.
  private static let accessMillisecondsMax: Int64 = 36_500 * 86_400_000

  fileprivate init(
    _ wish: CodeWish, hash: [UInt8], by device: DeviceID, of workspace: WorkspaceID,
    source: String, recentMax: Int, at now: ServerTime
  ) {
    self.init(
      hash: hash, workspace: workspace, device: device, role: wish.role,
      accessMilliseconds: wish.accessMilliseconds.map { min($0, Self.accessMillisecondsMax) },
      wallMilliseconds: now.wallMilliseconds,
      expiresAt: now.wallMilliseconds + PairingCode.lifetimeMilliseconds, recentMax: recentMax,
      source: source)
  }
}

extension InboxAnswer {
  /// What the device is told that asked for a code.
  fileprivate init(_ code: PairingCode, _ proposal: CodeProposal, _ outcome: StoreOutcome) {
    switch outcome {
    case .code(.added):
      self = .code(code.display, expiresAt: proposal.expiresAt)
    case .code(.tooMany):
      self = .unusable(
        "this device got \(proposal.recentMax) codes within ten minutes: use one of them, or wait")
    case .code(.noAccess):
      self = .unusable("this device has no access any more, or is no host any more")
    case .failed:
      self = .unavailable
    default:
      preconditionFailure("the store answered another question")
    }
  }
}
