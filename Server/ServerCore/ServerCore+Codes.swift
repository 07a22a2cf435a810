import QueueModel
import WireProtocol

/// Pairing codes that devices request.
extension ServerCore {
  /// A device requests a code for a new device.
  mutating func asked(
    forCode wish: CodeWish, as request: UInt64, by connection: Connection, _ session: Session,
    at now: ServerTime, using generator: inout some RandomNumberGenerator
  ) {
    let refusal = admission.refusal(ofCodeFor: session.role)
    // One at a time: each is a transaction, and the store does nothing else meanwhile.
    guard refusal == nil, stopping == nil, connection.member?.awaitsCode == false else {
      let answer = refusal.map(InboxAnswer.unusable) ?? .unavailable
      return send(.response(answer.response(id: request)), to: connection.id)
    }
    let (code, proposal) = admission.code(
      for: wish, by: session, from: connection.source, at: now, using: &generator)
    connections[connection.id]?.member?.awaitsCode = true
    actions.ask(.addCode(proposal), for: .addCode(connection.id, request: request, code, proposal))
  }

  /// The store has the code, or refused it.
  mutating func codeAdded(
    _ code: PairingCode, _ proposal: CodeProposal, for connection: ConnectionID,
    _ request: UInt64, _ outcome: StoreOutcome, at now: ServerTime
  ) {
    connections[connection]?.member?.awaitsCode = false
    if case .failed(let fault) = outcome { storageFailed(fault, at: now) }
    send(.response(InboxAnswer(code, proposal, outcome).response(id: request)), to: connection)
  }
}

extension InboxAnswer {
  /// The response to the device that requested a code.
  fileprivate init(_ code: PairingCode, _ proposal: CodeProposal, _ outcome: StoreOutcome) {
    switch outcome {
    case .code(.added):
      self = .code(code.display, expiresAt: proposal.expiresAt)
    case .code(.tooMany):
      self = .unusable(
        "this device got \(proposal.recentMax) codes within ten minutes: use one of them, or wait")
    case .code(.noAccess):
      self = .unusable("this device no longer has access, or is no longer a host")
    case .failed:
      self = .unavailable
    default:
      preconditionFailure("the store answered another question")
    }
  }
}
