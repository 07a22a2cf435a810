import ClientCore
import QueueOracle
import ServerCore

/// One connection between a device and the server, as the network sees it.
///
/// A connection is two streams of bytes that deliver in order or break: within one nothing is lost,
/// repeated or overtaken. Whole messages arrive, because WebSocket delivers no others; a message
/// that was cut anywhere never does. What a real network repeats and reorders shows across
/// connections: bytes of a connection that was given up arrive at the server after those of the
/// next one.
final class Pipe {
  /// Which way bytes go.
  enum Direction: Int, CaseIterable {
    case toServer
    case fromServer
  }

  /// What travels.
  enum Item {
    /// The first bytes of a message whose rest follows.
    case part(bytes: Int)
    /// A message, and how many bytes of it are left.
    case message([UInt8], bytes: Int)
    case ping
    case pong
    /// The other side closed, or the stream broke.
    case end(String)

    var bytes: Int {
      switch self {
      case .part(let bytes), .message(_, let bytes): bytes
      case .ping, .pong: 2
      case .end: 0
      }
    }
  }

  /// One direction.
  struct Lane {
    private var items: [(at: Int64, item: Item)] = []
    private var next = 0
    private(set) var waitingBytes = 0
    /// Nothing arrives before.
    var heldUntil: Int64 = 0
    /// The receiver does not read.
    var isPaused = false
    /// Nothing more can be put in.
    private(set) var isEnded = false
    private var latest: Int64 = 0

    var isEmpty: Bool { next == items.count }

    /// When the next item may arrive; nil where none is under way or nobody reads.
    var nextAt: Int64? {
      guard next < items.count, !isPaused else { return nil }
      return max(items[next].at, heldUntil)
    }

    /// Puts an item in.
    ///
    /// - Returns: when it arrives, at the earliest.
    mutating func put(_ item: Item, at: Int64) -> Int64? {
      guard !isEnded else { return nil }
      if case .end = item { isEnded = true }
      latest = max(latest, at)
      items.append((latest, item))
      waitingBytes += item.bytes
      return max(latest, heldUntil)
    }

    /// Whether anything but signs of life is under way: messages, or the news that the stream broke.
    var carriesNews: Bool {
      items[next...].contains { entry in
        switch entry.item {
        case .part, .message, .end: true
        case .ping, .pong: false
        }
      }
    }

    /// The item that arrives next, without taking it.
    var first: Item? { next < items.count ? items[next].item : nil }

    mutating func take() -> Item? {
      guard next < items.count else { return nil }
      let item = items[next].item
      items[next].item = .ping
      next += 1
      if next == items.count {
        items = []
        next = 0
      }
      waitingBytes -= item.bytes
      return item
    }

    /// Breaks the stream: what comes after so many bytes never arrives.
    mutating func cut(afterBytes count: Int) {
      var left = count
      var place = next
      while place < items.count, items[place].item.bytes <= left {
        left -= items[place].item.bytes
        place += 1
      }
      // A message that is cut leaves a part that means nothing.
      for item in items[place...] {
        waitingBytes -= item.item.bytes
        // The news of an earlier break is cut off too; that of this one takes its place.
        if case .end = item.item { isEnded = false }
      }
      items.removeSubrange(place...)
    }

    /// The stream is gone for good, with all that is under way.
    mutating func vanish() {
      items = []
      next = 0
      waitingBytes = 0
      isEnded = true
    }
  }

  let number: Int
  let device: Int
  let clientID: TransportID
  var serverID: ConnectionID?
  var lanes = [Lane(), Lane()]
  /// Whether the process at either end still holds its end.
  var clientHolds = true
  var serverHolds = false
  /// The network held something up or lost it; who is late on such a connection is not to blame.
  var isDisturbed = false
  /// The server knows who it is; until then it counts raw bytes.
  var isAuthenticated = false
  var serverHeardAt: Int64 = 0
  var serverPingedAt: Int64 = 0
  /// When this server process began; answers of an earlier one are not to be judged by it.
  var serverLife = 0
  private var generator: SeededGenerator
  private let latency: ClosedRange<Int64>
  private let splitPercent: Int

  init(
    number: Int, device: Int, clientID: TransportID, generator: SeededGenerator,
    conditions: NetworkConditions
  ) {
    self.number = number
    self.device = device
    self.clientID = clientID
    self.generator = generator
    latency = conditions.latencyMilliseconds
    splitPercent = conditions.splitPercent
  }

  subscript(direction: Direction) -> Lane {
    get { lanes[direction.rawValue] }
    set { lanes[direction.rawValue] = newValue }
    _modify { yield &lanes[direction.rawValue] }
  }

  var isDead: Bool { !clientHolds && !serverHolds && lanes[0].isEmpty && lanes[1].isEmpty }

  var carriesNews: Bool { lanes.contains { $0.carriesNews } }

  func delay() -> Int64 { Int64.random(in: latency, using: &generator) }

  /// Up to a second, as a sender waits before it repeats what was lost.
  func repetitionDelay() -> Int64 { Int64.random(in: 0...1_000, using: &generator) }

  /// Draws how many of the bytes under way arrive before the stream breaks.
  func survivingBytes(_ direction: Direction) -> Int {
    generator.below(self[direction].waitingBytes + 1)
  }

  func chance(_ percent: Int) -> Bool { generator.chance(percent) }

  /// Sends a message.
  ///
  /// - Returns: when something of it arrives.
  func send(_ message: [UInt8], _ direction: Direction, now: Int64) -> Int64? {
    // The length that WebSocket puts in front counts too.
    let bytes = message.count + 4
    guard bytes > 1, generator.chance(splitPercent) else {
      return self[direction].put(.message(message, bytes: bytes), at: now + delay())
    }
    let front = 1 + generator.below(bytes - 1)
    let first = self[direction].put(.part(bytes: front), at: now + delay())
    _ = self[direction].put(.message(message, bytes: bytes - front), at: now + delay())
    return first
  }

  func put(_ item: Item, _ direction: Direction, now: Int64) -> Int64? {
    self[direction].put(item, at: now + delay())
  }
}
