import QueueModel
import SequenceCRDT
import WireProtocol

extension ServerCore {
  /// Brings an authenticated connection into its workspace, or lets it wait until that is read.
  mutating func join(_ id: ConnectionID, at now: ServerTime) {
    guard case .joining(let hello, let session) = connections[id]?.phase else { return }
    let workspace = session.workspace
    guard let resident = workspaces[workspace] else {
      waitingJoins[workspace, default: []].append(id)
      load(workspace)
      return
    }
    workspaces[workspace]?.usedAt = now.uptimeMilliseconds
    // What is being read may show that the log is longer than it was told here.
    if resident.isJoining || loading.contains(workspace) {
      waitingJoins[workspace, default: []].append(id)
      return
    }
    welcome(id, session, at: now)
    let head = resident.head
    guard hello.prefix != head, hello.prefix.position > 0 || head.position > 0 else {
      workspaces[workspace]?.devices[session.device]?.advance(to: head.position)
      sendPresence(to: id)
      return beginNotifying(id, at: now)
    }
    // What happens meanwhile queues behind what the device lacks.
    connections[id]?.outgoing.hold()
    ask(
      .catchUp(
        CatchUpTask(
          workspace: workspace, start: hello.prefix, end: head,
          entriesMax: configuration.catchUpEntriesMax, partBytesMax: configuration.partBytesMax)),
      for: .catchUp(id))
  }

  /// Sends the whole state to a connection that lacks too much of it for entries of the log, as soon
  /// as the content is what is durable.
  private mutating func sendSnapshot(to id: ConnectionID, at now: ServerTime) {
    guard let session = connections[id]?.session, let resident = workspaces[session.workspace]
    else { return }
    guard let content = resident.content, resident.isQuiet, !resident.isJoining else {
      waitingJoins[session.workspace, default: []].append(id)
      if resident.content == nil { load(session.workspace) }
      return
    }
    connections[id]?.awaitsSnapshot = false
    let state = PackedState(workspace: session.workspace, prefix: resident.head)
    // One packing for all who wait for the same.
    guard packing[state] == nil else {
      packing[state]?.append(id)
      return
    }
    guard
      workspaces[session.workspace]?.takeSnapshotTurn(of: session.device, configuration, at: now)
        == true
    else {
      return refuse(
        id, .rateLimited, "the device asks for the whole state too often",
        retryAfter: UInt32(clamping: configuration.snapshots.seconds * 1_000), at: now)
    }
    packing[state] = [id]
    ask(
      .packSnapshot(content, prefix: resident.head, partBytesMax: configuration.partBytesMax),
      for: .packSnapshot(state))
  }

  /// A state is packed for all who wait for it.
  mutating func packed(_ state: PackedState, _ outcome: StoreOutcome, at now: ServerTime) {
    for id in packing.removeValue(forKey: state) ?? [] { caughtUp(id, outcome, at: now) }
  }

  private mutating func welcome(_ id: ConnectionID, _ session: Session, at now: ServerTime) {
    guard let resident = workspaces[session.workspace] else { return }
    connections[id]?.phase = .joined(session.welcomed(at: now))
    workspaces[session.workspace]?.members.insert(id)
    presenceDue.insert(session.workspace)
    workspaces[session.workspace]?.devices[session.device]?.name = session.deviceName
    touch(session.device, of: session.workspace)
    act(
      .report(
        .joined(
          id, workspace: session.workspace, device: session.device, name: session.deviceName)))
    send(
      .welcome(
        Welcome(
          version: session.version, head: resident.head, nonce: session.nonce,
          serverMilliseconds: now.wallMilliseconds,
          pingSeconds: configuration.pingSeconds,
          backoffMillisecondsMin: configuration.backoffMillisecondsMin)),
      to: id)
  }

  /// What a device lacks is ready to be sent.
  mutating func caughtUp(_ id: ConnectionID, _ outcome: StoreOutcome, at now: ServerTime) {
    guard let connection = connections[id], connection.session != nil else { return }
    switch outcome {
    case .frames(let frames):
      connections[id]?.outgoing.release(frames)
      flush(id)
      sendPresence(to: id)
      if !connection.takesNotifications { beginNotifying(id, at: now) }
    case .snapshotNeeded(let isPrefix):
      guard case .joined(var session) = connection.phase else { return }
      session.hasDiverged = !isPrefix
      connections[id]?.phase = .joined(session)
      connections[id]?.awaitsSnapshot = true
      sendSnapshot(to: id, at: now)
    case .failed(let fault):
      storageFailed(fault, at: now)
      refuseForStorage(id, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  // MARK: - Loading

  mutating func load(_ workspace: WorkspaceID) {
    guard loading.insert(workspace).inserted else { return }
    ask(.load(workspace), for: .load(workspace))
  }

  /// A workspace was read from the store.
  mutating func loaded(_ id: WorkspaceID, _ outcome: StoreOutcome, at now: ServerTime) {
    loading.remove(id)
    let joins = waitingJoins.removeValue(forKey: id) ?? []
    switch outcome {
    case .workspace(let loaded?):
      storeHealth.wasRead(id)
      if let resident = workspaces[id] {
        let moved = resident.head != loaded.header.head
        workspaces[id]?.refresh(from: loaded, at: now)
        if resident.inboxesAreLost {
          notifyAnew(id, at: now)
          workspaces[id]?.resumeLiveStatus(at: now)
        }
        // What was reported as failed got through: the members missed it.
        if moved { restartMembers(of: id) }
      } else {
        workspaces[id] = ResidentWorkspace(
          id: id, loaded: loaded, configuration: configuration, at: now)
        workspaces[id]?.resumeLiveStatus(at: now)
        repeatEnds(loaded.header.inboxes.endedStatuses, of: id)
      }
      for connection in joins { resume(connection, at: now) }
      takePosts(of: id)
      joinIfPossible(id, at: now)
      if workspaces[id]?.hasWork == true { markReady(id) }
      stageCommit(at: now)
    case .workspace(nil):
      for connection in joins + takeOffers(of: id) {
        refuse(connection, .unauthorized, "there is no such workspace any longer", at: now)
      }
      refusePosts(of: id, .notAwaited)
      refuseInbox(of: id, at: now)
    case .failed(let fault):
      storeHealth.failedToRead(id, fault, at: now)
      storageFailed(fault, at: now)
      for connection in joins + takeOffers(of: id) { refuseForStorage(connection, at: now) }
      refusePosts(of: id, .unavailable)
      refuseInbox(of: id, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  mutating func restartMembers(of id: WorkspaceID) {
    for member in (workspaces[id]?.members ?? []).sorted() {
      close(member, .serviceRestart, "connect again to catch up")
    }
  }

  /// Goes on with those who waited for the content to be durable.
  mutating func resumeJoins(of id: WorkspaceID, at now: ServerTime) {
    guard !loading.contains(id), workspaces[id]?.isJoining != true,
      let joins = waitingJoins.removeValue(forKey: id)
    else { return }
    for connection in joins { resume(connection, at: now) }
  }

  private mutating func resume(_ id: ConnectionID, at now: ServerTime) {
    guard connections[id]?.awaitsSnapshot == true else { return join(id, at: now) }
    sendSnapshot(to: id, at: now)
  }

  // MARK: - Leaving

  /// A connection of a workspace is gone.
  mutating func left(_ id: ConnectionID, _ session: Session, at now: ServerTime) {
    forget(id, session)
    workspaces[session.workspace]?.usedAt = now.uptimeMilliseconds
  }

  /// Takes a connection out of its workspace.
  mutating func forget(_ id: ConnectionID, _ session: Session) {
    waitingJoins[session.workspace]?.removeAll { $0 == id }
    workspaces[session.workspace]?.endStanding(of: id)
    if workspaces[session.workspace]?.members.remove(id) != nil {
      presenceDue.insert(session.workspace)
      touch(session.device, of: session.workspace)
    }
  }

  // MARK: - Presence

  private func presence(of resident: ResidentWorkspace) -> Frame {
    let connected = Set(resident.members.compactMap { connections[$0]?.session?.device })
    return .presence(
      resident.devices.sorted { $0.key < $1.key }.map { id, device in
        DevicePresence(
          device: id, name: device.name, isConnected: connected.contains(id),
          seenLogPosition: device.seen)
      })
  }

  private mutating func sendPresence(to id: ConnectionID) {
    guard let session = connections[id]?.session, let resident = workspaces[session.workspace]
    else { return }
    send(presence(of: resident), to: id)
  }

  /// Tells all members who is there and how far, where that changed.
  ///
  /// - Complexity: O(workspaces where it changed). What happens in one workspace calls
  ///   `sendPresenceIfDue`.
  mutating func sendDuePresence(at now: ServerTime) {
    for id in presenceDue.sorted() { sendPresenceIfDue(of: id, at: now) }
  }

  mutating func sendPresenceIfDue(of id: WorkspaceID, at now: ServerTime) {
    guard presenceDue.contains(id) else { return }
    guard let sentAt = workspaces[id]?.presenceSentAt else {
      presenceDue.remove(id)
      return
    }
    guard now.uptimeMilliseconds - sentAt >= configuration.presenceMilliseconds,
      let resident = workspaces[id], !resident.members.isEmpty
    else { return }
    presenceDue.remove(id)
    workspaces[id]?.presenceSentAt = now.uptimeMilliseconds
    broadcast(FrameCodec.encode(presence(of: resident)), to: resident.members.sorted())
  }

  /// A device's row in the store is to be written with the next commit.
  mutating func touch(_ device: DeviceID, of workspace: WorkspaceID) {
    workspaces[workspace]?.devices[device]?.needsTouch = true
    touchesDue.insert(workspace)
  }
}

extension ResidentWorkspace {
  /// Packing is dear, and a device may ask for it again and again without reading the answer.
  fileprivate mutating func takeSnapshotTurn(
    of device: DeviceID, _ configuration: ServerConfiguration, at now: ServerTime
  ) -> Bool {
    let (seconds, uptime) = (configuration.snapshots.seconds, now.uptimeMilliseconds)
    var bucket =
      devices[device]?.snapshots
      ?? TokenBucket(
        perSecond: 1, burst: Int64(configuration.snapshots.burst * seconds),
        uptimeMilliseconds: uptime)
    bucket.spend(seconds, uptimeMilliseconds: uptime)
    guard !bucket.isEmpty else { return false }
    devices[device]?.snapshots = bucket
    return true
  }
}
