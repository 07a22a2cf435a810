import Foundation
import NIOCore
import NIOSSL
import QueueModel
import ServerCore
import SyncClient
import SyncServer
import Testing

@Suite(.timeLimit(.minutes(10))) struct TLSTests {
  private let trusted = TestCertificate.localhost.chainFile

  /// Far larger than one TLS record, and not compressible.
  private var longText: String {
    var text = ""
    var value: UInt64 = 1
    while text.utf8.count < 400_000 {
      value = value &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text += String(value, radix: 36)
    }
    return text
  }

  private func withServer(
    _ certificate: ServerCertificate = TestCertificate.localhost,
    authenticationMilliseconds: Int64 = 10_000,
    _ body: (inout ServerFixture) async throws -> Void
  ) async throws {
    try await ServerFixture.with(
      {
        $0.certificate = certificate
        $0.core.admission.milliseconds = authenticationMilliseconds
      }, body)
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func devicesPairAndSyncOverTLS(host: String) async throws {
    try await withServer { fixture in
      let url = "wss://\(host):\(fixture.server.port)"
      let first = try fixture.administration.pair(workspaceName: "default").code
      let second = try fixture.administration.pair(workspaceName: "default").code
      let long = longText
      let session = try SessionID("main")
      try await RealDevice.with(trusting: trusted, name: "one") { one in
        let paired = try await one.pair(server: url, code: first)
        #expect(paired.server == url)
        try await one.perform(
          .send(.init(session: session, id: MessageID(high: 1, low: 1), text: long)))
        try await one.waitUntilSynced(timeout: RealDevice.patience)
        try await RealDevice.with(trusting: trusted, name: "two") { two in
          _ = try await two.pair(server: url, code: second)
          try await two.waitUntilSynced(timeout: RealDevice.patience)
          let contents = try two.workspace().messageQueue(session).messages.map(\.content)
          #expect(contents == [long])
          try await two.perform(
            .send(.init(session: session, id: MessageID(high: 2, low: 1), text: "back")))
          for await view in one.queues.updates(of: session) where view.messages.count == 2 {
            #expect(view.messages.last?.content == "back")
            break
          }
        }
      }
    }
  }

  @Test func addressAndPairingHintSayWss() async throws {
    try await withServer { fixture in
      let url = "wss://127.0.0.1:\(fixture.server.port)"
      #expect(fixture.server.url == url)
      let pairing = try fixture.administration.pair(workspaceName: "default")
      #expect(pairing.server == url)
      #expect(pairing.text.contains("cospool pair \(url) \(pairing.code)"))
    }
  }

  @Test func unknownCertificateIsRefusedAndSaysWhatToDo() async throws {
    try await withServer { fixture in
      let url = "wss://localhost:\(fixture.server.port)"
      for certificateFile in [nil, TestCertificate.other.chainFile] {
        let message = try await fixture.pairingTrouble(with: url, trusting: certificateFile)
        #expect(message.contains("not trusted"))
        #expect(message.contains("config set certificate"))
      }
      #expect(try fixture.administration.devices(workspaceName: nil).devices.isEmpty)
    }
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func certificateOfAnotherHostIsRefused(host: String) async throws {
    try await withServer(TestCertificate.other) { fixture in
      let message = try await fixture.pairingTrouble(
        with: "wss://\(host):\(fixture.server.port)",
        trusting: TestCertificate.other.chainFile)
      #expect(message.contains("not trusted"))
      #expect(message.contains("not valid for \(host)"))
      #expect(try fixture.administration.devices(workspaceName: nil).devices.isEmpty)
    }
  }

  @Test func unreadableRootsAreNamed() async throws {
    try await withServer { fixture in
      let url = "wss://localhost:\(fixture.server.port)"
      for file in ["/no/such/root.pem", TestCertificate.localhost.keyFile] {
        let message = try await fixture.pairingTrouble(with: url, trusting: file)
        #expect(message.contains(file))
      }
    }
  }

  @Test func plainClientLearnsOfTLS() async throws {
    try await withServer { fixture in
      let message = try await fixture.pairingTrouble(
        with: "ws://127.0.0.1:\(fixture.server.port)", trusting: nil)
      #expect(message.contains("wss://"), "\(message)")
    }
  }

  @Test func secureClientLearnsOfThePlainServer() async throws {
    try await ServerFixture.with { fixture in
      let message = try await fixture.pairingTrouble(
        with: "wss://127.0.0.1:\(fixture.server.port)", trusting: trusted)
      #expect(message.contains("does not speak TLS"), "\(message)")
    }
  }

  @Test func oldVersionsOfTLSAreRefused() async throws {
    try await withServer { fixture in
      let port = fixture.server.port
      await #expect(throws: NIOSSLError.self) {
        try await SilentTLSClient.connect(port: port) {
          $0.minimumTLSVersion = .tlsv1
          $0.maximumTLSVersion = .tlsv11
        }
      }
      let channel = try await SilentTLSClient.connect(port: port) {
        $0.maximumTLSVersion = .tlsv12
      }
      try await channel.close()
    }
  }

  @Test(arguments: ["", "\u{16}\u{3}\u{1}\u{2}", "\u{16}"])
  func handshakeThatStallsIsDropped(start: String) async throws {
    // TLS waits five seconds for its own closing handshake; the server must not wait for that,
    // either.
    try await withServer(authenticationMilliseconds: 200) { fixture in
      let answer = try await PlainRequest.send(start, fixture.server.port)
      #expect(answer.isEmpty)
    }
  }

  @Test func silenceAfterTheHandshakeIsDropped() async throws {
    try await withServer(authenticationMilliseconds: 1_500) { fixture in
      let channel = try await SilentTLSClient.connect(port: fixture.server.port)
      try await channel.closeFuture.get()
    }
  }

  @Test func aRenewedCertificateNeedsNoRestart() async throws {
    let folder = NSTemporaryDirectory() + "cospool-certificates-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = ServerCertificate(chainFile: folder + "/c.pem", keyFile: folder + "/k.pem")
    func put(_ certificate: ServerCertificate) throws {
      for (from, to) in [
        (certificate.chainFile, files.chainFile), (certificate.keyFile, files.keyFile),
      ] {
        try Data(contentsOf: URL(fileURLWithPath: from)).write(
          to: URL(fileURLWithPath: to), options: .atomic)
      }
    }
    try put(TestCertificate.localhost)
    let recorder = LogRecorder()
    try await ServerFixture.with({ $0.certificate = files }, logger: recorder.logger) { fixture in
      let old = try await SilentTLSClient.connect(port: fixture.server.port)
      try put(TestCertificate.other)
      // The client trusts only the old one: it is refused from some moment on.
      var isOld = true
      for _ in 0..<10_000 where isOld {
        do {
          try await SilentTLSClient.connect(port: fixture.server.port).close()
        } catch {
          isOld = false
        }
      }
      #expect(!isOld)
      #expect(recorder.lines().contains("the certificate was reloaded"))
      #expect(old.isActive)
      try await old.close()
    }
  }

  @Test func stopDoesNotWaitForAStalledHandshake() async throws {
    try await withServer { fixture in
      let stalled = try await PlainRequest.start("\u{16}\u{3}\u{1}", fixture.server.port)
      let silent = try await SilentTLSClient.connect(port: fixture.server.port)
      await fixture.server.stop()
      _ = try await stalled.get()
      try await silent.closeFuture.get()
    }
  }

  @Test func filesThatCannotBeUsedAreNamed() async throws {
    let good = TestCertificate.localhost
    let cases: [(certificate: ServerCertificate, named: String, reason: String)] = [
      (.init(chainFile: "/no/such.pem", keyFile: good.keyFile), "/no/such.pem", "does not exist"),
      (.init(chainFile: good.chainFile, keyFile: "/no/key.pem"), "/no/key.pem", "does not exist"),
      (.init(chainFile: good.chainFile, keyFile: "/"), "/", "cannot be read"),
      (.init(chainFile: good.keyFile, keyFile: good.keyFile), good.keyFile, "no certificate"),
      (
        .init(chainFile: good.chainFile, keyFile: good.chainFile), good.chainFile,
        "no PEM private key"
      ),
      (
        .init(chainFile: good.chainFile, keyFile: TestCertificate.encryptedKey),
        TestCertificate.encryptedKey, "passphrase"
      ),
      (
        .init(chainFile: good.chainFile, keyFile: TestCertificate.other.keyFile),
        TestCertificate.other.keyFile, "does not match"
      ),
    ]
    for (certificate, named, reason) in cases {
      let directory = NSTemporaryDirectory() + "cospool-server-" + UUID().uuidString
      var options = SyncServerOptions(dataDirectory: directory, port: 0)
      options.certificate = certificate
      do {
        let server = try await SyncServer.start(options, logger: ServerFixture.quiet)
        await server.stop()
        Issue.record("it started with \(certificate)")
      } catch {
        #expect(error.exitCode == 1)
        #expect(error.message.contains(named), "\(error)")
        #expect(error.message.contains(reason), "\(error)")
      }
      #expect(!FileManager.default.fileExists(atPath: directory))
    }
  }
}
