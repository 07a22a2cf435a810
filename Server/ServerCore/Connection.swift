import QueueModel
import WireProtocol

/// One connection, from acceptance to close.
struct Connection: Sendable {
  /// The phase of a connection, with the data of that phase.
  ///
  ///     stranger ──▶ joining ──▶ joined
  ///        │            │           │
  ///        └────────────┴───────────┴──▶ closing
  enum Phase: Sendable {
    /// Its device is unknown.
    case stranger(Stranger)
    /// Authenticated; waits until its workspace is loaded, or has nothing in flight.
    case joining(Hello, Session)
    /// Welcomed.
    case joined(Member)
    /// The driver is closing it; frames that still arrive are dropped, a known race.
    case closing
  }

  let id: ConnectionID
  /// The source address, without the port.
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

  /// Its data as a member of its workspace; nil unless it was welcomed.
  var member: Member? {
    get { if case .joined(let member) = phase { member } else { nil } }
    set { if let newValue, case .joined = phase { phase = .joined(newValue) } }
  }

  /// Its data while its device is unknown; nil once it is known.
  var stranger: Stranger? {
    get { if case .stranger(let stranger) = phase { stranger } else { nil } }
    set { if let newValue, case .stranger = phase { phase = .stranger(newValue) } }
  }

  /// Whether a user is looking at the workspace. A viewer does not count: it may belong to another
  /// person.
  var isLookedAt: Bool { member.map { $0.isVisible && $0.session.role != .viewer } == true }

  var isClosing: Bool { if case .closing = phase { true } else { false } }
}

/// A connection whose device is unknown: its time and bytes are limited.
struct Stranger: Sendable {
  enum Asked: Sendable {
    /// Nothing has arrived yet; only `hello` and `pair` are allowed.
    case nothing
    /// The store looks up the pairing code.
    case toPair(token: [UInt8])
    /// The store looks up the token.
    case toEnter(Hello, version: UInt16, nonce: UInt64, tokenHash: [UInt8])
  }

  /// In milliseconds of uptime.
  let acceptedAt: Int64
  /// Bytes received, and bytes of complete frames among them.
  var rawBytes = 0
  var frameBytes = 0
  var asked = Asked.nothing
}

/// The identity of an authenticated connection.
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
  /// The time in `welcome`: the device uses this clock as the server's.
  let welcomedAt: ServerTime
  /// Whether the client holds another log, or one that the server cannot recognize as its own. Then
  /// the client may offer its state.
  var hasDiverged = false
  /// A state that is being received.
  var offer: OfferedState?
  /// Whether it waits for a snapshot, because it is missing too much for log entries.
  var awaitsSnapshot = false
  /// The notifications sent on it; nil until it is up to date.
  var notices: Notices?
  /// Whether the user looks at the device.
  var isVisible = false
  /// Whether a pairing code that it requested is being stored.
  var awaitsCode = false
  /// The request whose answer waits for a provider.
  var test: (request: UInt64, target: PushTargetRecord)?

  /// The numbers of notifications that were sent and answered.
  struct Notices: Hashable, Sendable {
    private var sent = 0
    private var answered = 0
    /// How many answers are still to come for notifications sent before the inboxes were reloaded.
    private var outdated = 0

    mutating func wasSent() { sent += 1 }

    /// The inboxes were reloaded. Answers to earlier notifications do not count: notifications that
    /// were missing then may precede the position in the answer.
    mutating func wereReadAnew() { outdated = sent }

    /// An answer arrived.
    ///
    /// - Returns: whether it counts.
    mutating func answerCounts() -> Bool {
      answered += 1
      return answered > outdated
    }
  }
}

/// The amount that a connection may still send: reading pauses while it is ahead of its share or of
/// the store.
struct Intake: Sendable {
  private let unsettledBytesMax: Int
  private var frames: TokenBucket
  private var bytes: TokenBucket
  /// Bytes of batches that wait to be stored.
  private var unsettledBytes = 0
  /// The latest instruction to the driver.
  private var isReading = true

  init(_ traffic: ServerConfiguration.Traffic, uptimeMilliseconds: Int64) {
    unsettledBytesMax = traffic.unsettledBytesMax
    frames = TokenBucket(traffic.frames, uptimeMilliseconds: uptimeMilliseconds)
    bytes = TokenBucket(traffic.bytes, uptimeMilliseconds: uptimeMilliseconds)
  }

  /// Whether slowing the sender down did not help.
  var isOverdrawn: Bool { frames.isOverdrawn || bytes.isOverdrawn }

  /// A frame arrived.
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

  /// - Returns: whether the connection is to be read from now on; nil if that did not change.
  mutating func readingChange() -> Bool? {
    let shouldRead = !frames.isEmpty && !bytes.isEmpty && unsettledBytes <= unsettledBytesMax
    guard shouldRead != isReading else { return nil }
    isReading = shouldRead
    return shouldRead
  }
}

extension TokenBucket {
  init(_ rate: ServerConfiguration.Rate, uptimeMilliseconds: Int64) {
    self.init(
      perSecond: rate.perSecond, burst: rate.burst, uptimeMilliseconds: uptimeMilliseconds)
  }
}
