import Foundation
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Apple's push service in the test's process: HTTP/2 over TLS on an ephemeral port of 127.0.0.1.
///
/// It checks each request by Apple's documentation, including the token's signature, and answers
/// faults with Apple's reasons. Only a request without a fault reaches the script of answers.
package final class FakeAPNs: Sendable {
  package let url: String
  private let state: FakeState
  private let examiner: APNsExaminer
  private let channel: any Channel

  /// - Parameters:
  ///   - key: the team's key, whose public half checks the tokens.
  ///   - now: milliseconds since 1970, for the age of a token.
  package static func start(
    key: TestSigningKey, topics: Set<String>, now: @escaping @Sendable () -> Int64
  ) async throws -> FakeAPNs {
    let state = FakeState(standard: .status(200))
    let examiner = APNsExaminer(key: key, topics: topics, now: now)
    let context = try TestAuthority.serverContext(protocols: ["h2"])
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        let number = state.connected(channel)
        return channel.eventLoop.makeCompletedFuture {
          let operations = channel.pipeline.syncOperations
          try operations.addHandler(NIOSSLServerHandler(context: context))
          _ = try operations.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
          ) { stream in
            stream.eventLoop.makeCompletedFuture {
              try stream.pipeline.syncOperations.addHandlers([
                HTTP2FramePayloadToHTTP1ServerCodec(),
                FakeRequestHandler(connection: number, streamOf: channel) { request in
                  let script = state.received(request)
                  return examiner.fault(of: request) ?? script
                },
              ])
            }
          }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    return FakeAPNs(
      port: channel.localAddress?.port ?? 0, state: state, examiner: examiner, channel: channel)
  }

  private init(port: Int, state: FakeState, examiner: APNsExaminer, channel: any Channel) {
    url = "https://localhost:\(port)"
    self.state = state
    self.examiner = examiner
    self.channel = channel
  }

  package var requests: [RecordedRequest] { state.requests }
  package var connectionCount: Int { state.connectionCount }
  /// The reasons of faulty requests, in order.
  package var faults: [String] { examiner.faults }
  /// The received tokens, each once, in the order of their first use.
  package var tokens: [String] { examiner.tokens }

  package func answer(next answers: FakeAnswer...) { state.answer(next: answers) }
  package func answer(always answer: FakeAnswer) { state.answer(always: answer) }

  /// Closes everything; later calls do nothing.
  package func stop() async throws {
    guard channel.isActive else { return }
    try await channel.close()
    for connection in state.connections { connection.close(promise: nil) }
  }
}

extension FakeAnswer {
  /// A refusal in Apple's words.
  package static func apns(
    _ status: Int, _ reason: String, timestamp: Int64? = nil, retryAfter: Int? = nil
  ) -> FakeAnswer {
    let time = timestamp.map { #","timestamp":\#($0)"# } ?? ""
    return .status(
      status, headers: retryAfter.map { [("Retry-After", String($0))] } ?? [],
      body: #"{"reason":"\#(reason)"\#(time)}"#)
  }
}
