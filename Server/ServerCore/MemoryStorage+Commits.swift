import DispatchAuthority
package import QueueModel

/// Commits in memory, and the node of each workspace.
extension MemoryStorage {
  package func take(_ workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    let header = try header(of: workspace)
    let isServed = withState { $0.workspaces[workspace]?.node == node }
    guard header != nil, !isServed else { return header }
    return try write { state in
      state.workspaces[workspace]?.node = node
      state.workspaces[workspace]?.mark = drawMark()
      return state.workspaces[workspace]?.header
    }
  }

  package func marks(
    otherThan known: [WorkspaceID: WorkspaceMark]
  ) throws(StorageFault) -> [WorkspaceID: WorkspaceMark] {
    try read { state in
      var others: [WorkspaceID: WorkspaceMark] = [:]
      for (workspace, mark) in known {
        guard let stored = state.workspaces[workspace]?.mark, stored != mark else { continue }
        others[workspace] = stored
      }
      return others
    }
  }

  package func commit(_ batch: CommitBatch) throws(StorageFault) -> CommitResult {
    try write { state in
      var result = CommitResult()
      state.commits.append(batch.appends.count)
      let changed = batch.changedWorkspaces
      for (workspace, known) in batch.marks.sorted(by: { $0.key < $1.key }) {
        guard let tables = state.workspaces[workspace] else {
          result.lost[workspace] = .deleted
          continue
        }
        guard tables.mark == known else {
          result.lost[workspace] = .changedElsewhere
          continue
        }
        guard changed.contains(workspace) else { continue }
        let fresh = drawMark()
        state.workspaces[workspace]?.mark = fresh
        result.marks[workspace] = fresh
      }
      state.apply(batch) { result.lost[$0] == nil && batch.marks[$0] != nil }
      return result
    }
  }
}

extension MemoryStorage.State {
  fileprivate mutating func apply(_ batch: CommitBatch, where isServed: (WorkspaceID) -> Bool) {
    for (workspace, entry) in batch.appends where isServed(workspace) {
      workspaces[workspace]?.log.append(entry)
      workspaces[workspace]?.written.add(entry.content.bytes.count, at: batch.wallMilliseconds)
    }
    for (workspace, records) in batch.records where isServed(workspace) {
      workspaces[workspace]?.apply(records)
    }
    for (workspace, changes) in batch.inboxes where isServed(workspace) {
      apply(changes, to: workspace)
    }
    for touch in batch.touches where isServed(touch.workspace) {
      workspaces[touch.workspace]?.apply(touch)
    }
  }
}

extension MemoryStorage.Tables {
  fileprivate mutating func apply(_ records: AuthorityRecords) {
    for lease in records.leases { leases[lease.session] = lease }
    for dispatch in records.dispatches { dispatches[dispatch.message] = dispatch }
    for verdict in records.verdicts { verdicts[verdict.request] = verdict }
    if let limit = records.verdictsKeptSince {
      verdicts = verdicts.filter { $0.value.milliseconds >= limit }
    }
  }

  fileprivate mutating func apply(_ touch: DeviceTouch) {
    guard var device = devices[touch.device] else { return }
    device.record.name = touch.name
    device.record.seenLogPosition = max(device.record.seenLogPosition, touch.seenLogPosition)
    device.lastSeenAt = touch.wallMilliseconds
    devices[touch.device] = device
  }
}
