import QueueModel
import WireProtocol

extension ServerCore {
  /// The first frame of a connection arrived.
  mutating func greeted(
    _ connection: Connection, with frame: Frame, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) {
    let id = connection.id
    let decision = admission.greeted(
      with: frame, on: connection, isStopping: isStopping, at: now, using: &generator)
    switch decision {
    case .faulted(let code, let message): fault(id, code, message)
    case .refused(let code, let message, let retryAfter):
      refuse(id, code, message, retryAfter: retryAfter, at: now)
    case .asked(let asked, let task, let purpose):
      connections[id]?.stranger?.asked = asked
      actions.ask(task, for: purpose)
    }
  }

  /// The store looked up a pairing code.
  mutating func redeemed(
    _ id: ConnectionID, by request: PairRequest, from source: String, _ outcome: StoreOutcome,
    at now: ServerTime
  ) {
    admission.redeemed(outcome, from: source)
    if case .redemption(.granted(let workspace, _, let wasRevoked, let letInBy)) = outcome {
      // The older token was replaced, even if the connection for the new one has ended.
      actions.add(
        .report(
          .paired(
            workspace: workspace, device: request.device, name: request.deviceName,
            letInBy: letInBy, source: source)))
      if wasRevoked { workspaces.forgetInbox(of: request.device, in: workspace) }
      expel(request.device, of: workspace, at: now)
    }
    guard case .toPair(let token)? = connections[id]?.stranger?.asked else { return }
    switch outcome {
    case .redemption(.granted(let workspace, let name, _, _)):
      let grant = PairGrant(
        workspace: workspace, workspaceName: name, device: request.device, token: token)
      send(.paired(grant), to: id)
      close(id, .normal, "paired")
    case .redemption(let refused):
      if let refusal = refused.refusal { refuse(id, refusal.code, refusal.reason, at: now) }
    case .failed(let fault):
      storageFailed(fault, at: now)
      refuseForStorage(id, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  /// The store looked up a token.
  mutating func authenticated(_ id: ConnectionID, _ outcome: StoreOutcome, at now: ServerTime) {
    guard
      case .toEnter(let hello, let version, let nonce, let hash)? = connections[id]?.stranger?.asked
    else { return }
    let record: TokenRecord?
    switch outcome {
    case .token(let found): record = found
    case .failed(let fault):
      storageFailed(fault, at: now)
      return refuseForStorage(id, at: now)
    default: preconditionFailure("the store answered another question")
    }
    guard stopping == nil else {
      return refuse(id, .unavailable, "the server is stopping", retryAfter: 1_000, at: now)
    }
    guard let record else {
      return refuse(id, .unauthorized, "this server does not know the token", at: now)
    }
    if let refusal = record.refusal(of: hello, at: now.wallMilliseconds) {
      return refuse(id, refusal.code, refusal.reason, at: now)
    }
    guard
      connections.count(of: hello.device, in: hello.workspace)
        < configuration.devices.connectionsMax
    else {
      return refuse(
        id, .tooManyConnections,
        "a device has at most \(configuration.devices.connectionsMax) connections",
        retryAfter: 10_000, at: now)
    }
    let session = Session(
      workspace: hello.workspace, device: hello.device, deviceName: hello.deviceName,
      store: hello.store, version: version, nonce: nonce, tokenHash: hash,
      role: record.device.role, expiresAt: record.expiresAt)
    look(at: record.mark, of: session.workspace, now)
    connections[id]?.phase = .joining(hello, session)
    actions.add(.authenticated(id, session.workspace))
    workspaces[session.workspace]?.letIn(record.device)
    resume([id], at: now)
  }

  /// The store looked for revoked devices, connected or not.
  mutating func foundLapsed(_ outcome: StoreOutcome, at now: ServerTime) {
    admission.storeAnsweredForTokens()
    switch outcome {
    case .lapsed(let lapsed, let marks):
      for (id, mark) in marks.sorted(by: { $0.key < $1.key }) { look(at: mark, of: id, now) }
      for token in lapsed.tokens {
        for (id, session) in connections.sessions where session.tokenHash == token.hash {
          actions.add(.report(.revoked(id, device: session.device)))
          refuse(id, .revoked, "the device's access was revoked", at: now)
          workspaces.forget(session.device, of: session.workspace)
        }
      }
      for workspace in lapsed.devices.keys.sorted() {
        guard let resident = workspaces[workspace] else { continue }
        // A device that connected since then is found by its token.
        let gone = (lapsed.devices[workspace] ?? []).subtracting(connections.devices(of: workspace))
        for device in gone.sorted() where resident.devices[device] != nil {
          workspaces.forget(device, of: workspace)
        }
      }
      for (workspace, quota) in lapsed.quotas { workspaces[workspace]?.allowance.quota = quota }
    case .failed(let fault):
      storageFailed(fault, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  private mutating func expel(_ device: DeviceID, of workspace: WorkspaceID, at now: ServerTime) {
    for (id, session) in connections.sessions
    where session.workspace == workspace && session.device == device {
      refuse(id, .unauthorized, "the device was paired again and has a fresh token", at: now)
    }
  }
}

extension TokenRecord {
  /// Why a device with this token may not connect; nil if it may.
  fileprivate func refusal(
    of hello: Hello, at wallMilliseconds: Int64
  ) -> (code: RefusalCode, reason: String)? {
    if isRevoked { return (.revoked, "the device's access was revoked") }
    if hasExpired(at: wallMilliseconds) {
      return (.revoked, "the device's access has expired, as set when it was paired")
    }
    if workspace != hello.workspace {
      return (.wrongWorkspace, "the token belongs to another workspace")
    }
    return device.id == hello.device ? nil : (.unauthorized, "the token belongs to another device")
  }
}

extension RedemptionOutcome {
  /// Why the connection was refused; nil if it was not.
  fileprivate var refusal: (code: RefusalCode, reason: String)? {
    switch self {
    case .granted: nil
    case .wrong:
      (.wrongCode, "the code is wrong, used or expired; get a new one from the same place")
    case .exhausted:
      (.tooManyAttempts, "too many wrong guesses; get a new code from the same place")
    case .known:
      (
        .wrongCode,
        "the code is for new devices: to renew this device's token, use a code that it made itself, "
          + "or one that was made on the server"
      )
    case .tooManyDevices:
      (.limitReached, "the workspace holds at most \(Limits.devicesMax) devices")
    case .revoked:
      (
        .revoked,
        "the device's access was revoked: pair it again with a code that was made on the server"
      )
    }
  }
}
