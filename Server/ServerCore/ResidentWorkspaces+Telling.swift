import QueueModel
import WireProtocol

/// What members of a workspace are told: who is there, what became durable, what waits in their inboxes, what
/// is shown of running tasks.
extension ResidentWorkspaces {
  // MARK: - Presence

  func tellPresence(
    to id: ConnectionID, _ connections: inout Connections, _ actions: inout ActionList
  ) {
    guard let workspace = connections[id]?.session?.workspace,
      let presence = self[workspace]?.presence(connected: connections.devices(of: workspace))
    else { return }
    connections.send(presence, to: id, &actions)
  }

  /// Tells all members who is there and how far, if that changed and some time has passed.
  mutating func tellPresenceIfDue(
    of id: WorkspaceID, _ connections: inout Connections, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    guard takePresenceTurn(of: id, hasMembers: connections.hasMembers(of: id), at: now),
      let presence = self[id]?.presence(connected: connections.devices(of: id))
    else { return }
    connections.broadcast(presence, to: connections.members(of: id), &actions)
  }

  // MARK: - Batches

  /// A batch became durable: tell its author, and everybody else.
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

  /// What was put into inboxes is durable: tells those that are there.
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

  /// A connection has everything up to the present: it gets what waited for its device, and from
  /// now on what comes.
  mutating func beginNotifying(
    _ id: ConnectionID, _ connections: inout Connections, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    guard let member = connections[id]?.member else { return }
    let (workspace, device) = (member.session.workspace, member.session.device)
    connections[id]?.member?.notices = member.notices ?? Member.Notices()
    self[workspace]?.inboxes.connected(device, uptime: now.uptimeMilliseconds)
    // What was lost lacks what a lost batch had settled: it is told once the inboxes are read again.
    guard let resident = self[workspace], !resident.inboxes.areLost else { return }
    for notification in resident.inboxes.waiting(for: device) {
      connections.tell(notification, isMissed: true, to: id, &actions)
    }
  }

  /// The inboxes were read again: what is there is told once more; devices know what they have.
  mutating func notifyAnew(
    _ id: WorkspaceID, _ connections: inout Connections, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    for member in connections.members(of: id) where connections[member]?.member?.notices != nil {
      connections[member]?.member?.notices?.wereReadAnew()
      beginNotifying(member, &connections, &actions, at: now)
    }
  }

  /// Time has passed: gives to the push service what is due, and tells what changed of what is shown.
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

  /// A workspace came into memory: somebody may not have been told yet of what had ended before.
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
