import Foundation

/// What a stopping server waits for.
package enum StopStage: String, Hashable, Sendable {
  case listener, connections, pushes, store, files, sockets, database, done
}

extension SyncServer {
  /// Stops, and says so if that takes too long: a disk that does not answer can hold it up for
  /// ever.
  ///
  /// - Parameters:
  ///   - seconds: how long it may take.
  ///   - overrun: called once, from a thread of its own, with what it waits for; not if the stop
  ///     has ended by then.
  package func stop(
    within seconds: Double, overrun: @escaping @Sendable (StopStage) -> Void
  ) async {
    // No task: what hangs may hold the threads that tasks run on.
    Thread.detachNewThread { [self] in
      Thread.sleep(forTimeInterval: seconds)
      let stage = stopStage ?? .listener
      if stage != .done { overrun(stage) }
    }
    await stop()
  }
}
