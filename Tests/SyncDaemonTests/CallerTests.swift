import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// S-28, S-32: what callers other than the user must not do.
@Suite struct CallerTests {
  /// A file of this test, and a message to attach it to.
  private static func message(in daemon: RunningDaemon) async throws -> String {
    let sent = try await daemon.request("POST", "/v1/sessions/review/queue", #"{"text":"one"}"#)
    return try sent.decoded(SentAnswer.self).id.description
  }

  @Test func browserNamesNoFileOfTheMachine() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let id = try await Self.message(in: daemon)
      let file = "/etc/hostname"
      for (path, body) in [
        ("/v1/messages/\(id)/attachments", #"{"path":"\#(file)"}"#),
        ("/v1/sessions/review/queue", #"{"text":"two","attachments":[{"path":"\#(file)"}]}"#),
        ("/v1/messages/\(id)/attachments", #"{"path":"/no/such/file"}"#),
      ] {
        let reply = try await page.request("POST", path, body)
        #expect(reply.status == 403 && reply.body.contains("notOverTheWeb"), "\(reply.body)")
        #expect(!reply.body.contains(file) && !reply.body.contains("/no/such"))
      }
      let queue = try await daemon.request("GET", "/v1/sessions/review/queue")
      #expect(try queue.decoded(QueueAnswer.self).messages.map(\.content) == ["one"])
      // It may attach files that it uploads itself.
      let brought = #"{"data":"aGk=","name":"hi.txt"}"#
      let reply = try await page.request("POST", "/v1/messages/\(id)/attachments", brought)
      #expect(reply.status == 201, "\(reply.body)")
    }
  }

  @Test func theDaemonsOwnFilesAreNotAttached() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let data = directory.path + "/data"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    let link = directory.path + "/link", around = directory.path + "/around"
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: data + "/token.json")
    try FileManager.default.createSymbolicLink(atPath: around, withDestinationPath: data)
    let beside = directory.path + "/data.txt"
    for path in [data + "/token.json", beside] {
      try Data("secret".utf8).write(to: URL(filePath: path))
    }
    try await RunningDaemon.run(directory: directory, dataDirectory: data) { daemon in
      let id = try await Self.message(in: daemon)
      for path in [
        data + "/token.json", data + "/../data/token.json", link,
        around + "/token.json", data + "/no-such-file",
      ] {
        let body = #"{"path":"\#(path)"}"#
        let reply = try await daemon.request("POST", "/v1/messages/\(id)/attachments", body)
        #expect(
          reply.status == 403 && reply.body.contains("fileOfDaemon"), "\(path): \(reply.body)")
        let send = #"{"text":"two","attachments":[\#(body)]}"#
        let sent = try await daemon.request("POST", "/v1/sessions/review/queue", send)
        #expect(sent.status == 403, "\(path): \(sent.body)")
      }
      let body = #"{"path":"\#(beside)"}"#
      let reply = try await daemon.request("POST", "/v1/messages/\(id)/attachments", body)
      #expect(reply.status == 201, "\(reply.body)")
    }
  }

  /// The answer for every route follows the table of callers, with a browser's key and without one.
  @Test func everyRouteSaysWhatABrowserMay() async throws {
    #expect(
      Route.all.filter { $0.browserAccess == .keyless }.map(\.id).sorted() == [
        "proveListener", "redeemTicket",
      ])
    try await RunningDaemon.run { daemon in
      var page = try await OpenPage(of: daemon)
      // The route that ends a browser's access comes last.
      let routes = Route.all.sorted {
        ($0.id == "revokeBrowser" ? 1 : 0) < ($1.id == "revokeBrowser" ? 1 : 0)
      }
      for route in routes {
        let path = Self.path(of: route)
        let body = route.body == nil ? nil : "{"
        for hasKey in [false, true] {
          let headers = page.ownHeaders + (hasKey ? [page.keyHeader] : [])
          let reply = try await Self.head(of: page, route.method, path, body, headers)
          let isFree = route.browserAccess == .keyless
          let isRefused = reply.contains("notOverTheWeb"),
            isUnknown = reply.contains("webKeyUnknown")
          #expect(isUnknown == (!hasKey && !isFree), "\(route.id): \(reply)")
          #expect(isRefused == (hasKey && route.browserAccess == .refused), "\(route.id): \(reply)")
        }
      }
      page.key = "none"
      #expect(try await page.request("GET", "/v1/status").status == 401)
    }
  }

  /// A path of a route, with names that do not exist.
  static func path(of route: Route) -> String {
    let parts = route.path.split(separator: "/").map { $0.hasPrefix("{") ? "none" : String($0) }
    return "/" + parts.joined(separator: "/")
  }

  /// The beginning of an answer, because a stream of events has no end.
  private static func head(
    of page: OpenPage, _ method: String, _ path: String, _ body: String?, _ headers: [String]
  ) async throws -> String {
    let connection = try RawConnection(port: page.port)
    defer { connection.close() }
    try await connection.write(page.bytes(method, path, body: body, headers: headers))
    let bytes = try await connection.read { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      return text.contains("event: present")
        || (text.contains("\r\n\r\n") && text.contains("\"error\""))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Only the machine itself decides what runs here, whom it trusts, and where it belongs.
  @Test func browserSetsNothingOfTheMachine() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      for name in SettingName.allCases {
        for (method, body) in [("PUT", #"{"value":"claude"}"#), ("DELETE", nil)] {
          let reply = try await page.request(method, "/v1/settings/\(name.rawValue)", body)
          #expect(
            reply.status == 403 && reply.body.contains("notOverTheWeb"), "\(name): \(reply.body)")
        }
      }
      for (method, path, body) in [
        ("POST", "/v1/pair", #"{"server":"ws://127.0.0.1:1","code":"AAAA-AAAA"}"#),
        ("DELETE", "/v1/web", nil), ("DELETE", "/v1/pair", nil),
        ("POST", "/v1/settings/reload", nil),
      ] {
        let reply = try await page.request(method, path, body)
        #expect(
          reply.status == 403 && reply.body.contains("notOverTheWeb"), "\(path): \(reply.body)")
      }
    }
  }

  @Test func browserGivesASessionWhatItsPersonAllows() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      _ = try await Self.message(in: daemon)
      func give(_ agent: String) async throws -> (status: Int, body: String) {
        let body = #"{"agent":"\#(agent)"}"#
        let reply = try await page.request("PUT", "/v1/sessions/review/agent", body)
        return (reply.status, reply.body)
      }
      func set(_ name: String, _ value: String) async throws {
        let reply = try await daemon.request(
          "PUT", "/v1/settings/\(name)", #"{"value":"\#(value)"}"#)
        #expect(reply.status == 200, "\(reply.body)")
      }
      // No agent is configured, so there is none to choose.
      #expect(try await give("claude").status == 403)
      try await set("agent", "claude")
      #expect(try await give("claude").status == 200)
      let refused = try await give("codex")
      #expect(
        refused.status == 403 && refused.body.contains("it can choose claude"), "\(refused.body)")
      try await set("browserAgents", "default,codex")
      #expect(try await give("codex").status == 200)
      #expect(try await page.request("DELETE", "/v1/sessions/review/agent").status == 200)
      try await set("browserAgents", "none")
      #expect(try await give("claude").status == 403)
      #expect(try await page.request("DELETE", "/v1/sessions/review/agent").status == 403)
      // At the machine, every agent may be chosen.
      let own = try await daemon.request(
        "PUT", "/v1/sessions/review/agent", #"{"agent":"opencode"}"#)
      #expect(own.status == 200)
    }
  }

  /// When a browser is revoked, the answer lists what it made and what stays.
  @Test func codesThatABrowserMadeAreNamedWhenItIsRevoked() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let keys = WebKeys(dataDirectory: directory.path)
    let first = try #require(try keys.redeem(keys.makeTicket(at: 0).ticket, name: "first", at: 1))
    let ticket = keys.makeTicket(by: first.browser.id, at: 2).ticket
    let second = try #require(try keys.redeem(ticket, name: "second", at: 3))
    let third = try #require(try keys.redeem(keys.makeTicket(at: 4).ticket, name: "third", at: 5))
    for (browser, role) in [(first, "host"), (second, "viewer"), (third, "author")] {
      try keys.noteCode(role: role, by: browser.browser.id, at: 6)
    }
    // They are stored with the browsers.
    let revoked = try WebKeys(dataDirectory: directory.path).revoke("first")
    #expect(Set(revoked.browsers) == [first.browser.id, second.browser.id])
    #expect(revoked.codes.map(\.role).sorted() == ["host", "viewer"])
    #expect(try keys.revoke("nobody").browsers == [])
  }
}
