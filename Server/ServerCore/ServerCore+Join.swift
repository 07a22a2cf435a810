import QueueModel
import SequenceCRDT
import WireProtocol

extension ServerCore {
  /// Adds connections to their workspace, or continues those that waited.
  mutating func resume(_ ids: [ConnectionID], at now: ServerTime) {
    for id in ids {
      arrivals.resume(id, &connections, &workspaces, &actions, at: now)
      noteDepartures()
    }
  }

  /// The entries that devices are missing are ready to be sent, or are too many to send.
  mutating func caughtUp(_ ids: [ConnectionID], _ outcome: StoreOutcome, at now: ServerTime) {
    for id in ids where connections[id]?.member != nil {
      switch outcome {
      case .frames(let frames, _):
        arrivals.caughtUp(id, by: frames, &connections, &workspaces, &actions, at: now)
      case .snapshotNeeded(let isPrefix):
        arrivals.needsSnapshot(
          id, hasDiverged: !isPrefix, &connections, &workspaces, &actions, at: now)
      case .failed(let fault):
        storageFailed(fault, at: now)
        refuseForStorage(id, at: now)
      default:
        preconditionFailure("the store answered another question")
      }
      noteDepartures()
    }
  }

  // MARK: - Loading

  /// A workspace was read from the store.
  mutating func loaded(_ id: WorkspaceID, _ outcome: StoreOutcome, at now: ServerTime) {
    workspaces.loadingEnded(id)
    let joins = arrivals.takeWaiting(for: id)
    switch outcome {
    case .workspace(let loaded?):
      storeHealth.wasRead(id)
      look(at: loaded.header.mark, of: id, now)
      if let resident = workspaces[id] {
        let moved = resident.log.head != loaded.header.head
        workspaces[id]?.refresh(from: loaded, at: now)
        if resident.inboxes.areLost {
          workspaces.notifyAnew(id, &connections, &actions, at: now)
          workspaces[id]?.resumeLiveStatus(at: now)
        }
        // An operation that was reported as failed was stored: the members missed it.
        if moved { restartMembers(of: id) }
      } else {
        workspaces[id] = ResidentWorkspace(
          id: id, loaded: loaded, configuration: configuration, at: now)
        workspaces[id]?.resumeLiveStatus(at: now)
        let ends = loaded.header.inboxes.endedStatuses
        workspaces.repeatEnds(ends, of: id, connections, &actions)
      }
      resume(joins, at: now)
      takePosts(of: id)
      joinIfPossible(id, at: now)
      // Saved even without writes: each joined state is an entry as large as all earlier ones.
      if workspaces[id]?.hasLongTail(configuration) == true { saveSnapshotIfDue(id, at: now) }
      workspaces.markReadyIfBusy(id)
      stageCommit(at: now)
    case .workspace(nil):
      for connection in joins + takeOffers(of: id) {
        refuse(connection, .unauthorized, "the workspace no longer exists", at: now)
      }
      refusePosts(of: id, .notAwaited)
      refuseWaiting(of: id, at: now)
    case .failed(let fault):
      storeHealth.failedToRead(id, fault, at: now)
      storageFailed(fault, at: now)
      for connection in joins + takeOffers(of: id) { refuseForStorage(connection, at: now) }
      refusePosts(of: id, .unavailable)
      refuseWaiting(of: id, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  /// The store reported the mark of a workspace.
  mutating func look(at mark: WorkspaceMark, of id: WorkspaceID, _ now: ServerTime) {
    guard let known = workspaces[id]?.mark, known != mark else { return }
    lose(id, .changedElsewhere, at: now)
  }

  /// The store is not as this node left it. The node forgets the workspace, and its members connect
  /// again. Connections that are still being welcomed wait until it is loaded.
  mutating func lose(_ id: WorkspaceID, _ loss: WorkspaceLoss, at now: ServerTime) {
    actions.add(.report(.workspaceLost(id, loss)))
    refuseRequests(of: id)
    withConnections { $0.leave(id, loss, &$1, at: now) }
    workspaces.forget(id)
    if arrivals.areWaiting(for: id) { workspaces.load(id, &actions) }
  }

  mutating func restartMembers(of id: WorkspaceID) {
    for member in connections.members(of: id) {
      close(member, .serviceRestart, "connect again to catch up")
    }
  }

  /// Continues connections that waited for the content to be durable.
  mutating func resumeJoins(of id: WorkspaceID, at now: ServerTime) {
    guard !workspaces.isLoading(id), workspaces[id]?.joins.isUnderWay != true else { return }
    resume(arrivals.takeWaiting(for: id), at: now)
  }
}
