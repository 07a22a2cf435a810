import ClientCore
import QueueOracle
import ServerCore

/// One connection between a device and the server, as the network sees it.
///
/// A connection is two streams of bytes that deliver in order or break. Within a stream, bytes are
/// not lost, repeated or overtaken. Only whole messages arrive, as with WebSocket; a truncated
/// message never arrives. The repetition and reordering of a real network occur between
/// connections: bytes of an abandoned connection reach the server after those of the next one.
final class Pipe {
  /// The direction of bytes.
  enum Direction: Int, CaseIterable {
    case toServer
    case fromServer
  }

  /// An item in transit.
  enum Item {
    /// The first bytes of a message whose rest follows.
    case part(bytes: Int)
    /// A message, and the number of its bytes that are left.
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
    /// Nothing arrives before this time.
    var heldUntil: Int64 = 0
    /// Whether the receiver does not read.
    var isPaused = false
    /// Whether nothing more can be added.
    private(set) var isEnded = false
    private var latest: Int64 = 0

    var isEmpty: Bool { next == items.count }

    /// When the next item may arrive; nil if none is in transit or the receiver does not read.
    var nextAt: Int64? {
      guard next < items.count, !isPaused else { return nil }
      return max(items[next].at, heldUntil)
    }

    /// Adds an item.
    ///
    /// - Returns: the earliest time of its arrival.
    mutating func put(_ item: Item, at: Int64) -> Int64? {
      guard !isEnded else { return nil }
      if case .end = item { isEnded = true }
      latest = max(latest, at)
      items.append((latest, item))
      waitingBytes += item.bytes
      return max(latest, heldUntil)
    }

    /// Whether anything except keepalives is in transit: messages, or the report that the stream
    /// broke.
    var carriesNews: Bool {
      items[next...].contains { entry in
        switch entry.item {
        case .part, .message, .end: true
        case .ping, .pong: false
        }
      }
    }

    /// The item that arrives next, without removing it.
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

    /// Breaks the stream: bytes after this number never arrive.
    mutating func cut(afterBytes count: Int) {
      var left = count
      var place = next
      while place < items.count, items[place].item.bytes <= left {
        left -= items[place].item.bytes
        place += 1
      }
      // A truncated message leaves a useless part.
      for item in items[place...] {
        waitingBytes -= item.item.bytes
        // The report of an earlier break is also cut off; the report of this one replaces it.
        if case .end = item.item { isEnded = false }
      }
      items.removeSubrange(place...)
    }

    /// Removes the stream permanently, with everything in transit.
    mutating func vanish() {
      items = []
      next = 0
      waitingBytes = 0
      isEnded = true
    }
  }

  /// The process at the server's end.
  struct ServerEnd {
    /// The node that holds it.
    var node = 0
    /// The process of that node, so that answers of an earlier one are not attributed to it.
    var life = 0
    /// Nodes that did not answer while the connection was being opened.
    var silentNodes: Set<Int> = []
  }

  let number: Int
  let device: Int
  let clientID: TransportID
  var serverID: ConnectionID?
  var serverEnd = ServerEnd()
  var lanes = [Lane(), Lane()]
  /// Whether the process at either end still holds its end.
  var clientHolds = true
  var serverHolds = false
  /// Whether the network delayed or lost something; a late peer on such a connection is not at
  /// fault.
  var isDisturbed = false
  /// Whether the server knows the device; until then, it counts raw bytes.
  var isAuthenticated = false
  var serverHeardAt: Int64 = 0
  var serverPingedAt: Int64 = 0
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

  /// Up to a second, like a sender that waits before it repeats lost bytes.
  func repetitionDelay() -> Int64 { Int64.random(in: 0...1_000, using: &generator) }

  /// Draws the number of bytes in transit that arrive before the stream breaks.
  func survivingBytes(_ direction: Direction) -> Int {
    generator.below(self[direction].waitingBytes + 1)
  }

  func chance(_ percent: Int) -> Bool { generator.chance(percent) }

  /// Sends a message.
  ///
  /// - Returns: when some of it arrives.
  func send(_ message: [UInt8], _ direction: Direction, now: Int64) -> Int64? {
    // WebSocket's length field counts, too.
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
