import NIOPosix

/// The threads that speak to the store.
struct StoreThreads: Sendable {
  /// Everything, one task after the other.
  let tasks = NIOThreadPool(numberOfThreads: 1)
  /// What `StoreTask.place` says, beside that.
  let packing = NIOThreadPool(numberOfThreads: 1)

  init() {
    tasks.start()
    packing.start()
  }

  /// Ends both; what waits is cancelled.
  func shutDown() async {
    // They end whatever their last tasks threw.
    try? await tasks.shutdownGracefully()
    try? await packing.shutdownGracefully()
  }
}
