import ClientCore
public import QueueModel

/// Why a thread's lock no longer has a reason.
public enum LiftedLock: Hashable, Sendable {
  /// No device runs the session, and no agent works in it.
  case noHost
  /// This device runs the session, and has no agent for it.
  case noAgent
  /// The device that runs it is not connected.
  case hostAway(DeviceID)
  /// Its queue is stopped until a user decides.
  case stopped
  /// Its next message was merged from independent saves, and needs a check.
  case merged
  /// The same, and its queue is also paused: nothing starts even after the check.
  case paused
  /// No message waits, and no agent works.
  case nothingWaits
}

extension ThreadQueueView {
  /// The queue that also shows the threads whose locks no longer count.
  public func showing(_ lifted: some Sequence<SessionID>) -> ThreadQueueView {
    let shown = Set(lifted)
    var view = self
    for index in view.threads.indices where shown.contains(view.threads[index].session) {
      view.threads[index].locked = false
    }
    return view
  }
}

extension ClientThreads {
  /// The thread queue now. A thread is locked while its agent works or is about to; if the agent
  /// cannot work, the thread is visible.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if the store cannot be read, `.closed`.
  public func queue() async throws(ClientError) -> ThreadQueueView {
    client.workspace().threadQueue().showing(try await liftedLocks().keys)
  }

  /// The threads whose locks no longer count (S2-54), with the reason. The locks end when the agent
  /// has finished its work, or when a user removes them.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if the store cannot be read, `.closed`.
  public func liftedLocks() async throws(ClientError) -> [SessionID: LiftedLock] {
    let workspace = client.workspace()
    let kinds = await client.execution.agentKinds()
    let sync = client.syncStatus()
    // A device that is not connected itself does not know the state of others.
    let devices = sync.state == .connected ? sync.devices : []
    let away = Set(devices.lazy.filter { !$0.connected && $0.id != client.deviceID }.map(\.id))
    var lifted: [SessionID: LiftedLock] = [:]
    for thread in workspace.threadQueue().threads where thread.locked {
      guard let session = workspace.session(thread.session) else { continue }
      lifted[session.id] =
        lift(of: session, kinds[session.id] ?? client.settings.agents.kind, away: away)
        ?? standstill(of: session, workspace)
    }
    return lifted
  }

  private func standstill(of session: SessionView, _ workspace: Workspace) -> LiftedLock? {
    if session.task?.status.kind.isUnderWay == true { return nil }
    guard session.waiting > 0 else { return .nothingWaits }
    let queue = try? workspace.messageQueue(session.id)
    if queue?.currentError != nil { return .stopped }
    guard let next = queue?.messages.first, workspace.waitsForChoice(next.id) else { return nil }
    return session.paused ? .paused : .merged
  }

  private func lift(
    of session: SessionView, _ kind: AgentKind, away: Set<DeviceID>
  ) -> LiftedLock? {
    if let host = session.host, away.contains(host) { return .hostAway(host) }
    // A user works with an agent at its own prompt.
    if session.task?.status.kind.isUnderWay == true { return nil }
    switch session.host {
    case nil: return .noHost
    case client.deviceID where kind == AgentKind.none: return .noAgent
    case _?: return nil
    }
  }
}
