import Foundation
import LocalAPI
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import SyncClient
import Testing

@testable import SyncDaemon

/// The page for other devices: over TLS of its own, or behind a proxy with TLS.
@Suite struct WebElsewhereTests {
  /// Other machines cannot reach it, but it counts as if they could.
  static let address = "127.0.0.2"

  static func certificate(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../SyncServerTests/Certificates/\(name)").standardizedFileURL
      .path(percentEncoded: false)
  }

  static let files =
    #""certificate":"\#(certificate("localhost.pem"))","key":"\#(certificate("localhost.key.pem"))""#

  @Test(arguments: ["0.0.0.0:7421", "192.168.1.2:7421", "[::]:7421", "127.0.0.2:7421"])
  func withoutTLSNothingIsServedElsewhere(address: String) async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    // Settings with which cospoold ends with code 2.
    #expect(throws: SettingFault.self) {
      try SettingsStore(
        flags: [.web: .text(address)], environment: [:], dataDirectory: directory.path)
    }
    #expect(throws: SettingFault.self) {
      try SettingsStore(
        flags: [
          .web: .text(address), .webURL: .text("https://desk.example.org"),
          .webCertificate: .text(Self.certificate("localhost.pem")),
        ], environment: [:], dataDirectory: directory.path)
    }
    try await RunningDaemon.run(directory: directory) { daemon in
      let reply = try await daemon.request("PUT", "/v1/settings/web", #"{"value":"\#(address)"}"#)
      #expect(reply.status == 422 && reply.body.contains("TLS"))
      let file = directory.path + "/config.json"
      try #"{"web":"\#(address)"}"#.write(toFile: file, atomically: true, encoding: .utf8)
      let reload = try await daemon.request("POST", "/v1/settings/reload")
      #expect(reload.status == 422 && reload.body.contains("TLS"))
      #expect(!(try await daemon.request("GET", "/v1/web").decoded(WebAnswer.self).listening))
    }
  }

  @Test func pageIsServedOverTLS() async throws {
    try await RunningDaemon.run { daemon in
      let opened = try await daemon.request(
        "POST", "/v1/web", #"{"address":"\#(Self.address)","port":0,\#(Self.files)}"#)
      try #require(opened.status == 201, "\(opened.body)")
      let link = try opened.decoded(WebTicketAnswer.self)
      let url = try #require(URL(string: link.url))
      let port = try #require(url.port)
      #expect(url.scheme == "https" && url.host() == Self.address && link.elsewhere == link.url)
      #expect(link.code?.allSatisfy { $0.count == link.code?.count } == true)
      let authority = "\(Self.address):\(port)"
      let own = [
        "origin: https://\(authority)", "sec-fetch-site: same-origin", "sec-fetch-mode: cors",
        "content-type: application/json",
      ]
      let page = try await send(port, "GET", "/", host: authority)
      #expect(page.status == 200 && page.head.contains("content-security-policy"))
      let ticket = try #require(url.fragment()).dropFirst(2)
      let body = #"{"ticket":"\#(ticket)"}"#
      let plain = own.map { $0.replacing("https", with: "http") }
      #expect(
        try await send(port, "POST", "/v1/web/keys", host: authority, headers: plain, body: body)
          .status == 403)
      let made = try await send(
        port, "POST", "/v1/web/keys", host: authority, headers: own, body: body)
      let key = "authorization: Bearer \(try made.decoded(WebKeyAnswer.self).key)"
      #expect(try await send(port, "GET", "/v1/status", host: authority).status == 401)
      let status = try await send(port, "GET", "/v1/status", host: authority, headers: own + [key])
      #expect(status.status == 200)
      // Names and addresses that are not listed, including this machine's own.
      for host in ["127.0.0.1:\(port)", "localhost:\(port)", "evil.example:\(port)", Self.address] {
        let reply = try await send(port, "GET", "/v1/status", host: host, headers: [key])
        #expect(reply.status == 421, "\(host)")
      }
      // Removing the certificate would serve the page without TLS.
      let taken = try await daemon.request("DELETE", "/v1/settings/webCertificate")
      #expect(taken.status == 422)
      let back = try await daemon.request("POST", "/v1/web", #"{"address":"127.0.0.1","port":0}"#)
      #expect(try back.decoded(WebTicketAnswer.self).url.hasPrefix("http://127.0.0.1:"))
    }
  }

  @Test func proxyInFrontOfItHasTheTLS() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let opened = try await daemon.request(
        "POST", "/v1/web", #"{"url":"https://Desk.example.org/"}"#)
      let link = try opened.decoded(WebTicketAnswer.self)
      #expect(link.url.hasPrefix("http://127.0.0.1:"))
      #expect(link.elsewhere?.hasPrefix("https://desk.example.org/#t=") == true)
      let listed = try await daemon.request("GET", "/v1/web").decoded(WebAnswer.self)
      #expect(listed.elsewhere == "https://desk.example.org")
      let port = listed.address?.split(separator: ":").last.flatMap { Int($0) }
      var moved = page
      moved.port = try #require(port)
      for (host, origin, status) in [
        ("desk.example.org", "https://desk.example.org", 201),
        ("desk.example.org", "http://desk.example.org", 403),
        ("desk.example.org", "http://127.0.0.1:\(moved.port)", 403),
        ("127.0.0.1:\(moved.port)", "https://desk.example.org", 403),
        ("desk.example.org:7421", "https://desk.example.org:7421", 421),
      ] {
        let reply = try await moved.send(
          "POST", "/v1/sessions/s/queue", body: #"{"text":"x"}"#, host: host,
          headers: ["origin: \(origin)", "content-type: application/json", page.keyHeader])
        #expect(reply.status == status, "\(host) \(origin)")
      }
      for url in ["http://desk.example.org", "https://", "https://a/b", "https://a:0", "desk"] {
        let reply = try await daemon.request("POST", "/v1/web", #"{"url":"\#(url)"}"#)
        #expect(reply.status == 422, "\(url)")
      }
    }
  }

  @Test func addressesThatCannotBeServedAreReported() async throws {
    try await RunningDaemon.run { daemon in
      let other =
        #""certificate":"\#(Self.certificate("localhost.pem"))","key":"\#(Self.certificate("other.key.pem"))""#
      for (body, status, words) in [
        (#"{"address":"0.0.0.0",\#(Self.files)}"#, 422, "webURL"),
        (#"{"address":"desk.local"}"#, 422, "numeric"),
        (#"{"address":"127.0.0.2","port":0,\#(other)}"#, 409, "does not match the certificate"),
        (#"{"certificate":"chain.pem"}"#, 422, "absolute"),
        (#"{"certificate":"/nowhere.pem"}"#, 422, "no such file"),
        (#"{"address":"192.0.2.1","port":0,\#(Self.files)}"#, 409, "does not have that address"),
      ] {
        let reply = try await daemon.request("POST", "/v1/web", body)
        #expect(reply.status == status && reply.body.contains(words), "\(body): \(reply.body)")
      }
    }
  }

  @Test func browserLetsAnotherInAndAnswersForIt() async throws {
    try await RunningDaemon.run { daemon in
      let first = try await OpenPage(of: daemon, name: "laptop")
      let alone = try await first.request("POST", "/v1/web/tickets")
      #expect(alone.status == 409 && alone.body.contains("webNotElsewhere"))
      _ = try await daemon.request("PUT", "/v1/settings/webURL", #"{"value":"https://d.example"}"#)
      let listed = try await daemon.request("GET", "/v1/web").decoded(WebAnswer.self)
      var laptop = first
      laptop.port = try #require(listed.address?.split(separator: ":").last.flatMap { Int($0) })
      var phone = laptop
      func ticket() async throws -> String {
        let made = try await laptop.request("POST", "/v1/web/tickets")
        try #require(made.status == 201, "\(made.body)")
        let link = try #require(try made.decoded(WebTicketAnswer.self).elsewhere)
        return String(link.split(separator: "#t=").last ?? "")
      }
      let early = try await ticket()
      let made = try await phone.send(
        "POST", "/v1/web/keys", body: #"{"ticket":"\#(early)","name":"phone"}"#,
        headers: phone.ownHeaders)
      phone.key = try made.decoded(WebKeyAnswer.self).key
      let browsers = try await phone.request("GET", "/v1/web").decoded(WebAnswer.self).browsers
      #expect(browsers.first { $0.name == "phone" }?.letInBy == "laptop")
      // A browser gives others access, but changes neither the page's address nor what runs here.
      #expect(try await phone.request("POST", "/v1/web", "{}").status == 403)
      for (method, name) in [
        ("PUT", "web"), ("PUT", "webURL"), ("DELETE", "webCertificate"), ("PUT", "command"),
        ("PUT", "hosts"), ("DELETE", "projectRoots"), ("PUT", "notifyCommand"),
        ("PUT", "agentMessages"),
      ] {
        let body = method == "PUT" ? #"{"value":"off"}"# : nil
        let reply = try await phone.request(method, "/v1/settings/\(name)", body)
        #expect(reply.status == 403 && reply.body.contains("notOverTheWeb"))
      }
      let late = try await ticket()
      let revoked = try await daemon.request("DELETE", "/v1/web/keys/laptop")
      #expect(try revoked.decoded(WebAnswer.self).browsers == [])
      #expect(try await phone.request("GET", "/v1/status").status == 401)
      let tooLate = try await phone.send(
        "POST", "/v1/web/keys", body: #"{"ticket":"\#(late)"}"#, headers: phone.ownHeaders)
      #expect(tooLate.status == 401)
    }
  }

  @Test func renewedCertificateIsReadAgain() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let (chain, key) = (directory.path + "/chain.pem", directory.path + "/key.pem")
    func write(_ name: String, _ time: Double) throws {
      for (source, target) in [("\(name).pem", chain), ("\(name).key.pem", key)] {
        try String(contentsOfFile: Self.certificate(source), encoding: .utf8)
          .write(toFile: target, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSince1970: time)], ofItemAtPath: target)
      }
    }
    try write("localhost", 1)
    let certificate = try WebCertificate(
      chainFile: chain, keyFile: key,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let first = certificate.context
    #expect(certificate.context === first)
    try write("other", 2)
    let second = certificate.context
    #expect(second !== first)
    // A certificate that cannot be used changes nothing.
    try "no certificate".write(toFile: chain, atomically: true, encoding: .utf8)
    #expect(certificate.context === second)
  }

  /// One request over TLS.
  private func send(
    _ port: Int, _ method: String, _ path: String, host: String, headers: [String] = [],
    body: String? = nil
  ) async throws -> RawReply {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .file(Self.certificate("localhost.pem"))
    // The certificate is for other names of this machine.
    configuration.certificateVerification = .noHostnameVerification
    let context = try NIOSSLContext(configuration: configuration)
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: Self.address, port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: context, serverHostname: nil))
          return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    let bytes = OpenPage(port: port, key: "").bytes(
      method, path, body: body, host: host, headers: headers)
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(ByteBuffer(bytes: bytes))
      var all: [UInt8] = []
      do {
        for try await part in inbound { all += part.readableBytesView }
      } catch is NIOSSLError {
        // It closed without TLS's closing message.
      }
      return try RawReply(all)
    }
  }
}
