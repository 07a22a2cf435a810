package import QueueModel

/// Notifications in memory.
extension MemoryStorage {
  package func workspacesWithUnpushed() throws(StorageFault) -> [WorkspaceID] {
    try read { state in
      state.workspaces.filter { _, tables in
        guard tables.node == node || !state.livingNodes.contains(tables.node) else { return false }
        let records = tables.inboxesOfConnectable
        let pushable = Set(
          records.targets.filter { $0.isValid && $0.takesNotices }.map(\.device))
        return !records.statuses.isEmpty || !records.endedStatuses.isEmpty
          || records.entries.contains {
            !$0.isPushed && !$0.isAcknowledged && pushable.contains($0.device)
          }
      }.keys.sorted()
    }
  }

  /// Open push orders after a number, in order, at most `limit`.
  package func pushOrders(
    after number: Int64, limit: Int
  ) throws(StorageFault) -> [StoredPushOrder] {
    try read { Array($0.pushOrders.filter { $0.number > number }.prefix(limit)) }
  }

  /// Removes completed push orders.
  package func removePushOrders(_ numbers: [Int64]) throws(StorageFault) {
    try write { state in state.pushOrders.removeAll { numbers.contains($0.number) } }
  }
}

extension MemoryStorage.State {
  mutating func apply(_ changes: InboxChanges, to workspace: WorkspaceID) {
    workspaces[workspace]?.inboxes.apply(changes)
    for order in changes.orders {
      lastPushOrder += 1
      pushOrders.append(
        StoredPushOrder(number: lastPushOrder, workspace: workspace, order: order))
    }
  }
}

extension MemoryStorage.Tables {
  /// The records without those of devices that may no longer connect.
  var inboxesOfConnectable: InboxRecords {
    var records = inboxes
    let isConnectable = { (device: DeviceID) in devices[device]?.isRevoked == false }
    records.entries.removeAll { $0.device != .person && !isConnectable($0.device) }
    records.targets.removeAll { !isConnectable($0.setBy) }
    return records
  }
}

extension InboxRecords {
  mutating func forget(_ device: DeviceID) {
    entries.removeAll { $0.device == device }
    targets.removeAll { $0.setBy == device }
    preferences[device] = nil
    let positions = Set(entries.map(\.position))
    notifications.removeAll { !positions.contains($0.position) }
  }

  mutating func apply(_ changes: InboxChanges) {
    notifications += changes.posted
    lastPosition = max(lastPosition, changes.posted.last?.position ?? 0)
    for entry in changes.entries {
      entries.removeAll { $0.device == entry.device && $0.position == entry.position }
      entries.append(entry)
    }
    for entry in changes.removed {
      entries.removeAll { $0.device == entry.device && $0.position == entry.position }
    }
    let positions = Set(entries.map(\.position))
    notifications.removeAll { !positions.contains($0.position) }
    preferences.merge(changes.preferences) { $1 }
    for change in changes.targets {
      switch change {
      case .set(let target):
        targets.removeAll { $0.device == target.device && $0.id == target.id }
        targets.append(target)
      case .remove(let device, let id):
        targets.removeAll { $0.device == device && $0.id == id }
      }
    }
    for (session, status) in changes.shown {
      // Memory has no push service, so no device would be notified of an end.
      if case .since(let start) = status {
        statuses[session] = start
      } else {
        statuses[session] = nil
      }
    }
  }
}
