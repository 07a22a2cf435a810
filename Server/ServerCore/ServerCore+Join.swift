import QueueModel
import SequenceCRDT
import WireProtocol

extension ServerCore {
  /// Brings an authenticated connection into its workspace, or lets it wait until that is read.
  mutating func join(_ id: ConnectionID, at now: Moment) {
    guard case .joining(let hello, let session) = connections[id]?.phase else { return }
    let workspace = session.workspace
    guard let resident = workspaces[workspace] else {
      waitingJoins[workspace, default: []].append(id)
      load(workspace)
      return
    }
    workspaces[workspace]?.usedAt = now.uptimeMilliseconds
    if let mark = resident.marks[hello.replica], mark.device != session.device {
      return refuse(
        id, .foreignReplica, "the replica id belongs to another device: take a new one", at: now)
    }
    guard let standing = compare(hello, with: resident) else {
      return refuse(
        id, .fork, "the replica's operations differ from the stored ones: take a new replica id",
        at: now)
    }
    let missing = resident.committed.ranges(missingFrom: standing.vector)
    let lacking = missing.reduce(0) { $0 + $1.count }
    // The log no longer holds what the base does.
    let hasBase = standing.vector.includes(resident.floor)
    let isNext =
      hello.epoch != EpochName.none
      && EpochName.count(hello.epoch) + 1 == EpochName.count(resident.epoch)
    let wantsSnapshot =
      standing.wantsRepair || lacking > configuration.catchUpOperationsMax || !hasBase
      || hello.epoch != resident.epoch && !isNext
    if resident.compaction.isUnderWay
      || wantsSnapshot && (resident.content == nil || !resident.isQuiet)
    {
      waitingJoins[workspace, default: []].append(id)
      if resident.content == nil { load(workspace) }
      return
    }
    welcome(id, session, at: now)
    if lacking == 0 {
      workspaces[workspace]?.devices[session.device]?.advance(to: resident.head)
    }
    if !wantsSnapshot, isNext { send(.compact(resident.start), to: id) }
    if wantsSnapshot, let content = resident.content {
      catchUp(
        id,
        .snapshot(
          content, epoch: resident.epoch, position: resident.head,
          partBytesMax: partBytesMax(session)))
    } else if !missing.isEmpty {
      catchUp(
        id,
        .delta(workspace, missing, position: resident.head, partBytesMax: partBytesMax(session)))
    } else {
      sendPresence(to: id)
      beginNotifying(id, at: now)
    }
  }

  private func partBytesMax(_ session: Session) -> Int {
    min(configuration.partBytesMax, session.frameBytesMax - CatchUp.frameOverheadBytes)
  }

  /// Compares what a client says it knows with what is durable.
  ///
  /// - Returns: nil where the client's own replica differs. In another epoch that may be because
  ///   operations were made to fit it; the client finds out when it takes over the base.
  private func compare(
    _ hello: Hello, with resident: ResidentWorkspace
  ) -> (vector: VersionVector, wantsRepair: Bool)? {
    var vector = VersionVector()
    var wantsRepair = false
    for entry in hello.known {
      vector[entry.replica] = max(vector[entry.replica], entry.seq)
      guard let mark = resident.marks[entry.replica], mark.seq == entry.seq,
        mark.digest != entry.digest
      else { continue }
      if entry.replica == hello.replica {
        if hello.epoch == resident.epoch { return nil }
      } else {
        wantsRepair = true
      }
    }
    return (vector, wantsRepair)
  }

  private mutating func welcome(_ id: ConnectionID, _ session: Session, at now: Moment) {
    guard let resident = workspaces[session.workspace] else { return }
    connections[id]?.phase = .joined(session)
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
          version: ProtocolVersion.current, epoch: resident.epoch, known: resident.known,
          logPosition: resident.head, logIdentity: resident.logIdentity,
          serverMilliseconds: now.wallMilliseconds,
          frameBytesMax: UInt32(clamping: min(session.frameBytesMax, WireLimits.frameBytesMax)),
          pingSeconds: configuration.pingSeconds,
          backoffMillisecondsMin: configuration.backoffMillisecondsMin)),
      to: id)
  }

  /// Lets a task put together what a device lacks; what happens meanwhile queues behind it.
  private mutating func catchUp(_ id: ConnectionID, _ task: CatchUpTask) {
    connections[id]?.outgoing.hold()
    ask(.catchUp(task), for: .catchUp(id))
  }

  /// What a device lacks is ready to be sent.
  mutating func caughtUp(_ id: ConnectionID, _ outcome: StoreOutcome, at now: Moment) {
    guard let connection = connections[id], connection.session != nil else { return }
    switch outcome {
    case .frames(let frames):
      connections[id]?.outgoing.release(frames)
      flush(id)
      sendPresence(to: id)
      if !connection.takesNotifications { beginNotifying(id, at: now) }
    case .failed(let fault):
      storageFailed(fault, at: now)
      refuseForStorage(id, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  /// A client asked for operations it lacks.
  mutating func asked(
    _ connection: Connection, _ session: Session, for ranges: [OperationRange], at now: Moment
  ) {
    // A client that is being caught up gets them anyway.
    guard let resident = workspaces[session.workspace], !connection.outgoing.isHeld else { return }
    guard ranges.allSatisfy({ $0.first > resident.floor[$0.replica] }) else {
      return refuse(
        connection.id, .limitReached, "the log no longer holds that: connect again to catch up",
        retryAfter: 1_000, at: now)
    }
    let stored = ranges.compactMap { range in
      let last = min(range.last, resident.committed[range.replica])
      return range.first <= last
        ? OperationRange(replica: range.replica, first: range.first, last: last) : nil
    }
    guard !stored.isEmpty else { return }
    guard stored.reduce(0, { $0 + $1.count }) <= configuration.catchUpOperationsMax,
      stored.count <= configuration.replicasMax
    else {
      return refuse(
        connection.id, .limitReached, "too many operations at once: connect again to catch up",
        retryAfter: 1_000, at: now)
    }
    catchUp(
      connection.id,
      .delta(session.workspace, stored, position: 0, partBytesMax: partBytesMax(session)))
  }

  // MARK: - Loading

  mutating func load(_ workspace: WorkspaceID) {
    guard loading.insert(workspace).inserted else { return }
    ask(.load(workspace), for: .load(workspace))
  }

  /// A workspace was read from the store.
  mutating func loaded(_ id: WorkspaceID, _ outcome: StoreOutcome, at now: Moment) {
    loading.remove(id)
    let joins = waitingJoins.removeValue(forKey: id) ?? []
    switch outcome {
    case .workspace(let loaded?):
      damagedAt[id] = nil
      if let resident = workspaces[id] {
        let moved =
          resident.head != loaded.header.head || resident.epoch != loaded.header.epoch
        workspaces[id]?.refresh(from: loaded, at: now)
        if resident.bookIsLost {
          notifyAnew(id, at: now)
          resumeLiveStatus(of: id, at: now)
        }
        // What was reported as failed got through: the members missed it.
        if moved { restartMembers(of: id) }
      } else {
        workspaces[id] = ResidentWorkspace(
          id: id, loaded: loaded, configuration: configuration, at: now)
        resumeLiveStatus(of: id, at: now)
        repeatEnds(loaded.header.inboxes.endedStatuses, of: id)
      }
      if let request = requestedCompactions.removeValue(forKey: id) {
        workspaces[id]?.compaction.request = request
      }
      for connection in joins { join(connection, at: now) }
      takePosts(of: id)
      adoptIfPossible(id, at: now)
      compactIfDue(id, at: now)
      if workspaces[id]?.hasWork == true { markReady(id) }
      stageCommit(at: now)
    case .workspace(nil):
      requestedCompactions[id] = nil
      for connection in joins {
        refuse(connection, .unauthorized, "there is no such workspace any longer", at: now)
      }
      refusePosts(of: id, .notAwaited)
      refuseInbox(of: id, at: now)
    case .failed(let fault):
      if fault.code == .corrupt { damagedAt[id] = now.uptimeMilliseconds }
      storageFailed(fault, at: now)
      for connection in joins { refuseForStorage(connection, at: now) }
      refusePosts(of: id, .unavailable)
      refuseInbox(of: id, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  /// Whether a workspace was found damaged a short while ago: then it is left alone unless somebody
  /// asks for it.
  func isKnownDamaged(_ id: WorkspaceID, at now: Moment) -> Bool {
    isRecent(damagedAt[id], at: now)
  }

  func isRecent(_ damage: Int64?, at now: Moment) -> Bool {
    damage.map { now.uptimeMilliseconds - $0 < configuration.damageRetryMilliseconds } ?? false
  }

  private mutating func restartMembers(of id: WorkspaceID) {
    for member in (workspaces[id]?.members ?? []).sorted() {
      close(member, .serviceRestart, "connect again to catch up")
    }
  }

  /// Lets those join who waited for the content to be durable.
  mutating func resumeJoins(of id: WorkspaceID, at now: Moment) {
    guard !loading.contains(id), workspaces[id]?.compaction.isUnderWay != true,
      let joins = waitingJoins.removeValue(forKey: id)
    else { return }
    for connection in joins { join(connection, at: now) }
  }

  // MARK: - Leaving

  /// A connection of a workspace is gone.
  mutating func left(_ id: ConnectionID, _ session: Session, at now: Moment) {
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
  mutating func sendDuePresence(at now: Moment) {
    for id in presenceDue.sorted() { sendPresenceIfDue(of: id, at: now) }
  }

  mutating func sendPresenceIfDue(of id: WorkspaceID, at now: Moment) {
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
