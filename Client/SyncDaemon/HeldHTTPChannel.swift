import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import SyncClient

/// HTTP/1.1 over connections that may be dropped unserved while the server stops.
struct HeldHTTPChannel: ServerChildChannel {
  var base: HTTP1Channel
  /// The table of connections without a key; nil if every client is known.
  var places: WebPlaces?
  /// The handlers for TLS before it.
  var certificate: WebCertificate?

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    places?.admit(channel)
    return channel.eventLoop.makeCompletedFuture {
      guard let certificate else { return }
      try channel.pipeline.syncOperations.addHandler(
        NIOSSLServerHandler(context: certificate.context))
    }.flatMap {
      base.setup(channel: channel, logger: logger).map { $0.heldUntilClosed() }
    }
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async {
    await base.handle(value: value, logger: logger)
  }
}
