import QueueModel
import WireProtocol

/// One connection, from acceptance to close.
struct Connection: Sendable {
  enum Phase: Sendable {
    /// Nothing has come yet; only `hello` and `pair` are allowed.
    case greeting
    /// The store looks the pairing code up.
    case pairing(PairRequest, token: [UInt8])
    /// The store looks the token up.
    case authenticating(Hello, version: UInt16, nonce: UInt64, tokenHash: [UInt8])
    /// Authenticated; waits for its workspace to be read, or to be quiet.
    case joining(Hello, Session)
    /// Welcomed.
    case joined(Session)
    /// Told to close; what still comes from it is dropped, a known race.
    case closing
  }

  let id: ConnectionID
  /// The address it came from, without the port.
  let source: String
  let openedAt: Int64
  var phase = Phase.greeting
  var rawBytes = 0
  var frameBytes = 0
  var frames: TokenBucket
  var bytes: TokenBucket
  var outgoing = SendQueue()
  /// Bytes of batches that wait to be stored.
  var unsettledBytes = 0
  var isReading = true
  /// A state that is coming in.
  var offer: OfferedState?
  /// What it lacks is too much for entries of the log: it waits for a snapshot.
  var awaitsSnapshot = false
  /// It has everything up to the present, so that notifications go out on it.
  var takesNotifications = false
  /// How many notifications it was sent, and how many of them it answered.
  var noticesSent = 0
  var noticesAnswered = 0
  /// So many of its answers are to what was sent out of inboxes that were read anew since.
  var noticesOutdated = 0
  /// The person looks at the device.
  var isVisible = false
  /// The request whose answer waits for a provider.
  var test: (request: UInt64, target: PushTargetRecord)?

  var session: Session? {
    switch phase {
    case .joining(_, let session), .joined(let session): session
    case .greeting, .pairing, .authenticating, .closing: nil
    }
  }

  /// Somebody looks at the workspace. A viewer is shown it, and may be somebody else than its person.
  var isLookedAt: Bool { isVisible && session.map { $0.role != .viewer } == true }

  var isClosing: Bool { if case .closing = phase { true } else { false } }
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
  /// The client holds another log, or one of which the server no longer knows whether it is its own:
  /// it may offer its state.
  var hasDiverged = false
  /// The reading that `welcome` carried: the device takes this clock for the server's.
  var welcomedAt: ServerTime?

  func welcomed(at now: ServerTime) -> Session {
    var session = self
    session.welcomedAt = now
    return session
  }
}

/// What waits for one receiver: first what it missed, then what happened since.
///
/// The core hands the driver no more than a window, so that the driver's buffers stay small and
/// what a device missed need not count as slowness.
struct SendQueue: Sendable {
  private var missed: [[UInt8]] = []
  private var missedNext = 0
  private var live: [[UInt8]] = []
  private var liveNext = 0
  private var liveBytes = 0
  /// Handed to the driver and not known to be sent.
  private(set) var handedBytes = 0
  /// What the device missed is still being read; live frames must not overtake it.
  private(set) var isHeld = false

  /// What counts against the limit for slow receivers.
  var waitingBytes: Int { liveBytes + handedBytes }
  var isEmpty: Bool { missedNext == missed.count && liveNext == live.count }

  /// Holds live frames back until `release`.
  mutating func hold() {
    isHeld = true
  }

  /// Puts what the device missed before the live frames and lets all go.
  mutating func release(_ frames: [[UInt8]]) {
    missed.removeFirst(missedNext)
    missedNext = 0
    missed += frames
    isHeld = false
  }

  /// Takes a frame in.
  ///
  /// - Returns: whether it may be sent at once; otherwise it is queued.
  mutating func offer(_ frame: [UInt8], window: Int) -> Bool {
    if !isHeld, isEmpty, handedBytes == 0 || handedBytes + frame.count <= window {
      handedBytes += frame.count
      return true
    }
    live.append(frame)
    liveBytes += frame.count
    return false
  }

  /// The driver's count of unsent bytes.
  mutating func driverHolds(_ bytes: Int) {
    handedBytes = max(bytes, 0)
  }

  /// The next frame that fits the window.
  mutating func next(window: Int) -> [UInt8]? {
    guard !isHeld else { return nil }
    if missedNext < missed.count {
      let frame = missed[missedNext]
      guard fits(frame, window) else { return nil }
      missed[missedNext] = []
      missedNext += 1
      if missedNext == missed.count {
        missed = []
        missedNext = 0
      }
      return frame
    }
    guard liveNext < live.count, fits(live[liveNext], window) else { return nil }
    let frame = live[liveNext]
    live[liveNext] = []
    liveNext += 1
    liveBytes -= frame.count
    if liveNext == live.count {
      live = []
      liveNext = 0
    }
    return frame
  }

  private mutating func fits(_ frame: [UInt8], _ window: Int) -> Bool {
    guard handedBytes == 0 || handedBytes + frame.count <= window else { return false }
    handedBytes += frame.count
    return true
  }
}
