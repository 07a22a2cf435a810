package import NIOCore

extension NIOAsyncChannel {
  /// Keeps the channel's reader and writer for as long as it is open, and returns it.
  ///
  /// A connection may be set up whose taker is gone by then: a server that stops, an attempt that another
  /// address has overtaken. NIO traps where such a reader and writer are dropped while the channel is open
  /// (swift-nio, issues 2637 and 2813); once it is closed they may go.
  package func heldUntilClosed() -> Self {
    channel.closeFuture.whenComplete { _ in withExtendedLifetime(self) {} }
    return self
  }
}
