import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix

/// Serves the routes of the page on a socket that listens already: one that this daemon opened, or that the service
/// manager kept for it. Hummingbird's own server opens its own.
struct PageServer<Responder: HTTPResponder>: Sendable
where Responder.Context == APIContext {
  var responder: Responder
  var certificate: WebCertificate?
  var places: WebPlaces
  var idleSeconds: Int64
  var connectionsMax: Int
  var group: any EventLoopGroup
  var logger: Logger

  /// Serves until the task is cancelled, and closes the socket.
  ///
  /// - Parameter ready: called with the port before the first request is read.
  func run(on socket: Int32, ready: @Sendable (Int) -> Void) async throws {
    let child = HeldHTTPChannel(
      base: HTTP1Channel(
        responder: respond, configuration: .init(idleTimeout: .seconds(idleSeconds))),
      places: places, certificate: certificate)
    let (connectionsMax, logger) = (connectionsMax, logger)
    let listener = try await ServerBootstrap(group: group)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let limit = MaximumAvailableConnections(connectionsMax, logger: logger)
          try channel.pipeline.syncOperations.addHandler(
            AvailableConnectionsChannelHandler(delegate: limit))
        }
      }
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .bind(socket) { child.setup(channel: $0, logger: logger) }
    ready(listener.channel.localAddress?.port ?? 0)
    try await withThrowingDiscardingTaskGroup { group in
      try await listener.executeThenClose { connections in
        for try await connection in connections {
          group.addTask { await child.handle(value: connection, logger: logger) }
        }
      }
      group.cancelAll()
    }
  }

  @concurrent @Sendable private func respond(
    to request: Request, _ writer: consuming ResponseWriter, on channel: any Channel
  ) async throws {
    let context = APIContext(source: .init(channel: channel, logger: logger))
    let response: Response
    do {
      response = try await responder.respond(to: request, context: context)
    } catch {
      response = Response(status: .internalServerError)
    }
    try await writer.write(response: response.head, body: response.body)
  }
}
