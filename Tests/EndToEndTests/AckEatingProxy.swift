import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy in front of the server that can lose the server's answers.
///
/// While it eats, the client's bytes still reach the server, and the server's bytes are dropped. So
/// the server stores, and its acknowledgement is lost with the connection that `cut` closes. It can
/// also change words of the server, and end connections that carry much.
final class AckEatingProxy: Sendable {
  private struct State {
    var isEating = false
    var eatenBytes = 0
    var forgery: (words: String, others: String)?
    var clientBytesMax = Int.max
    var folder: String?
    /// The user and the password of those who may have a tunnel.
    var tunnelUser: String?
    var connections: [any Channel] = []
  }

  private let state = Mutex(State())
  private let listener = Mutex<(any Channel)?>(nil)

  /// Listens on a port of the system's choice and forwards to `port`.
  static func start(to port: Int) async throws -> AckEatingProxy {
    let proxy = AckEatingProxy()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { client in
        proxy.state.withLock { $0.connections.append(client) }
        return proxy.connect(client, to: port)
      }
      .bind(host: "127.0.0.1", port: 0).get()
    proxy.listener.withLock { $0 = channel }
    return proxy
  }

  var url: String {
    "ws://127.0.0.1:\(listener.withLock { $0?.localAddress?.port } ?? 0)"
  }

  /// The number of lost bytes of the server's answers.
  var eatenBytes: Int { state.withLock(\.eatenBytes) }

  func eat() {
    state.withLock { $0.isEating = true }
  }

  /// Replaces these words of the server by others of the same length.
  func forge(_ words: String, as others: String) {
    state.withLock { $0.forgery = (words, others) }
  }

  /// Ends a connection as soon as its client has sent more than this number of bytes.
  func end(after bytes: Int) {
    state.withLock { $0.clientBytesMax = bytes }
  }

  /// Serves only requests below a folder, and takes it off their paths.
  func serve(below folder: String) {
    state.withLock { $0.folder = folder }
  }

  /// Serves as an HTTP proxy with a password: forwards nothing before a request for a tunnel.
  func tunnel(for user: String) {
    state.withLock { $0.tunnelUser = Data(user.utf8).base64EncodedString() }
  }

  /// The answer to a client's first bytes; nil without a tunnel.
  private func answer(to bytes: ByteBuffer) -> String? {
    guard let user = state.withLock(\.tunnelUser) else { return nil }
    let head = String(buffer: bytes)
    guard head.hasPrefix("CONNECT "), head.hasSuffix("\r\n\r\n") else {
      return "HTTP/1.1 400 Bad Request\r\n\r\n"
    }
    return head.contains("Basic \(user)\r\n")
      ? "HTTP/1.1 200 Connected\r\nVia: 1.1 test\r\n\r\n"
      : "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"
  }

  /// Closes every connection; later ones are forwarded completely.
  func cut() async {
    let connections = state.withLock { state in
      defer { state.connections = [] }
      state.isEating = false
      return state.connections
    }
    // A connection that the other side closed first counts as cut.
    for connection in connections { try? await connection.close() }
  }

  func stop() async {
    try? await listener.withLock { $0 }?.close()
    await cut()
  }

  private func connect(_ client: any Channel, to port: Int) -> EventLoopFuture<Void> {
    ClientBootstrap(group: client.eventLoop)
      .channelInitializer { server in
        server.eventLoop.makeCompletedFuture {
          try server.pipeline.syncOperations.addHandler(
            Relay(to: client) { self.passed($0) })
        }
      }
      .connect(host: "127.0.0.1", port: port)
      .flatMapThrowing { server in
        var sent = 0
        try client.pipeline.syncOperations.addHandler(
          Relay(to: server) { bytes in
            let isFirst = sent == 0
            sent += bytes.readableBytes
            if isFirst, let answer = self.answer(to: bytes) {
              client.writeAndFlush(ByteBuffer(string: answer), promise: nil)
              return nil
            }
            if let folder = self.state.withLock(\.folder) {
              let all = Array(bytes.readableBytesView)
              if let place = all.firstRange(of: Array(" \(folder)/".utf8)) {
                return ByteBuffer(
                  bytes: all[..<place.lowerBound] + Array(" /".utf8) + all[place.upperBound...])
              }
              if isFirst {
                client.close(promise: nil)
                return nil
              }
            }
            guard sent > self.state.withLock(\.clientBytesMax) else { return bytes }
            client.close(promise: nil)
            return nil
          })
      }
  }

  /// The server's bytes that reach the client.
  private func passed(_ bytes: ByteBuffer) -> ByteBuffer? {
    state.withLock { state in
      if state.isEating {
        state.eatenBytes += bytes.readableBytes
        return nil
      }
      guard let (words, others) = state.forgery,
        let place = Array(bytes.readableBytesView).firstRange(of: Array(words.utf8))
      else { return bytes }
      var forged = bytes
      forged.setString(others, at: bytes.readerIndex + place.lowerBound)
      return forged
    }
  }

  /// Writes what it reads to another channel, and closes that one when it closes itself.
  private final class Relay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let passed: (ByteBuffer) -> ByteBuffer?

    init(to other: any Channel, passing passed: @escaping (ByteBuffer) -> ByteBuffer?) {
      self.other = other
      self.passed = passed
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if let bytes = passed(unwrapInboundIn(data)) { other.writeAndFlush(bytes, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
      other.close(promise: nil)
      context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
}
