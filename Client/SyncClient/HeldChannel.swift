package import NIOCore

extension NIOAsyncChannel {
  /// Retains the channel's reader and writer while the channel is open, and returns it.
  ///
  /// A connection may be established after its receiver has ended: a stopped server, or an attempt
  /// that another address has overtaken. NIO traps if such a reader and writer are released while
  /// the channel is open (swift-nio, issues 2637 and 2813). After it is closed they may be
  /// released.
  package func heldUntilClosed() -> Self {
    channel.closeFuture.whenComplete { _ in withExtendedLifetime(self) {} }
    return self
  }
}
