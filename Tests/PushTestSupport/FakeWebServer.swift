import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// A web server in the test's process that records requests and answers by script: a stand-in for
/// an ntfy server or for the receiver of a webhook. HTTP/1.1 on an ephemeral port of 127.0.0.1.
package final class FakeWebServer: Sendable {
  package let url: String
  private let state: FakeState
  private let channel: any Channel

  package static func start(tls: Bool = false) async throws -> FakeWebServer {
    let state = FakeState(standard: .status(200))
    let context = tls ? try TestAuthority.serverContext(protocols: ["http/1.1"]) : nil
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        let number = state.connected(channel)
        return channel.eventLoop.makeCompletedFuture {
          let operations = channel.pipeline.syncOperations
          if let context { try operations.addHandler(NIOSSLServerHandler(context: context)) }
          try operations.configureHTTPServerPipeline()
          try operations.addHandler(
            FakeRequestHandler(connection: number) { state.received($0) })
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let scheme = tls ? "https" : "http"
    return FakeWebServer(
      url: "\(scheme)://localhost:\(channel.localAddress?.port ?? 0)", state: state,
      channel: channel)
  }

  private init(url: String, state: FakeState, channel: any Channel) {
    self.url = url
    self.state = state
    self.channel = channel
  }

  package var requests: [RecordedRequest] { state.requests }

  package func answer(next answers: FakeAnswer...) { state.answer(next: answers) }
  package func answer(always answer: FakeAnswer) { state.answer(always: answer) }

  /// Closes everything; later calls do nothing.
  package func stop() async throws {
    guard channel.isActive else { return }
    try await channel.close()
    for connection in state.connections { connection.close(promise: nil) }
  }
}
