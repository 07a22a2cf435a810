import QueueModel
import WireProtocol

/// Authenticated connections that are not up to date yet. Each waits until its workspace is loaded,
/// or has nothing in flight. Then it is welcomed, or gets the missing part of the log.
///
/// Every wait is for a pending answer of the store, and ends with `resume`.
struct Arrivals: Sendable {
  private let configuration: ServerConfiguration
  /// In order of arrival.
  private var waiting: [WorkspaceID: [ConnectionID]] = [:]
  /// The connections that wait for a state that is being packed.
  private var packing: [PackedState: [ConnectionID]] = [:]

  init(_ configuration: ServerConfiguration) {
    self.configuration = configuration
  }

  func areWaiting(for workspace: WorkspaceID) -> Bool { waiting[workspace]?.isEmpty == false }

  /// Removes and returns the connections that wait for a workspace.
  mutating func takeWaiting(for workspace: WorkspaceID) -> [ConnectionID] {
    waiting.removeValue(forKey: workspace) ?? []
  }

  /// Removes and returns the connections that wait for a packed state.
  mutating func takeWaiting(for state: PackedState) -> [ConnectionID] {
    packing.removeValue(forKey: state) ?? []
  }

  /// A connection has ended, or is being closed.
  mutating func forget(_ id: ConnectionID, of workspace: WorkspaceID) {
    waiting[workspace]?.removeAll { $0 == id }
  }

  /// Adds an authenticated connection to its workspace, or makes it wait until the workspace is
  /// loaded. Sends the whole state to a connection that waited for it.
  mutating func resume(
    _ id: ConnectionID, _ connections: inout Connections,
    _ workspaces: inout ResidentWorkspaces, _ actions: inout ActionList, at now: ServerTime
  ) {
    if connections[id]?.member?.awaitsSnapshot == true {
      sendSnapshot(to: id, &connections, &workspaces, &actions, at: now)
    } else {
      join(id, &connections, &workspaces, &actions, at: now)
    }
  }

  private mutating func join(
    _ id: ConnectionID, _ connections: inout Connections,
    _ workspaces: inout ResidentWorkspaces, _ actions: inout ActionList, at now: ServerTime
  ) {
    guard case .joining(let hello, let session) = connections[id]?.phase else { return }
    let workspace = session.workspace
    guard let resident = workspaces[workspace] else {
      waiting[workspace, default: []].append(id)
      return workspaces.load(workspace, &actions)
    }
    workspaces[workspace]?.usedAt = now.uptimeMilliseconds
    // The load under way may show that the log is longer than the one this device reports.
    if resident.joins.isUnderWay || workspaces.isLoading(workspace) {
      waiting[workspace, default: []].append(id)
      return
    }
    let head = resident.log.head
    let hasAll = hello.prefix == head || hello.prefix.position == 0 && head.position == 0
    guard hasAll || takesTurn(id, session, &connections, &workspaces, &actions, at: now) else {
      return
    }
    welcome(id, session, head, &connections, &workspaces, &actions, at: now)
    if hasAll {
      workspaces[workspace]?.devices[session.device]?.advance(to: head.position)
      workspaces.sendPresence(to: id, &connections, &actions)
      return workspaces.beginNotifying(id, &connections, &actions, at: now)
    }
    // Later frames queue behind those that the device missed.
    connections[id]?.outgoing.hold()
    actions.ask(
      .catchUp(
        CatchUpTask(
          workspace: workspace, start: hello.prefix, end: head, limits: configuration.log)),
      for: .catchUp(id, session))
  }

  /// Whether the device's share allows packing for it; otherwise the connection is refused.
  private func takesTurn(
    _ id: ConnectionID, _ session: Session, _ connections: inout Connections,
    _ workspaces: inout ResidentWorkspaces, _ actions: inout ActionList, at now: ServerTime
  ) -> Bool {
    let isAllowed = workspaces[session.workspace]?.takeCatchUpTurn(
      of: session.device, configuration, at: now)
    if isAllowed == true { return true }
    connections.refuse(
      id, .rateLimited, "the device requests missing changes too often",
      retryAfter: UInt32(clamping: configuration.devices.catchUps.seconds * 1_000), &actions,
      at: now)
    return false
  }

  private func welcome(
    _ id: ConnectionID, _ session: Session, _ head: LogPrefix, _ connections: inout Connections,
    _ workspaces: inout ResidentWorkspaces, _ actions: inout ActionList, at now: ServerTime
  ) {
    connections.welcome(id, session, at: now)
    workspaces.presenceChanged(in: session.workspace)
    workspaces[session.workspace]?.devices[session.device]?.name = session.deviceName
    workspaces.touch(session.device, of: session.workspace)
    actions.add(
      .report(
        .joined(
          id, workspace: session.workspace, device: session.device, name: session.deviceName)))
    // Without this notice, a device assumes that it is a host whose access does not end.
    if session.role != .host || session.expiresAt != nil {
      connections.send(
        .access(AccessNotice(role: session.role, expiresAt: session.expiresAt)), to: id, &actions)
    }
    connections.send(
      .welcome(
        Welcome(
          version: session.version, head: head, nonce: session.nonce,
          serverMilliseconds: now.wallMilliseconds,
          pingSeconds: configuration.advice.pingSeconds,
          backoffMillisecondsMin: configuration.advice.backoffMillisecondsMin)),
      to: id, &actions)
  }

  /// The entries that a device is missing are ready to be sent.
  func caughtUp(
    _ id: ConnectionID, by frames: [[UInt8]], _ connections: inout Connections,
    _ workspaces: inout ResidentWorkspaces, _ actions: inout ActionList, at now: ServerTime
  ) {
    guard let member = connections[id]?.member else { return }
    let session = member.session
    let waiting = connections.missedBytes(of: session.workspace)
    let own = connections.missedBytes(of: session.workspace) { $0.session.device == session.device }
    let bytes = frames.reduce(0) { $0 + $1.count }
    let max = configuration.quota.waitingBytesMax
    // A device that does not read must not block the others.
    guard waiting == 0 || waiting + bytes <= max, own == 0 || own + bytes <= max / 4 else {
      return connections.refuse(
        id, .rateLimited, "too much data waits for devices of the workspace to read it",
        retryAfter: UInt32(clamping: configuration.devices.catchUps.seconds * 1_000), &actions,
        at: now)
    }
    connections[id]?.outgoing.release(frames)
    connections.flush(id, &actions)
    workspaces.sendPresence(to: id, &connections, &actions)
    if member.notices == nil { workspaces.beginNotifying(id, &connections, &actions, at: now) }
  }

  /// A device is missing too much for log entries, or has another log.
  mutating func needsSnapshot(
    _ id: ConnectionID, hasDiverged: Bool, _ connections: inout Connections,
    _ workspaces: inout ResidentWorkspaces, _ actions: inout ActionList, at now: ServerTime
  ) {
    guard connections[id]?.member != nil else { return }
    connections[id]?.member?.hasDiverged = hasDiverged
    connections[id]?.member?.awaitsSnapshot = true
    sendSnapshot(to: id, &connections, &workspaces, &actions, at: now)
  }

  /// Sends the whole state to a connection that needs it, as soon as the content is durable.
  private mutating func sendSnapshot(
    to id: ConnectionID, _ connections: inout Connections,
    _ workspaces: inout ResidentWorkspaces, _ actions: inout ActionList, at now: ServerTime
  ) {
    guard let session = connections[id]?.session, let resident = workspaces[session.workspace]
    else { return }
    guard let content = resident.content, resident.isQuiet, !resident.joins.isUnderWay else {
      waiting[session.workspace, default: []].append(id)
      if resident.content == nil { workspaces.load(session.workspace, &actions) }
      return
    }
    connections[id]?.member?.awaitsSnapshot = false
    // This also applies to a connection that waits for a state being packed: the work of reading
    // its entries was wasted.
    guard takesTurn(id, session, &connections, &workspaces, &actions, at: now) else { return }
    let state = PackedState(workspace: session.workspace, prefix: resident.log.head)
    // The state is packed once for all that wait for it.
    guard packing[state] == nil else {
      packing[state]?.append(id)
      return
    }
    packing[state] = [id]
    actions.ask(
      .packSnapshot(
        content, of: session.workspace, prefix: resident.log.head,
        partBytesMax: configuration.log.partBytesMax),
      for: .packSnapshot(state))
  }
}
