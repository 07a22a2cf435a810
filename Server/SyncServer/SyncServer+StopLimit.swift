import Foundation

/// The step that a stopping server waits for.
package enum StopStage: String, Hashable, Sendable {
  case listener, connections, pushes, store, files, sockets, database, done
}

extension SyncServer {
  /// Stops, and reports if that takes too long: a disk that does not answer can block it forever.
  ///
  /// - Parameters:
  ///   - seconds: how long it may take.
  ///   - overrun: called once, from its own thread, with the step that is blocking; not called if
  ///     the stop has ended by then.
  package func stop(
    within seconds: Double, overrun: @escaping @Sendable (StopStage) -> Void
  ) async {
    // Not a task: a blocked step may hold the threads that tasks run on.
    Thread.detachNewThread { [self] in
      Thread.sleep(forTimeInterval: seconds)
      let stage = stopStage ?? .listener
      if stage != .done { overrun(stage) }
    }
    await stop()
  }
}
