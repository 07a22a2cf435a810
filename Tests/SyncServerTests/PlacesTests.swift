import NIOCore
import NIOPosix
import NetworkAddresses
import Testing
import WireProtocol

@testable import SyncServer

/// Connections that have a place, and those that lose theirs.
@Suite struct PlacesTests {
  private final class Token {}

  private func rules(_ total: Int, _ adjust: (inout Places.Rules) -> Void = { _ in })
    -> Places.Rules
  {
    var rules = Places.Rules()
    rules.total = total
    rules.burst = 1_000_000
    rules.unknownPerSource = 1_000_000
    rules.uncounted = []
    adjust(&rules)
    return rules
  }

  @Test func aFloodTakesOnlyItsOwnPlaces() throws {
    var places = Places(rules: rules(20))
    var tokens: [Token] = []
    func come(_ source: String) -> (ObjectIdentifier, Places.Arrival) {
      tokens.append(Token())
      let id = ObjectIdentifier(tokens[tokens.count - 1])
      return (id, places.arrived(id, from: source, uptime: 0))
    }
    let (guest, arrival) = come("192.0.2.7")
    #expect(arrival == .taken(insteadOf: nil))
    let flood = (0..<9).map { _ in come("2001:db8::\(tokens.count)").0 }
    // Half of the places are reserved for known devices.
    #expect(come("2001:db8::ff").1 == .taken(insteadOf: flood[0]))
    #expect(come("203.0.113.1").1 == .taken(insteadOf: flood[1]))
    #expect(places.isUnknown(guest))
    places.authenticated(guest)
    #expect((places.count, places.unknownCount) == (10, 9))
    for _ in 0..<1_000 { _ = come("2001:db8::ff") }
    #expect((places.count, places.unknownCount) == (11, 10))
    places.gone(guest)
    #expect((places.count, places.unknownCount) == (10, 10))
  }

  @Test func aSourceHasSoManyUnknownConnectionsAndComesSoOften() throws {
    var places = Places(
      rules: rules(1_000) {
        $0.unknownPerSource = 3
        $0.burst = 10
        $0.perSecond = 1
      })
    var tokens: [Token] = []
    func come(_ uptime: Int64, _ source: String = "192.0.2.7") -> Places.Arrival {
      tokens.append(Token())
      return places.arrived(
        ObjectIdentifier(tokens[tokens.count - 1]), from: source, uptime: uptime)
    }
    for _ in 0..<3 { #expect(come(0) == .taken(insteadOf: nil)) }
    #expect(come(0) == .taken(insteadOf: ObjectIdentifier(tokens[0])))
    #expect(places.unknownCount == 3)
    for _ in 0..<20 { _ = come(0) }
    #expect(come(0) == .refused)
    #expect(come(0, "192.0.2.8") == .taken(insteadOf: nil))
    #expect(come(2_000) != .refused)
  }

  @Test func knownConnectionsLoseNoPlace() throws {
    var places = Places(rules: rules(4))
    let tokens = (0..<5).map { _ in Token() }
    let ids = tokens.map { ObjectIdentifier($0) }
    for id in ids.prefix(4) {
      #expect(places.arrived(id, from: "192.0.2.7", uptime: 0) == .taken(insteadOf: nil))
      places.authenticated(id)
    }
    #expect(places.arrived(ids[4], from: "192.0.2.8", uptime: 0) == .refused)
  }

  /// One host holds and reopens idle sockets; a device from elsewhere is welcomed.
  @Test func aFloodFromOneAddressLocksNoOneOut() async throws {
    try await ServerFixture.with({
      $0.places.total = 50
      $0.places.uncounted = []
      $0.places.burst = 10_000
    }) { fixture in
      let device = try await fixture.pair(1)
      let port = fixture.server.port
      var idle: [any Channel] = []
      for _ in 0..<300 {
        idle.append(
          try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get())
      }
      let client = try await RawClient.connect(port: port, from: "127.0.0.2")
      try await client.send(.hello(device.hello))
      let welcome = try await client.frame { if case .welcome = $0 { true } else { false } }
      #expect(welcome != nil)
      await client.close()
      for channel in idle { channel.close(promise: nil) }
    }
  }
}
