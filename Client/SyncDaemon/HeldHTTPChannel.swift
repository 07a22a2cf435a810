import HummingbirdCore
import Logging
import NIOCore
import SyncClient

/// HTTP/1.1 over connections that may be dropped unserved while the server stops.
struct HeldHTTPChannel: ServerChildChannel {
  var base: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    base.setup(channel: channel, logger: logger).map { $0.heldUntilClosed() }
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async {
    await base.handle(value: value, logger: logger)
  }
}
