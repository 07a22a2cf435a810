import ClientCore
import QueueModel
import WireProtocol

extension QueueClient {
  /// Maintains the connection to the server, with reconnections, until the task is cancelled or the
  /// client closed. Then it closes the connection cleanly and returns. Without credentials it waits
  /// for pairing.
  ///
  /// - Throws: `ClientError.locked` if another task already runs it.
  public func run() async throws {
    guard let requests = await engine.beginRunning() else {
      throw ClientError.locked(path: engine.path)
    }
    await withDiscardingTaskGroup { group in
      group.addTask { await self.attachments.keepSyncing() }
      for await id in requests {
        group.addTask { await self.serve(id) }
      }
      await engine.endRunning()
      // The connections are closing, but the sync of the files would continue.
      group.cancelAll()
    }
  }

  /// One connection from its opening to its end.
  private func serve(_ id: TransportID) async {
    guard let server = engine.latest.status.server else { return }
    let transport: Transport
    do {
      transport = Transport(
        address: try ServerAddress(server), certificateFile: configuration.certificateFile,
        proxyVariables: configuration.proxyVariables)
      guard await engine.register(transport, as: id) else { return }
      try await withTaskCancellationHandler {
        try await transport.open()
      } onCancel: {
        // Closing is idempotent; an open socket sends its closing message when the core has
        // stopped.
        transport.abandonOpening()
      }
    } catch {
      let message = "\(error)"
      await engine.note { core, context, _ in
        core.connectionLost(id, message: message, at: context)
      }
      return
    }
    await engine.note { core, context, store in
      core.connectionOpened(id, at: context, store: store)
    }
    await withTaskExecutorPreference(engine.queue) {
      for await incoming in transport.incoming {
        await receive(incoming, on: id, from: transport)
        transport.consumed()
      }
    }
    if !Task.isCancelled {
      let reason = transport.reason
      await engine.note { core, context, _ in
        core.connectionLost(id, message: reason, at: context)
      }
    }
    transport.close()
    await transport.waitUntilClosed()
  }

  /// Frames that arrived together are processed in one turn, so that no observer delays a message
  /// from the permission to start it.
  private func receive(
    _ incoming: [Transport.Incoming], on id: TransportID, from transport: Transport
  ) async {
    var frames: [Frame] = []
    var fault: String?
    for case .message(let bytes) in incoming {
      do {
        frames.append(try FrameCodec.decode(bytes))
      } catch {
        fault = "the server sent a frame that cannot be read: \(error)"
        break
      }
    }
    let received = frames
    await engine.note { core, context, store in
      core.connectionHeard(id, at: context)
      return core.framesReceived(received, on: id, at: context, store: store)
    }
    guard let fault else { return }
    transport.send(FrameCodec.encode(.error(ProtocolFault(code: 1, message: fault))))
    await engine.note { core, context, _ in
      core.connectionLost(id, message: fault, at: context)
    }
  }

  /// Turns sync on or off on this device, also for later runs. Off closes the connection.
  public func setSyncEnabled(_ isOn: Bool) async throws(ClientError) {
    try await engine.submit { core, context, store throws(Replica.Fault) in
      ((), try core.syncSwitched(isOn, at: context, store: store))
    }
  }

  /// Connects at once if the client waits before its next attempt, was refused, or has a slow
  /// attempt.
  public func syncNow() async {
    await engine.note { core, context, _ in core.syncRequested(at: context) }
  }

  /// Returns once the server has everything from this device, also the files of waiting messages,
  /// and this device has everything that the server is known to have.
  ///
  /// - Throws: `.timeout`, `.notPaired`, `.syncDisabled`, `.authentication`, `.refused`, `.closed`.
  public func waitUntilSynced(timeout: Duration) async throws(ClientError) {
    let outcome = await withTaskGroup(of: ClientError?.self) { group in
      group.addTask { await self.outcomeOfSync() }
      group.addTask {
        // Cancelling the sleep also ends the wait.
        try? await Task.sleep(for: timeout)
        return .timeout
      }
      let first = await group.next() ?? .timeout
      group.cancelAll()
      return first
    }
    if let outcome { throw outcome }
  }

  /// Returns nil once everything is in sync.
  private func outcomeOfSync() async -> ClientError? {
    for await status in syncStatusUpdates() {
      if status.synced {
        do throws(ClientError) {
          try await attachments.waitUntilSent()
          return nil
        } catch {
          return error
        }
      }
      switch status.state {
      case .notPaired:
        return .notPaired
      case .disabled:
        return .syncDisabled
      case .refused:
        return ClientError.refusal(
          code: status.refusalCode ?? "refused", message: status.lastError ?? "no reason given")
      case .connecting, .connected, .waiting:
        break
      }
    }
    return .closed
  }
}

extension ClientError {
  /// A refusal as callers see it.
  static func refusal(code: String, message: String) -> ClientError {
    code == "unauthorized" || code == "revoked"
      ? .authentication(message: message) : .refused(code: code, message: message)
  }
}
