import QueueModel
import WireProtocol

/// One connection, from acceptance to close.
struct Connection: Sendable {
  /// How far it has come, with what is true there and nowhere else.
  ///
  ///     stranger ──▶ joining ──▶ joined
  ///        │            │           │
  ///        └────────────┴───────────┴──▶ closing
  enum Phase: Sendable {
    /// Its device is not known.
    case stranger(Stranger)
    /// Authenticated; waits for its workspace to be read, or to be quiet.
    case joining(Hello, Session)
    /// Welcomed.
    case joined(Member)
    /// Told to close; what still comes from it is dropped, a known race.
    case closing
  }

  let id: ConnectionID
  /// The address it came from, without the port.
  let source: String
  var phase: Phase
  var intake: Intake
  var outgoing = SendQueue()

  init(
    _ id: ConnectionID, from source: String, acceptedAt: ServerTime,
    _ traffic: ServerConfiguration.Traffic, at now: ServerTime
  ) {
    self.id = id
    self.source = source
    phase = .stranger(Stranger(acceptedAt: acceptedAt.uptimeMilliseconds))
    intake = Intake(traffic, uptimeMilliseconds: now.uptimeMilliseconds)
  }

  var session: Session? {
    switch phase {
    case .joining(_, let session): session
    case .joined(let member): member.session
    case .stranger, .closing: nil
    }
  }

  /// What it is as a member of its workspace; nil unless it was welcomed.
  var member: Member? {
    get { if case .joined(let member) = phase { member } else { nil } }
    set { if let newValue, case .joined = phase { phase = .joined(newValue) } }
  }

  /// What it is as long as its device is not known; nil once it is.
  var stranger: Stranger? {
    get { if case .stranger(let stranger) = phase { stranger } else { nil } }
    set { if let newValue, case .stranger = phase { phase = .stranger(newValue) } }
  }

  /// Somebody looks at the workspace. A viewer is shown it, and may be somebody else than its person.
  var isLookedAt: Bool { member.map { $0.isVisible && $0.session.role != .viewer } == true }

  var isClosing: Bool { if case .closing = phase { true } else { false } }
}

/// A connection whose device is not known: it has little time, and may send little.
struct Stranger: Sendable {
  enum Asked: Sendable {
    /// Nothing has come yet; only `hello` and `pair` are allowed.
    case nothing
    /// The store looks the pairing code up.
    case toPair(token: [UInt8])
    /// The store looks the token up.
    case toEnter(Hello, version: UInt16, nonce: UInt64, tokenHash: [UInt8])
  }

  /// Uptime.
  let acceptedAt: Int64
  /// Bytes that came, and bytes of the frames that they made up.
  var rawBytes = 0
  var frameBytes = 0
  var asked = Asked.nothing
}

/// An authenticated connection's identity.
struct Session: Hashable, Sendable {
  var workspace: WorkspaceID
  var device: DeviceID
  var deviceName: String
  var store: StoreID
  /// For `welcome`.
  var version: UInt16
  var nonce: UInt64
  var tokenHash: [UInt8]
  var role: DeviceRole
  /// When the access ends, milliseconds since 1970; nil for never.
  var expiresAt: Int64?
}

/// A welcomed connection.
struct Member: Sendable {
  let session: Session
  /// The reading that `welcome` carried: the device takes this clock for the server's.
  let welcomedAt: ServerTime
  /// The client holds another log, or one of which the server no longer knows whether it is its own:
  /// it may offer its state.
  var hasDiverged = false
  /// A state that is coming in.
  var offer: OfferedState?
  /// What it lacks is too much for entries of the log: it waits for a snapshot.
  var awaitsSnapshot = false
  /// What was told on it; nil until it has everything up to the present.
  var notices: Notices?
  /// The person looks at the device.
  var isVisible = false
  /// A pairing code that it asked for is being stored.
  var awaitsCode = false
  /// The request whose answer waits for a provider.
  var test: (request: UInt64, target: PushTargetRecord)?

  /// How many notifications went out, and how many of them were answered.
  struct Notices: Hashable, Sendable {
    private var sent = 0
    private var answered = 0
    /// So many of its answers are to what was sent out of inboxes that were read anew since.
    private var outdated = 0

    mutating func wasTold() { sent += 1 }

    /// The inboxes were read again: answers to what was sent before do not count, since what was missing
    /// from them then may stand before the position that they name.
    mutating func wereReadAnew() { outdated = sent }

    /// An answer came.
    ///
    /// - Returns: whether it counts.
    mutating func answerCounts() -> Bool {
      answered += 1
      return answered > outdated
    }
  }
}

/// What a connection may still send: it is read no further while it is ahead of its share or of the store.
struct Intake: Sendable {
  private let unsettledBytesMax: Int
  private var frames: TokenBucket
  private var bytes: TokenBucket
  /// Bytes of batches that wait to be stored.
  private var unsettledBytes = 0
  /// As the driver was told.
  private var isReading = true

  init(_ traffic: ServerConfiguration.Traffic, uptimeMilliseconds: Int64) {
    unsettledBytesMax = traffic.unsettledBytesMax
    frames = TokenBucket(traffic.frames, uptimeMilliseconds: uptimeMilliseconds)
    bytes = TokenBucket(traffic.bytes, uptimeMilliseconds: uptimeMilliseconds)
  }

  /// Slowing the sender down did not help.
  var isOverdrawn: Bool { frames.isOverdrawn || bytes.isOverdrawn }

  /// A frame came.
  mutating func took(_ count: Int, uptimeMilliseconds: Int64) {
    frames.spend(1, uptimeMilliseconds: uptimeMilliseconds)
    bytes.spend(count, uptimeMilliseconds: uptimeMilliseconds)
  }

  mutating func timePassed(uptimeMilliseconds: Int64) {
    frames.refill(uptimeMilliseconds: uptimeMilliseconds)
    bytes.refill(uptimeMilliseconds: uptimeMilliseconds)
  }

  /// A batch waits to be stored from now on.
  mutating func holds(_ count: Int) { unsettledBytes += count }
  /// A batch was stored or refused.
  mutating func settled(_ count: Int) { unsettledBytes -= count }

  /// - Returns: whether the connection is to be read from now on; nil if that is as it was.
  mutating func readingChange() -> Bool? {
    let shouldRead = !frames.isEmpty && !bytes.isEmpty && unsettledBytes <= unsettledBytesMax
    guard shouldRead != isReading else { return nil }
    isReading = shouldRead
    return shouldRead
  }
}

extension TokenBucket {
  fileprivate init(_ rate: ServerConfiguration.Rate, uptimeMilliseconds: Int64) {
    self.init(
      perSecond: rate.perSecond, burst: rate.burst, uptimeMilliseconds: uptimeMilliseconds)
  }
}
