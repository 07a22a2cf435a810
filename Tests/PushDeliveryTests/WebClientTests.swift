import NetworkAddresses
import PushNotices
import Synchronization
import Testing

@testable import PushDelivery

/// The targets to which devices' addresses may direct the server.
@Suite struct WebClientTests {
  private func clients(
    allowed: [String] = [], _ resolver: @escaping WebClients.Resolver = { _ in [] }
  ) -> WebClients {
    WebClients(
      PushTransport(), allowed: allowed.compactMap { AddressRange($0) }, resolver: resolver)
  }

  /// The names that a client does not look up, with their addresses.
  private func overridden(_ client: some Any) -> [String: String]? {
    Mirror(reflecting: client).descendant("configuration", "dnsOverride") as? [String: String]
  }

  @Test(arguments: [
    "http://127.0.0.1:2019/stop", "http://[::1]:1/", "http://localhost/",
    "https://169.254.169.254/",
    "https://10.0.0.5:8443/x", "https://[::ffff:192.168.1.1]/", "https://[fd00::1]/",
    "https://0.0.0.0/",
    "https://inside.example/",
  ])
  func theServerIsNotSentIntoItsOwnNetwork(url: String) async throws {
    let clients = clients { host in
      let addresses = ["localhost": ["127.0.0.1", "::1"], "inside.example": ["10.0.0.5"]]
      return (addresses[host] ?? []).compactMap { InternetAddress($0) }
    }
    let failure = await #expect(throws: TransportFailure.self) {
      _ = try await clients.client(for: url)
    }
    #expect(failure?.reason == WebClients.forbidden)
    await clients.shutDown()
  }

  @Test func addressesThatTheOwnerAllowsAreUsed() async throws {
    let clients = clients(allowed: ["10.0.0.0/8"])
    _ = try await clients.client(for: "https://10.0.0.5:8443/x")
    await #expect(throws: TransportFailure.self) {
      _ = try await clients.client(for: "https://192.168.0.1/")
    }
    await clients.shutDown()
  }

  /// A name that resolves to an internal address a moment later.
  @Test func theCheckedAddressIsTheOneConnected() async throws {
    let answers = Mutex([["8.8.8.8"], ["8.8.8.8"], ["10.0.0.5"], ["10.0.0.5", "8.8.4.4"]])
    let clients = clients { _ in
      let next = answers.withLock { $0.removeFirst() }
      return next.compactMap { InternetAddress($0) }
    }
    let first = try await clients.client(for: "https://turns.example/")
    #expect(overridden(first) == ["turns.example": "8.8.8.8"])
    #expect(try await clients.client(for: "https://turns.example/") === first)
    await #expect(throws: TransportFailure.self) {
      _ = try await clients.client(for: "https://turns.example/")
    }
    let other = try await clients.client(for: "https://turns.example/")
    #expect(overridden(other) == ["turns.example": "8.8.4.4"])
    await clients.shutDown()
  }

  @Test func namesAreLookedUp() {
    #expect(WebClients.systemResolver("localhost").contains { $0.reach == .loopback })
    #expect(WebClients.systemResolver("no-such-host.invalid").isEmpty)
  }
}
