import QueueModel
import SequenceCRDT
import WireProtocol

extension ServerCore {
  /// Counts a frame against the connection's budgets.
  ///
  /// - Returns: whether the frame may be looked at.
  mutating func admit(_ count: Int, from connection: Connection, at now: ServerTime) -> Bool {
    let id = connection.id
    guard count <= WireLimits.frameBytesMax else {
      fault(id, .tooLarge, "a frame has at most \(WireLimits.frameBytesMax) bytes")
      return false
    }
    connections[id]?.frameBytes += count
    guard connection.session != nil else {
      if connection.frameBytes + count > configuration.preAuthenticationBytesMax {
        refuse(id, .authenticationBudget, "too many bytes before authentication", at: now)
        return false
      }
      return true
    }
    connections[id]?.frames.spend(1, uptimeMilliseconds: now.uptimeMilliseconds)
    connections[id]?.bytes.spend(count, uptimeMilliseconds: now.uptimeMilliseconds)
    if let spent = connections[id], spent.frames.isOverdrawn || spent.bytes.isOverdrawn {
      refuse(id, .rateLimited, "too much in too short a time", retryAfter: 5_000, at: now)
      return false
    }
    updateReading(id)
    return true
  }

  /// Stops reading a connection that is ahead of its share or of the store, and resumes.
  mutating func updateReading(_ id: ConnectionID) {
    guard let connection = connections[id], !connection.isClosing else { return }
    let shouldRead =
      !connection.frames.isEmpty && !connection.bytes.isEmpty
      && connection.unsettledBytes <= configuration.unsettledBytesMax
    guard shouldRead != connection.isReading else { return }
    connections[id]?.isReading = shouldRead
    act(.setReading(id, isOn: shouldRead))
  }

  /// The first frame of a connection arrived.
  mutating func greeted(
    _ connection: Connection, with frame: Frame, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) {
    switch frame {
    case .pair(let request):
      asked(connection, toPair: request, at: now, using: &generator)
    case .hello(let hello):
      greeted(connection, with: hello, nonce: generator.next(), at: now)
    default:
      fault(connection.id, .unexpected, "the first frame must be hello or pair")
    }
  }

  private mutating func asked(
    _ connection: Connection, toPair request: PairRequest, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) {
    let id = connection.id
    guard ProtocolVersion.choose(request.versions, of: configuration.versions) != nil else {
      return refuseVersion(id, offered: request.versions, at: now)
    }
    guard stopping == nil else {
      return refuse(id, .unavailable, "the server is stopping", retryAfter: 1_000, at: now)
    }
    let pause = throttle.remainingPause(
      of: connection.source, uptimeMilliseconds: now.uptimeMilliseconds)
    if let pause {
      return refuse(
        id, .tooManyAttempts,
        "too many wrong codes; wait \((pause + 999) / 1_000) s and get a fresh code",
        retryAfter: UInt32(clamping: pause), at: now)
    }
    guard request.deviceName.isUsableName else {
      return fault(
        id, .malformed, "pair: the device's name is empty, too long or holds control characters")
    }
    guard request.device != .person else {
      return fault(id, .malformed, "pair: the id of zeros is the person's, no device's")
    }
    let token = PairGrant.token(using: &generator)
    // Before the answer: whoever hangs up meanwhile has guessed as well.
    throttle.attempted(source: connection.source, uptimeMilliseconds: now.uptimeMilliseconds)
    connections[id]?.phase = .pairing(request, token: token)
    ask(
      .redeem(
        CodeRedemption(request, token: token, by: secretHash, configuration.pairing, at: now)),
      for: .redeem(id, request, source: connection.source))
  }

  private mutating func greeted(
    _ connection: Connection, with hello: Hello, nonce: UInt64, at now: ServerTime
  ) {
    let id = connection.id
    guard let version = ProtocolVersion.choose(hello.versions, of: configuration.versions) else {
      return refuseVersion(id, offered: hello.versions, at: now)
    }
    guard hello.token.count == 32 else {
      return refuse(id, .unauthorized, "the token is not one of this server's", at: now)
    }
    guard hello.deviceName.isUsableName else {
      return fault(
        id, .malformed, "hello: the device's name is empty, too long or holds control characters")
    }
    let hash = secretHash(hello.token)
    connections[id]?.phase = .authenticating(
      hello, version: version, nonce: nonce, tokenHash: hash)
    ask(.authenticate(tokenHash: hash), for: .authenticate(id))
  }

  private mutating func refuseVersion(
    _ id: ConnectionID, offered: ClosedRange<UInt16>, at now: ServerTime
  ) {
    let spoken = configuration.versions
    let older = offered.upperBound < spoken.lowerBound ? "the device" : "the server"
    refuse(
      id, .unsupportedVersion,
      "the device speaks versions \(offered.lowerBound) to \(offered.upperBound) of the protocol, the server "
        + "\(spoken.lowerBound) to \(spoken.upperBound): \(older) needs a newer Cospool", at: now)
  }

  /// The store looked a pairing code up.
  mutating func redeemed(
    _ id: ConnectionID, by request: PairRequest, from source: String, _ outcome: StoreOutcome,
    at now: ServerTime
  ) {
    switch outcome {
    case .redemption(.wrong), .redemption(.exhausted): break
    // Whoever knew a code did not guess, and a store that failed says nothing of the code.
    default: throttle.forgive(source: source)
    }
    if case .redemption(.granted(let workspace, _, let wasRevoked, let letInBy)) = outcome {
      // Also where nobody is there any more to be given the new token: the older one was replaced,
      // and whoever still uses it is not this device.
      act(
        .report(
          .paired(
            workspace: workspace, device: request.device, name: request.deviceName,
            letInBy: letInBy, source: source)))
      if wasRevoked { forgetInbox(of: request.device, in: workspace) }
      expel(request.device, of: workspace, at: now)
    }
    guard case .pairing(_, let token)? = connections[id]?.phase else { return }
    switch outcome {
    case .redemption(.granted(let workspace, let name, _, _)):
      let grant = PairGrant(
        workspace: workspace, workspaceName: name, device: request.device, token: token)
      act(.send(FrameCodec.encode(.paired(grant)), to: [id]))
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

  /// The store looked a token up.
  mutating func authenticated(_ id: ConnectionID, _ outcome: StoreOutcome, at now: ServerTime) {
    guard let connection = connections[id],
      case .authenticating(let hello, let version, let nonce, let tokenHash) = connection.phase
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
      return refuse(id, .unauthorized, "the token is not one of this server's", at: now)
    }
    if let refusal = record.refusal(of: hello, at: now.wallMilliseconds) {
      return refuse(id, refusal.code, refusal.reason, at: now)
    }
    let others = connections.values.count {
      $0.session?.device == hello.device && $0.session?.workspace == hello.workspace
    }
    guard others < configuration.connectionsPerDeviceMax else {
      return refuse(
        id, .tooManyConnections,
        "a device has at most \(configuration.connectionsPerDeviceMax) connections",
        retryAfter: 10_000, at: now)
    }
    let session = Session(
      workspace: hello.workspace, device: hello.device, deviceName: hello.deviceName,
      store: hello.store, version: version, nonce: nonce, tokenHash: tokenHash,
      role: record.device.role,
      expiresAt: record.expiresAt)
    connections[id]?.phase = .joining(hello, session)
    act(.authenticated(id))
    if workspaces[session.workspace]?.devices[session.device] == nil {
      workspaces[session.workspace]?.devices[session.device] = ResidentWorkspace.Device(
        name: record.device.name, seen: record.device.seenLogPosition,
        lastSeenAt: record.device.lastSeenAt)
    }
    workspaces[session.workspace]?.devices[session.device]?.role = record.device.role
    join(id, at: now)
  }

  /// The store looked for devices that lost their access, connected or not.
  mutating func foundLapsed(_ outcome: StoreOutcome, at now: ServerTime) {
    tokenCheck.storeAnswered()
    switch outcome {
    case .lapsed(let lapsed):
      for token in lapsed.tokens {
        for id in connections.keys.sorted() {
          guard let session = connections[id]?.session, session.tokenHash == token.hash else {
            continue
          }
          act(.report(.revoked(id, device: session.device)))
          refuse(id, .revoked, "the device's access was revoked", at: now)
          forget(session.device, of: session.workspace)
        }
      }
      for workspace in lapsed.devices.keys.sorted() {
        guard let resident = workspaces[workspace] else { continue }
        // One that came since is found by its token.
        let gone = (lapsed.devices[workspace] ?? []).subtracting(connectedDevices(of: resident))
        for device in gone.sorted() where resident.devices[device] != nil {
          forget(device, of: workspace)
        }
      }
      for (workspace, quota) in lapsed.quotas { workspaces[workspace]?.quota = quota }
    case .failed(let fault):
      storageFailed(fault, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  /// A device lost its access: it is in nobody's list any more, and nothing waits for it.
  mutating func forget(_ device: DeviceID, of workspace: WorkspaceID) {
    workspaces[workspace]?.devices[device] = nil
    forgetInbox(of: device, in: workspace)
    presenceDue.insert(workspace)
  }

  private mutating func forgetInbox(of device: DeviceID, in workspace: WorkspaceID) {
    workspaces[workspace]?.inboxes.forget(device)
    // What goes out of the inbox is to be stored.
    if workspaces[workspace]?.hasWork == true { markReady(workspace) }
  }

  private mutating func expel(_ device: DeviceID, of workspace: WorkspaceID, at now: ServerTime) {
    for (id, connection) in connections.sorted(by: { $0.key < $1.key })
    where connection.session?.workspace == workspace && connection.session?.device == device {
      refuse(id, .unauthorized, "the device was paired again and has a fresh token", at: now)
    }
  }
}

extension String {
  /// Whether a device may be called so.
  fileprivate var isUsableName: Bool {
    !isEmpty && utf8.count <= Limits.nameBytesMax
      && !unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}

extension PairGrant {
  /// A fresh secret of 32 bytes.
  fileprivate static func token(using generator: inout some RandomNumberGenerator) -> [UInt8] {
    (0..<4).flatMap { _ in
      let word = generator.next()
      return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
    }
  }
}

extension CodeRedemption {
  fileprivate init(
    _ request: PairRequest, token: [UInt8], by secretHash: ([UInt8]) -> [UInt8],
    _ rules: PairingRules, at now: ServerTime
  ) {
    let code =
      PairingCode(typed: request.code)?.stored(by: secretHash)
      ?? PairingCode.stored(ofWrong: request.code, by: secretHash)
    self.init(
      codeHash: code, device: request.device, deviceName: request.deviceName,
      tokenHash: secretHash(token), wallMilliseconds: now.wallMilliseconds,
      failuresMax: rules.failuresMax, devicesMax: Limits.devicesMax)
  }
}

extension TokenRecord {
  /// Why a device is not let in with it; nil where it is.
  fileprivate func refusal(
    of hello: Hello, at wallMilliseconds: Int64
  ) -> (code: RefusalCode, reason: String)? {
    if isRevoked { return (.revoked, "the device's access was revoked") }
    if hasExpired(at: wallMilliseconds) {
      return (.revoked, "the device's access has ended, as was said when it was paired")
    }
    if workspace != hello.workspace {
      return (.wrongWorkspace, "the token is another workspace's")
    }
    return device.id == hello.device ? nil : (.unauthorized, "the token is another device's")
  }
}

extension RedemptionOutcome {
  /// Why somebody was not let in; nil where it was.
  fileprivate var refusal: (code: RefusalCode, reason: String)? {
    switch self {
    case .granted: nil
    case .wrong:
      (.wrongCode, "the code is wrong, used or expired; get a fresh one where you got it")
    case .exhausted:
      (.tooManyAttempts, "too many wrong guesses; get a fresh code where you got it")
    case .known:
      (
        .wrongCode,
        "the code lets in devices that are new: this one gets a fresh token by a code of its own, "
          + "or by one that is made on the server"
      )
    case .tooManyDevices:
      (.limitReached, "the workspace holds at most \(Limits.devicesMax) devices")
    case .revoked:
      (
        .revoked,
        "the device's access was revoked: only a code that is made on the server lets it in again"
      )
    }
  }
}
