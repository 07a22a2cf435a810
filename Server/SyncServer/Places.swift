package import NetworkAddresses
import ServerCore

/// The places among the server's TCP connections.
///
/// A connection of an unknown device counts for its source, an IPv4 address or the first 64 bits of
/// an IPv6 one. If places run out, the source with the most unknown connections loses the oldest of
/// them. So a flood takes places from its own source, and a device from elsewhere finds one.
package struct Places {
  /// The numbers of places.
  package struct Rules: Hashable, Sendable {
    /// All connections together.
    package var total = ServerConfiguration().admission.connectionsMax + 256
    /// Connections of unknown devices together, so that places remain for known ones.
    var unknownMax: Int { max(total / 2, 1) }
    /// Connections of unknown devices from one source.
    package var unknownPerSource = 32
    /// How many may come from one source at once, and per second in the long run.
    package var burst: Int64 = 100
    package var perSecond: Int64 = 10
    /// Sources without limits. A proxy on the server's own machine is one of them.
    package var uncounted = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }

    package init() {}
  }

  typealias ID = ObjectIdentifier

  /// The result of an arrival.
  enum Arrival: Equatable {
    case refused
    /// It has a place; another connection may have lost its own.
    case taken(insteadOf: ID?)
  }

  private struct Source {
    /// Its unknown connections, the oldest first.
    var unknown: [ID] = []
    var arrivals: TokenBucket
  }

  let rules: Rules
  private(set) var count = 0
  private(set) var unknownCount = 0
  private var sources: [String: Source] = [:]
  /// The sources of unknown connections, by connection.
  private var keys: [ID: String] = [:]
  private var known: Set<ID> = []
  /// When each unknown connection arrived, as an increasing number.
  private var ages: [ID: UInt64] = [:]
  private var lastAge: UInt64 = 0

  init(rules: Rules) {
    self.rules = rules
  }

  /// The key of a source, and whether its connections are limited.
  private func key(of source: String) -> (key: String, isCounted: Bool) {
    guard let address = InternetAddress(source) else { return (source, false) }
    return (
      address.network.description, !rules.uncounted.contains { $0.contains(address) }
    )
  }

  /// A connection arrived.
  mutating func arrived(_ id: ID, from source: String, uptime: Int64) -> Arrival {
    let (key, isCounted) = key(of: source)
    forgetSources()
    var entry =
      sources[key]
      ?? Source(
        arrivals: TokenBucket(
          perSecond: rules.perSecond, burst: rules.burst, uptimeMilliseconds: uptime))
    defer { sources[key] = entry }
    if isCounted {
      entry.arrivals.refill(uptimeMilliseconds: uptime)
      guard !entry.arrivals.isEmpty else { return .refused }
      entry.arrivals.spend(1, uptimeMilliseconds: uptime)
    }
    var loser: ID?
    if isCounted, entry.unknown.count >= rules.unknownPerSource {
      loser = entry.unknown.first
    } else if unknownCount >= rules.unknownMax || count >= rules.total {
      loser = oldestOfTheLargest()
      if loser == nil { return .refused }
    }
    if let loser {
      if entry.unknown.first == loser { entry.unknown.removeFirst() }
      gone(loser)
    }
    entry.unknown.append(id)
    keys[id] = key
    lastAge += 1
    ages[id] = lastAge
    count += 1
    unknownCount += 1
    return .taken(insteadOf: loser)
  }

  /// The device of a connection is known.
  mutating func authenticated(_ id: ID) {
    guard keys[id] != nil else { return }
    forget(unknown: id)
    known.insert(id)
    count += 1
  }

  /// Whether a connection has a place, and its device is unknown.
  func isUnknown(_ id: ID) -> Bool { keys[id] != nil }

  /// A connection ended, or lost its place.
  mutating func gone(_ id: ID) {
    if keys[id] != nil {
      forget(unknown: id)
    } else if known.remove(id) != nil {
      count -= 1
    }
  }

  private mutating func forget(unknown id: ID) {
    guard let key = keys.removeValue(forKey: id) else { return }
    ages[id] = nil
    sources[key]?.unknown.removeAll { $0 == id }
    count -= 1
    unknownCount -= 1
  }

  /// Searches all sources; done only if places have run out.
  private func oldestOfTheLargest() -> ID? {
    let largest = sources.values.lazy.map(\.unknown).filter { !$0.isEmpty }.max {
      ($0.count, ages[$1[0]] ?? 0) < ($1.count, ages[$0[0]] ?? 0)
    }
    return largest?.first
  }

  /// Removes sources that have neither connections nor a used allowance, once there are many.
  private mutating func forgetSources() {
    guard sources.count > 2 * rules.total else { return }
    sources = sources.filter { !$0.value.unknown.isEmpty }
  }
}
