import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy in front of the server that can lose what the server answers.
///
/// While it eats, the client's bytes still reach the server, and the server's bytes go nowhere:
/// the server stores, and its acknowledgement is lost with the connection that `cut` closes. It can
/// also write other words into what the server sends, and end connections that carry much.
final class AckEatingProxy: Sendable {
  private struct State {
    var isEating = false
    var eatenBytes = 0
    var forgery: (words: String, others: String)?
    var clientBytesMax = Int.max
    var connections: [any Channel] = []
  }

  private let state = Mutex(State())
  private let listener = Mutex<(any Channel)?>(nil)

  /// Listens on a port of the system's choice and passes on to `port`.
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

  /// How much of the server's answers was lost.
  var eatenBytes: Int { state.withLock(\.eatenBytes) }

  func eat() {
    state.withLock { $0.isEating = true }
  }

  /// Passes on other words, of the same length, wherever the server sends these.
  func forge(_ words: String, as others: String) {
    state.withLock { $0.forgery = (words, others) }
  }

  /// Ends a connection as soon as its client has sent more than so many bytes.
  func end(after bytes: Int) {
    state.withLock { $0.clientBytesMax = bytes }
  }

  /// Closes every connection; later ones are passed on whole.
  func cut() async {
    let connections = state.withLock { state in
      defer { state.connections = [] }
      state.isEating = false
      return state.connections
    }
    // A connection that the other side closed first is as good as cut.
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
            sent += bytes.readableBytes
            guard sent > self.state.withLock(\.clientBytesMax) else { return bytes }
            client.close(promise: nil)
            return nil
          })
      }
  }

  /// What the client gets of what the server sent.
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

  /// Writes what it reads to another channel, and closes that one with its own.
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
