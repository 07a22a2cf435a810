import NIOPosix

/// The threads that use the store.
struct StoreThreads: Sendable {
  /// All tasks, one after the other.
  let tasks = NIOThreadPool(numberOfThreads: 1)
  /// The tasks that `StoreTask.place` assigns to it, in parallel.
  let packing = NIOThreadPool(numberOfThreads: 1)

  init() {
    tasks.start()
    packing.start()
  }

  /// Ends both; waiting tasks are cancelled.
  func shutDown() async {
    // They end, whatever errors their last tasks threw.
    try? await tasks.shutdownGracefully()
    try? await packing.shutdownGracefully()
  }
}
