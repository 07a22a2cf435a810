import Basics
import Crypto
import Foundation
import LocalAPI
import SyncClient
import Testing

@testable import SyncDaemon

/// The page's listener, over real sockets.
@Suite struct WebTests {
  @Test func nothingListensUntilSomebodyAsks() async throws {
    try await RunningDaemon.run { daemon in
      let before = try await daemon.request("GET", "/v1/web").decoded(WebAnswer.self)
      #expect(!before.listening && before.address == nil && before.browsers == [])
      let page = try await OpenPage(of: daemon)
      let after = try await daemon.request("GET", "/v1/web").decoded(WebAnswer.self)
      #expect(after.address == "127.0.0.1:\(page.port)")
      #expect(after.browsers.map(\.name) == ["Firefox on Linux"])
    }
  }

  @Test func pageIsServedWithoutAKeyAndNothingElseIs() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let index = try await page.send("GET", "/", headers: [])
      #expect(index.status == 200 && index.head.contains("content-encoding: gzip"))
      for path in ["/v1/status", "/v1/events", "/events", "/v1/web", "/v1/unknown"] {
        #expect(try await page.send("GET", path, headers: []).status == 401, "\(path)")
      }
      // Other spellings of a path, which the router may treat as the same.
      for path in [
        "//v1/status", "/v1//status", "/./v1/status", "/%761/status", "/v1/status/", "/V1/status",
      ] {
        #expect(try await page.send("GET", path, headers: []).status == 401, "\(path)")
      }
      let wrong = ["authorization: Bearer \(page.key.reversed())", "authorization: Basic abc"]
      for header in wrong {
        #expect(try await page.send("GET", "/v1/status", headers: [header]).status == 401)
      }
      #expect(try await page.request("GET", "/v1/status").status == 200)
      #expect(try await page.request("GET", "/../browsers.json").status == 404)
      for (name, value) in WebHeaders.all {
        #expect(index.head.contains("\(name): \(value)".lowercased()), "\(name)")
      }
      let refusal = try await page.send("GET", "/v1/status", headers: [])
      #expect(refusal.head.contains("content-security-policy: default-src 'none';"))
      #expect(!refusal.head.contains("access-control"))
      #expect(!refusal.head.contains("set-cookie"))
    }
  }

  /// The requests that a hostile page can make a browser send, each with the right key, which such
  /// a page cannot have.
  static let hostile:
    [(what: String, method: String, host: String?, headers: [String], status: Int)] = [
      ("a name that leads here", "GET", "evil.example:PORT", [], 421),
      ("the right name without the port", "GET", "127.0.0.1", [], 421),
      ("another port", "GET", "127.0.0.1:1", [], 421),
      ("another address of this machine", "GET", "192.168.1.2:PORT", [], 421),
      ("a name of two addresses, one of them anybody's", "GET", "localhost:PORT", [], 421),
      ("the other loopback address", "GET", "[::1]:PORT", [], 421),
      ("two hosts", "GET", nil, ["host: evil.example"], 421),
      ("another origin", "POST", nil, ["origin: https://evil.example"], 403),
      ("another port's origin", "POST", nil, ["origin: http://127.0.0.1:1"], 403),
      ("no origin's name", "POST", nil, ["origin: null"], 403),
      ("another site", "GET", nil, ["sec-fetch-site: cross-site"], 403),
      ("another port's site", "GET", nil, ["sec-fetch-site: same-site"], 403),
      ("a request without answer", "GET", nil, ["sec-fetch-mode: no-cors"], 403),
      ("a navigation", "GET", nil, ["sec-fetch-site: none", "sec-fetch-mode: navigate"], 403),
      ("a question before another origin's request", "OPTIONS", nil, [], 405),
      ("a change from nowhere", "POST", nil, ["content-type: application/json"], 403),
      ("a form", "POST", nil, ["ORIGIN", "content-type: text/plain"], 415),
      (
        "another form", "POST", nil, ["ORIGIN", "content-type: application/x-www-form-urlencoded"],
        415
      ),
    ]

  @Test(arguments: hostile.indices) func hostileRequestsAreRefusedBeforeAnyRoute(index: Int)
    async throws
  {
    let (what, method, host, headers, status) = Self.hostile[index]
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let reply = try await page.send(
        method, "/v1/sessions/review/queue",
        body: method == "POST" ? #"{"text":"rm"}"# : nil,
        host: host?.replacing("PORT", with: "\(page.port)"),
        headers: headers.map { $0 == "ORIGIN" ? "origin: http://127.0.0.1:\(page.port)" : $0 }
          + [page.keyHeader])
      #expect(reply.status == status, "\(what): \(reply.status) \(reply.body)")
      let sessions = try await daemon.request("GET", "/v1/sessions").decoded(SessionsAnswer.self)
      #expect(sessions.sessions == [], "\(what)")
    }
  }

  @Test func pageDoesWhatTheCommandLineDoes() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let sent = try await page.request("POST", "/v1/sessions/review/queue", #"{"text":"one"}"#)
      #expect(sent.status == 201)
      let queue = try await daemon.request("GET", "/v1/sessions/review/queue")
      #expect(try queue.decoded(QueueAnswer.self).messages.map(\.content) == ["one"])
      // A link may lead to the page, which shows nothing without its key.
      let link = [
        "sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document",
      ]
      #expect(try await page.send("GET", "/", headers: link).status == 200)
      #expect(try await page.send("GET", "/main.js", headers: link).status == 403)
    }
  }

  @Test func linkLetsOneBrowserIn() async throws {
    try await RunningDaemon.run { daemon in
      let link = try await OpenPage.link(of: daemon)
      var page = try await OpenPage(of: daemon)
      page.port = link.port
      let body = #"{"ticket":"\#(link.ticket)"}"#
      let first = try await page.send(
        "POST", "/v1/web/keys", body: body, headers: page.ownHeaders)
      #expect(first.status == 201)
      let second = try await page.send(
        "POST", "/v1/web/keys", body: body, headers: page.ownHeaders)
      #expect(second.status == 401 && second.body.contains("ticketUnknown"))
      let more = try await page.request("POST", "/v1/web", "{}")
      #expect(more.status == 403 && more.body.contains("notOverTheWeb"))
    }
  }

  @Test func revokedBrowserIsCutOff() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let events = try RawConnection(port: page.port)
      defer { events.close() }
      try await events.write(
        page.bytes("GET", "/v1/events", headers: page.ownHeaders + [page.keyHeader]))
      _ = try await events.read(through: "event: present")
      let revoked = try await daemon.request("DELETE", "/v1/web/keys/Firefox%20on%20Linux")
      #expect(try revoked.decoded(WebAnswer.self).browsers == [])
      _ = try await events.readToEnd()
      #expect(try await page.request("GET", "/v1/status").status == 401)
      #expect(try await daemon.request("DELETE", "/v1/web/keys/nobody").status == 404)
    }
  }

  /// S-31: before it sends its key, a page asks for a proof that only the daemon can give.
  @Test func theListenerProvesItself() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let other = try await OpenPage(of: daemon, name: "other")
      let nonce = "00112233445566778899aabbccddeeff"
      func proofs(_ nonce: String) async throws -> [String] {
        let reply = try await page.send(
          "GET", "/v1/web/proof?nonce=\(nonce)", headers: page.ownHeaders)
        return try reply.decoded(WebProofAnswer.self).proofs
      }
      func expected(_ key: String) -> String {
        let secret = SymmetricKey(data: Data(WebKeys.hash(of: key).utf8))
        return Hex.text(HMAC<SHA256>.authenticationCode(for: Data(nonce.utf8), using: secret))
      }
      let given = try await proofs(nonce)
      #expect(Set(given) == [expected(page.key), expected(other.key)])
      #expect(try await proofs(String(nonce.reversed())).allSatisfy { !given.contains($0) })
      _ = try await daemon.request("DELETE", "/v1/web/keys/other")
      #expect(try await proofs(nonce) == [expected(page.key)])
      for nonce in ["", "00", nonce + "0", "zz112233445566778899aabbccddeeff"] {
        let reply = try await page.send(
          "GET", "/v1/web/proof?nonce=\(nonce)", headers: page.ownHeaders)
        #expect(reply.status == 400, "\(nonce)")
      }
      let foreign = try await page.send(
        "GET", "/v1/web/proof?nonce=\(nonce)", headers: ["origin: https://evil.example"])
      #expect(foreign.status == 403)
    }
  }

  /// S-38: a silent connection does not keep a browser out.
  @Test func strangersTakeNotAllPlaces() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let idle = try (1...60).map { _ in try RawConnection(port: page.port) }
      defer { for connection in idle { connection.close() } }
      #expect(try await page.request("GET", "/v1/status").status == 200)
      #expect(try await page.send("GET", "/", headers: []).status == 200)
      // The oldest connections lose their places at once, the others within seconds.
      _ = try await idle[0].readToEnd()
      let clock = ContinuousClock()
      let begin = clock.now
      _ = try await idle[59].readToEnd()
      #expect(clock.now - begin < .seconds(40))
      let long = #"{"ticket":"\#(String(repeating: "x", count: 5_000))"}"#
      let reply = try await page.send("POST", "/v1/web/keys", body: long, headers: page.ownHeaders)
      #expect(reply.status == 413, "\(reply.body)")
    }
  }

  @Test func browserThatMakesRoomIsCutOff() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let events = try RawConnection(port: page.port)
      defer { events.close() }
      try await events.write(
        page.bytes("GET", "/v1/events", headers: page.ownHeaders + [page.keyHeader]))
      _ = try await events.read(through: "event: present")
      for _ in 1...WebKeys.browsersMax { _ = try await OpenPage(of: daemon) }
      _ = try await events.readToEnd()
      let reply = try await page.request("GET", "/v1/status")
      #expect(reply.status == 401 && reply.body.contains("was replaced by a newer one"))
    }
  }

  @Test func listeningEndsWhenItIsTurnedOff() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      // Only at the machine.
      #expect(try await page.request("DELETE", "/v1/web").status == 403)
      let off = try await daemon.request("DELETE", "/v1/web").decoded(WebAnswer.self)
      #expect(!off.listening)
      #expect(throws: RawConnection.Failure.self) { try RawConnection(port: page.port) }
      let again = try await OpenPage.link(of: daemon)
      #expect(try RawConnection(port: again.port).closed())
    }
  }

  @Test func browsersKeepTheirKeysOverAStart() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let keys = Keeper()
    try await RunningDaemon.run(directory: directory) { daemon in
      keys.key = try await OpenPage(of: daemon).key
      let kept = try String(
        contentsOfFile: directory.path + "/" + WebKeys.fileName, encoding: .utf8)
      #expect(!kept.contains(keys.key) && kept.contains(WebKeys.hash(of: keys.key)))
      let mode =
        try FileManager.default.attributesOfItem(
          atPath: directory.path + "/" + WebKeys.fileName)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
    try await RunningDaemon.run(directory: directory) { daemon in
      var page = try await OpenPage(of: daemon)
      page.key = keys.key
      #expect(try await page.request("GET", "/v1/status").status == 200)
    }
  }

  @Test func takenPortIsReported() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      try await RunningDaemon.run { other in
        let reply = try await other.request("POST", "/v1/web", #"{"port":\#(page.port)}"#)
        #expect(reply.status == 409 && reply.body.contains("another program uses the port"))
        let status = try await other.request("GET", "/v1/web").decoded(WebAnswer.self)
        #expect(!status.listening && status.problem != nil)
        #expect(try await other.request("POST", "/v1/web", #"{"port":0}"#).status == 201)
      }
    }
  }

  @Test(arguments: ["localhost:7421", "7421", "on", "127.0.0.1", "127.0.0.1:70000", "::1:7421"])
  func invalidAddressesAreRefused(address: String) async throws {
    #expect(throws: SettingFault.self) { try SettingName.web.checked(.text(address)) }
    guard case .stop(let message, let code) = Cospoold.parse(["--web", address]) else {
      Issue.record("\(address) was taken")
      return
    }
    #expect(code == 2 && message.contains("TLS"))
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request("PUT", "/v1/settings/web", #"{"value":"\#(address)"}"#)
      #expect(reply.status == 422)
    }
  }
}

private final class Keeper: @unchecked Sendable {
  var key = ""
}

extension RawConnection {
  fileprivate func closed() -> Bool {
    close()
    return true
  }
}
