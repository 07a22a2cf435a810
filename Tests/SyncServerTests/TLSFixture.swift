import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import QueueModel
import SyncClient
import SyncServer
import Testing

/// The certificates of the tests; `Certificates/make.sh` made them.
enum TestCertificate {
  /// For `localhost` and 127.0.0.1.
  static let localhost = ServerCertificate(
    chainFile: path("localhost.pem"), keyFile: path("localhost.key.pem"))
  /// For a host that is not this one.
  static let other = ServerCertificate(
    chainFile: path("other.pem"), keyFile: path("other.key.pem"))
  /// The key of `localhost`, with a passphrase.
  static let encryptedKey = path("encrypted.key.pem")

  private static func path(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Certificates/\(name)")
      .path(percentEncoded: false)
  }
}

/// Real clients of the library, each with its own directory.
enum RealDevice {
  /// Opens a client that trusts `certificateFile`, runs its sync beside `body`, and closes both.
  static func with(
    trusting certificateFile: String?, name: String = "device",
    _ body: (QueueClient) async throws -> Void
  ) async throws {
    let directory = NSTemporaryDirectory() + "cospool-device-" + UUID().uuidString
    let client = try await QueueClient.open(
      ClientConfiguration(
        dataDirectory: directory, deviceName: name, certificateFile: certificateFile),
      logger: ServerFixture.quiet)
    let result: Result<Void, any Error>
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await client.run() }
        try await body(client)
        group.cancelAll()
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await client.close()
    // The system cleans up the rest.
    try? FileManager.default.removeItem(atPath: directory)
    try result.get()
  }

  static let patience = Duration.seconds(20)
}

extension ServerFixture {
  /// The error of a client that trusts `certificateFile` when it pairs with `url`.
  func pairingTrouble(
    with url: String, trusting certificateFile: String?
  ) async throws -> String {
    let code = try administration.pair(workspaceName: "default").code
    let said = Said()
    try await RealDevice.with(trusting: certificateFile) { client in
      do {
        _ = try await client.pair(server: url, code: code)
      } catch let error as ClientError {
        guard case .unreachable(let message) = error else { throw error }
        #expect(error.exitCode == 4)
        said.message = message
      }
    }
    return try #require(said.message, "it paired")
  }

  private final class Said {
    var message: String?
  }
}

/// A TLS connection on which nothing is sent.
enum SilentTLSClient {
  /// Connects and does the handshake.
  ///
  /// - Returns: the channel; it fails if the server does not accept the handshake.
  static func connect(
    port: Int, _ adjust: (inout TLSConfiguration) -> Void = { _ in }
  ) async throws -> any Channel {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .file(TestCertificate.localhost.chainFile)
    adjust(&configuration)
    let context = try NIOSSLContext(configuration: configuration)
    let group = MultiThreadedEventLoopGroup.singleton
    let finished = group.next().makePromise(of: Void.self)
    do {
      let channel = try await ClientBootstrap(group: group)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandlers([
              NIOSSLClientHandler(context: context, serverHostname: "localhost"),
              HandshakeWatch(finished: finished),
            ])
          }
        }
        .connect(host: "127.0.0.1", port: port).get()
      try await finished.futureResult.get()
      return channel
    } catch {
      finished.fail(error)
      throw error
    }
  }

  private final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let finished: EventLoopPromise<Void>

    init(finished: EventLoopPromise<Void>) {
      self.finished = finished
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      // The only event before anything was sent.
      finished.succeed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      finished.fail(error)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      finished.fail(ChannelError.eof)
    }
  }
}
