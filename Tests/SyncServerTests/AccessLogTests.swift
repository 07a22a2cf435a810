import Foundation
import Logging
import NetworkAddresses
import QueueModel
import ServerCore
import Testing
import WireProtocol

@testable import SyncServer

/// The log entries about clients without access.
@Suite struct AccessLogTests {
  @Test func refusedClientsAreLoggedWithAnAddress() async throws {
    let recorder = LogRecorder()
    try await ServerFixture.with(logger: recorder.logger) { fixture in
      let guess = try await RawClient.connect(port: fixture.server.port)
      try await guess.send(
        .pair(
          PairRequest(
            versions: ProtocolVersion.spoken, code: "BBBB-BBBB", device: DeviceID(high: 1, low: 1),
            deviceName: "laptop")))
      _ = try await guess.end()
      var stranger = try await fixture.pair(1)
      stranger.token = [UInt8](repeating: 9, count: 32)
      let hello = try await RawClient.connect(port: fixture.server.port)
      try await hello.send(.hello(stranger.hello))
      _ = try await hello.end()
      let hash = String(repeating: "ab", count: 32)
      _ = try await PlainRequest.send(
        "GET /v1/blobs/\(hash) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(hash)\r\n"
          + "Connection: close\r\n\r\n", fixture.server.port)
    }
    let denied = recorder.lines().filter { $0.hasPrefix("access denied: ") }
    #expect(
      denied == [
        "access denied: pairing code wrong, route sync, source 127.0.0.1",
        "access denied: token unknown, route sync, source 127.0.0.1",
        "access denied: token unknown, route files, source 127.0.0.1",
      ])
    #expect(recorder.lines().contains { $0.hasPrefix("paired device ") })
  }

  /// Also between two writes.
  @Test func endlessRefusalsDisplaceNothingElse() {
    var pending = PendingAudit()
    for index in 0..<AuditEntry.keptOfEachKind + 10 {
      pending.add(AuditEntry(at: Int64(index), event: .refused, source: "192.0.2.1"))
    }
    pending.add(AuditEntry(at: 0, event: .paired))
    let entries = pending.take()
    #expect(entries.count == AuditEntry.keptOfEachKind + 1)
    #expect(entries.last?.event == .paired)
    #expect(pending.take().isEmpty)
  }

  @Test func nothingOfAClientBeginsALineInTheLog() async throws {
    let recorder = LogRecorder()
    try await ServerFixture.with(logger: recorder.logger) { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      let words = "x\naccess denied: token unknown, route sync, source 203.0.113.9\u{1B}[2J"
      try await client.send(.error(ProtocolFault(code: 1, message: words)))
      _ = try await client.end()
    }
    #expect(recorder.lines(.trace).contains { $0.contains("the client says: x") })
    for line in recorder.lines(.trace) {
      #expect(!line.contains("\n") && !line.contains("\u{1B}"), "\(line)")
      #expect(!line.hasPrefix("access denied"), "\(line)")
    }
  }

  @Test(arguments: [
    ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
    // The client's own value is on the left.
    ("10.0.0.1", ["198.51.100.1, 203.0.113.9"], "203.0.113.9"),
    ("10.0.0.1", ["198.51.100.1", "203.0.113.9, 10.0.0.7"], "203.0.113.9"),
    ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
    ("10.0.0.1", ["203.0.113.9:80"], "203.0.113.9"),
    ("10.0.0.1", ["198.51.100.1, nonsense"], "10.0.0.1"), ("10.0.0.1", [], "10.0.0.1"),
    ("10.0.0.1", ["198.51.100.1,, 10.0.0.7"], "10.0.0.7"),
    ("10.0.0.1", ["::ffff:203.0.113.9"], "203.0.113.9"),
    ("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
    ("10.0.0.1", ["203.0.113.9, unknown"], "10.0.0.1"),
    ("10.0.0.1", ["203.0.113.9\n"], "10.0.0.1"),
    ("10.0.0.1", ["[2001:db8::1"], "10.0.0.1"), ("10.0.0.1", ["2001:db8::1%eth0"], "2001:db8::1"),
    // A client that is not a proxy may send any value.
    ("192.0.2.5", ["203.0.113.9"], "192.0.2.5"),
  ])
  func forwardedAddressesAreBelievedUpToTheFirstStranger(
    peer: String, forwarded: [String], source: String
  ) throws {
    let trusted = [try #require(AddressRange("10.0.0.0/8"))]
    #expect(ForwardedSource.find(peer: peer, forwarded: forwarded, trusted: trusted) == source)
  }

  @Test func behindAProxyTheLogNamesTheDevicesAddress() async throws {
    let recorder = LogRecorder()
    let proxy = try #require(AddressRange("127.0.0.1"))
    try await ServerFixture.with({ $0.front.trustedProxies = [proxy] }, logger: recorder.logger) {
      fixture in
      let guess = try await RawClient.connect(
        port: fixture.server.port, forwardedFor: "203.0.113.9")
      try await guess.send(
        .pair(
          PairRequest(
            versions: ProtocolVersion.spoken, code: "BBBB-BBBB", device: DeviceID(high: 1, low: 1),
            deviceName: "laptop")))
      _ = try await guess.end()
    }
    #expect(
      recorder.lines().contains(
        "access denied: pairing code wrong, route sync, source 203.0.113.9"))
  }
}
