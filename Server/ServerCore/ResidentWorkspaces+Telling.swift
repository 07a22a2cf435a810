import QueueModel
import WireProtocol

/// Frames for members of a workspace: presence, durable changes, notifications, statuses of running
/// tasks.
extension ResidentWorkspaces {
  // MARK: - Presence

  func sendPresence(
    to id: ConnectionID, _ connections: inout Connections, _ actions: inout ActionList
  ) {
    guard let workspace = connections[id]?.session?.workspace,
      let presence = self[workspace]?.presence(connected: connections.devices(of: workspace))
    else { return }
    connections.send(presence, to: id, &actions)
  }

  /// Sends presence to all members, if it changed and some time has passed.
  mutating func sendPresenceIfDue(
    of id: WorkspaceID, _ connections: inout Connections, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    guard takePresenceTurn(of: id, hasMembers: connections.hasMembers(of: id), at: now),
      let presence = self[id]?.presence(connected: connections.devices(of: id))
    else { return }
    connections.broadcast(presence, to: connections.members(of: id), &actions)
  }

  // MARK: - Batches

  /// A commit became durable: sends its batches and the changes of inboxes.
  ///
  /// - Returns: the workspaces with new batches, in their order.
  mutating func publish(
    _ commit: CommitInFlight, _ connections: inout Connections, _ actions: inout ActionList,
    at now: ServerTime
  ) -> [WorkspaceID] {
    for (batch, reply) in commit.replies { connections.settle(batch, reply, &actions, at: now) }
    var changed: [WorkspaceID] = []
    var seen: Set<WorkspaceID> = []
    for (batch, entry) in commit.entries {
      if seen.insert(batch.workspace).inserted { changed.append(batch.workspace) }
      publish(batch, entry, &connections, &actions)
    }
    for (workspace, changes) in commit.inboxes {
      publish(changes, of: workspace, &connections, &actions)
    }
    return changed
  }

  /// A commit was not stored, or may not have been.
  mutating func wereLost(_ commit: CommitInFlight) {
    for touch in commit.touches { self.touch(touch.device, of: touch.workspace) }
    for (batch, _) in commit.entries { self[batch.workspace]?.stagedWasLost() }
    for (workspace, _) in commit.records { self[workspace]?.stagedWasLost() }
    for (workspace, _) in commit.inboxes { self[workspace]?.inboxesWereLost() }
  }

  /// A batch became durable: notifies its author, and all other members.
  mutating func publish(
    _ batch: PendingBatch, _ entry: LogEntry, _ connections: inout Connections,
    _ actions: inout ActionList
  ) {
    let (id, prefix, delta) = (batch.workspace, entry.prefix, entry.content.bytes)
    self[id]?.log.becameDurable(entry)
    self[id]?.devices[batch.device]?.wrote(prefix.position)
    touch(batch.device, of: id)
    presenceChanged(in: id)
    if batch.getsOtherStamps {
      connections.settled(batch, &actions)
      connections.send(
        .changes(Changes(batch: batch.batch, prefix: prefix, delta: delta)),
        to: batch.connection, &actions)
    } else {
      connections.acknowledge(batch, at: prefix, &actions)
    }
    // A copied data directory is a second store of the same device: it needs the batch too.
    connections.broadcast(
      .changes(Changes(batch: 0, prefix: prefix, delta: delta)),
      to: connections.members(of: id).filter { $0 != batch.connection }, &actions)
  }

  // MARK: - Notifications

  /// New entries of inboxes are durable: sends them to connected devices.
  mutating func publish(
    _ changes: InboxChanges, of id: WorkspaceID, _ connections: inout Connections,
    _ actions: inout ActionList
  ) {
    self[id]?.inboxes.becameDurable(changes)
    for connection in connections.members(of: id) {
      guard let member = connections[connection]?.member, member.notices != nil else { continue }
      for notification in changes.posted
      where self[id]?.inboxes.holds(notification.position, for: member.session.device) == true {
        connections.tell(notification, isMissed: false, to: connection, &actions)
      }
    }
    if !changes.orders.isEmpty { actions.add(.pushOrdersStored) }
    for change in changes.statuses { show(change, of: id, connections, &actions) }
  }

  /// A connection is up to date: it gets the waiting notifications of its device now, and new ones
  /// as they arrive.
  mutating func beginNotifying(
    _ id: ConnectionID, _ connections: inout Connections, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    guard let member = connections[id]?.member else { return }
    let (workspace, device) = (member.session.workspace, member.session.device)
    connections[id]?.member?.notices = member.notices ?? Member.Notices()
    self[workspace]?.inboxes.connected(device, uptime: now.uptimeMilliseconds)
    // A lost inbox still has what a lost batch removed; it is sent once it is reloaded.
    guard let resident = self[workspace], !resident.inboxes.areLost else { return }
    for notification in resident.inboxes.waiting(for: device) {
      connections.tell(notification, isMissed: true, to: id, &actions)
    }
  }

  /// The inboxes were reloaded: their entries are sent once more; devices know which they have.
  mutating func notifyAnew(
    _ id: WorkspaceID, _ connections: inout Connections, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    for member in connections.members(of: id) where connections[member]?.member?.notices != nil {
      connections[member]?.member?.notices?.wereReadAnew()
      beginNotifying(member, &connections, &actions, at: now)
    }
  }

  /// Time has passed: hands due notifications to the push service, and sends changed statuses.
  mutating func pushDue(
    _ connections: Connections, _ actions: inout ActionList, at now: ServerTime
  ) {
    for id in connections.lookedAtWorkspaces {
      self[id]?.inboxes.lookedAt = now.uptimeMilliseconds
    }
    for id in ids(where: \.inboxes.awaitsPush) {
      self[id]?.inboxes.timePassed(
        Audience(of: id, connections), uptime: now.uptimeMilliseconds)
      if self[id]?.inboxes.hasChanges == true { markReady(id) }
    }
    for id in ids(where: { !$0.liveStatus.isEmpty }) {
      let looking = connections.visibleDevices(of: id)
      for order in self[id]?.liveStatusOrders(looking: looking, at: now) ?? [] {
        actions.add(.liveStatus(order))
      }
      if self[id]?.liveStatus.hasStaged == true { markReady(id) }
    }
  }

  private mutating func show(
    _ change: LiveStatusChange, of id: WorkspaceID, _ connections: Connections,
    _ actions: inout ActionList
  ) {
    let looking = connections.visibleDevices(of: id)
    if let order = self[id]?.order(of: change, looking: looking) {
      actions.add(.liveStatus(order))
    }
  }

  /// A workspace was loaded: some devices may not have been notified of earlier ends.
  mutating func repeatEnds(
    _ ends: [SessionID: Int64], of id: WorkspaceID, _ connections: Connections,
    _ actions: inout ActionList
  ) {
    guard let content = self[id]?.content else { return }
    for (session, at) in ends.sorted(by: { $0.key < $1.key }) {
      show(content.end(of: session, at: at), of: id, connections, &actions)
    }
  }
}
