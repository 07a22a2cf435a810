package import NIOCore

extension NIOAsyncChannel {
  /// Keeps the channel's reader and writer as long as it is open, and returns it.
  ///
  /// A connection may be established after its receiver is gone: a stopped server, or an attempt
  /// that another address has overtaken. NIO traps if such a reader and writer are dropped while
  /// the channel is open (swift-nio, issues 2637 and 2813); after it is closed they may be
  /// released.
  package func heldUntilClosed() -> Self {
    channel.closeFuture.whenComplete { _ in withExtendedLifetime(self) {} }
    return self
  }
}
