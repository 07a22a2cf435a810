import QueueModel
import WireProtocol

/// Decides who may connect, by a code or by a token. Decides when to check the tokens of connected
/// devices against the store.
///
/// The store has only hashes of codes and tokens.
struct Admission: Sendable {
  /// The decision about the first frame of a connection.
  enum Decision: Sendable {
    case faulted(FaultCode, String)
    case refused(RefusalCode, String, retryAfter: UInt32?)
    /// The store looks it up; until it answers, the connection may send nothing more.
    case asked(Stranger.Asked, StoreTask, StorePurpose)

    fileprivate static func refused(_ code: RefusalCode, _ message: String) -> Decision {
      .refused(code, message, retryAfter: nil)
    }
    fileprivate static let stopping = refused(
      .unavailable, "the server is stopping", retryAfter: 1_000)
  }

  private let versions: ClosedRange<UInt16>
  private let pairing: PairingRules
  private let secretHash: @Sendable ([UInt8]) -> [UInt8]
  private var throttle: PairingThrottle
  private var tokenCheck: TokenCheck

  init(
    _ configuration: ServerConfiguration, secretHash: @escaping @Sendable ([UInt8]) -> [UInt8]
  ) {
    versions = configuration.versions
    pairing = configuration.pairing
    self.secretHash = secretHash
    throttle = PairingThrottle(
      failuresMax: pairing.failuresMax, pauseMilliseconds: pairing.pauseMilliseconds)
    tokenCheck = TokenCheck(everyMilliseconds: configuration.times.tokenCheckMilliseconds)
  }

  /// The first frame of a connection arrived.
  mutating func greeted(
    with frame: Frame, on connection: Connection, isStopping: Bool, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) -> Decision {
    switch frame {
    case .pair(let request):
      asked(
        toPair: request, on: connection, isStopping: isStopping, at: now, using: &generator)
    case .hello(let hello):
      greeted(with: hello, on: connection, nonce: generator.next())
    default:
      .faulted(.unexpected, "the first frame must be hello or pair")
    }
  }

  private mutating func asked(
    toPair request: PairRequest, on connection: Connection, isStopping: Bool, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) -> Decision {
    guard ProtocolVersion.choose(request.versions, of: versions) != nil else {
      return wrongVersion(request.versions)
    }
    guard !isStopping else { return .stopping }
    let source = connection.source
    let pause = throttle.remainingPause(of: source, uptimeMilliseconds: now.uptimeMilliseconds)
    if let pause {
      return .refused(
        .tooManyAttempts,
        "too many wrong codes; wait \((pause + 999) / 1_000) s and get a fresh code",
        retryAfter: UInt32(clamping: pause))
    }
    guard request.deviceName.isUsableName else {
      return .faulted(
        .malformed, "pair: the device's name is empty, too long or holds control characters")
    }
    guard request.device != .person else {
      return .faulted(.malformed, "pair: the id of zeros cannot be a device's")
    }
    let token = PairGrant.token(using: &generator)
    // Counted before the answer, so that a peer that disconnects meanwhile has used a guess, too.
    throttle.attempted(source: source, uptimeMilliseconds: now.uptimeMilliseconds)
    return .asked(
      .toPair(token: token),
      .redeem(CodeRedemption(request, token: token, by: secretHash, pairing, at: now)),
      .redeem(connection.id, request, source: source))
  }

  private func greeted(
    with hello: Hello, on connection: Connection, nonce: UInt64
  ) -> Decision {
    guard let version = ProtocolVersion.choose(hello.versions, of: versions) else {
      return wrongVersion(hello.versions)
    }
    guard hello.token.count == 32 else {
      return .refused(.unauthorized, "this server does not know the token")
    }
    guard hello.deviceName.isUsableName else {
      return .faulted(
        .malformed, "hello: the device's name is empty, too long or holds control characters")
    }
    let hash = secretHash(hello.token)
    return .asked(
      .toEnter(hello, version: version, nonce: nonce, tokenHash: hash),
      .authenticate(tokenHash: hash), .authenticate(connection.id))
  }

  private func wrongVersion(_ offered: ClosedRange<UInt16>) -> Decision {
    let older = offered.upperBound < versions.lowerBound ? "the device" : "the server"
    return .refused(
      .unsupportedVersion,
      "the device speaks versions \(offered.lowerBound) to \(offered.upperBound) of the protocol, the server "
        + "\(versions.lowerBound) to \(versions.upperBound): \(older) needs a newer Cospool")
  }

  /// The store looked up a pairing code.
  mutating func redeemed(_ outcome: StoreOutcome, from source: String) {
    switch outcome {
    case .redemption(.wrong), .redemption(.exhausted): break
    // A peer with a known code did not guess, and a failed store proves nothing about the code.
    default: throttle.forgive(source: source)
    }
  }

  // MARK: - Codes for devices

  /// A code for a new device, to be stored; the caller has checked `refusal(ofCodeFor:)`.
  func code(
    for wish: CodeWish, by session: Session, from source: String, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) -> (code: PairingCode, proposal: CodeProposal) {
    let code = PairingCode(using: &generator)
    return (
      code,
      CodeProposal(
        wish, hash: code.stored(by: secretHash), by: session.device, of: session.workspace,
        source: source, recentMax: pairing.deviceCodesMax, at: now)
    )
  }

  /// Why a device with that role gets no code; nil if it gets one.
  func refusal(ofCodeFor role: DeviceRole) -> String? {
    guard pairing.devicesMayPair else {
      return "devices may not make codes here. Get one on the server: cospool-server pair. "
        + "To allow it, its owner runs cospool-server serve --devices-may-pair"
    }
    guard role == .host else {
      return "this device was paired as \(role.name): only a host can let others in"
    }
    return nil
  }

  // MARK: - Tokens of connected devices

  /// Whether it is time to look for tokens that are no longer valid.
  mutating func tokensAreDue(at now: ServerTime) -> Bool { tokenCheck.begin(at: now) }
  /// The store looks for them, and gets no second request until it answers.
  mutating func storeWasAskedForTokens() { tokenCheck.storeWasAsked() }
  mutating func storeAnsweredForTokens() { tokenCheck.storeAnswered() }
}

extension String {
  /// Whether a device may have this name.
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
      failuresMax: rules.codeFailuresMax, devicesMax: Limits.devicesMax)
  }
}

extension CodeProposal {
  /// The longest limited access: a hundred years, in milliseconds.
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
