package import QueueModel
package import SequenceCRDT
import WireProtocol

/// Work done away from the event loop: the store's, and packing that would hold up the loop.
package enum StoreTask: Sendable {
  case authenticate(tokenHash: [UInt8])
  case redeem(CodeRedemption)
  case findLapsed([ConnectedToken])
  case load(WorkspaceID)
  case compare(WorkspaceID, [Operation])
  case catchUp(CatchUpTask)
  case commit(CommitBatch)
  case saveSnapshot(WorkspaceID, Workspace, position: UInt64)
  /// Compacts the state at a position and starts an epoch with it.
  case startEpoch(WorkspaceID, Workspace, previous: UInt64, position: UInt64)
  /// Takes a device's state over.
  case adopt(AdoptionTask)
  case findCompactions(operationsMin: Int, waiting: Set<WorkspaceID>)
  case findUnpushed
  case probe
}

/// What a device lacks, to be packed into frames.
package enum CatchUpTask: Sendable {
  /// The operations of the ranges; `position` is the log position they bring the device to.
  case delta(WorkspaceID, [OperationRange], position: UInt64, partBytesMax: Int)
  /// The whole state at a position.
  case snapshot(Workspace, epoch: UInt64, position: UInt64, partBytesMax: Int)
}

/// What became of a task.
package enum StoreOutcome: Sendable {
  case token(TokenRecord?)
  case redemption(RedemptionOutcome)
  case lapsed(LapsedAccess)
  /// nil where there is no such workspace.
  case workspace(LoadedWorkspace?)
  case comparison(OperationComparison)
  case frames([[UInt8]])
  case committed
  case snapshotSaved(bytes: Int)
  case epochStarted(StartedEpoch)
  /// nil where it was done, else why not.
  case adopted(AdoptionRefusal?)
  case compactions([CompactionCandidate])
  /// Workspaces in which something is still to be pushed.
  case unpushed([WorkspaceID])
  case probed
  case failed(StorageFault)
}

/// A workspace read from the store.
package struct LoadedWorkspace: Sendable {
  package var header: WorkspaceHeader
  package var workspace: Workspace
  /// Log entries after the latest snapshot, and their bytes.
  package var tailEntries: Int
  package var tailBytes: Int
  package var snapshotBytes: Int
}

/// Whether operations that the server knows already are the same there.
package enum OperationComparison: Hashable, Sendable {
  /// They are; the last of them lies at this log position.
  case same(position: UInt64)
  /// The first replica whose operations differ.
  case different(ReplicaID)
}

extension ServerStorage {
  /// Does a task; called on the store's thread.
  package func perform(_ task: StoreTask) -> StoreOutcome {
    do throws(StorageFault) {
      switch task {
      case .authenticate(let hash):
        return .token(try token(hash: hash))
      case .redeem(let redemption):
        return .redemption(try redeem(redemption))
      case .findLapsed(let tokens):
        return .lapsed(try lapsedAccess(among: tokens))
      case .load(let workspace):
        return .workspace(try load(workspace))
      case .compare(let workspace, let operations):
        return .comparison(try compare(operations, in: workspace))
      case .catchUp(.delta(let workspace, let ranges, let position, let partBytesMax)):
        let entries = try entries(of: workspace, overlapping: ranges)
        return .frames(
          try CatchUp.frames(
            for: ranges, in: entries, position: position, partBytesMax: partBytesMax))
      case .catchUp(.snapshot(let workspace, let epoch, let position, let partBytesMax)):
        let bytes = PackedSnapshot.pack(workspace.image())
        return .frames(
          CatchUp.frames(
            forSnapshot: bytes, epoch: epoch, position: position, partBytesMax: partBytesMax))
      case .commit(let batch):
        try commit(batch)
        return .committed
      case .saveSnapshot(let id, let workspace, let position):
        let bytes = PackedSnapshot.pack(workspace.image())
        try save(StoredSnapshot(position: position, bytes: bytes), of: id)
        return .snapshotSaved(bytes: bytes.count)
      case .startEpoch(let id, let workspace, let previous, let position):
        return .epochStarted(
          try startEpoch(of: id, with: workspace, after: previous, at: position))
      case .adopt(let task):
        return .adopted(try adopt(task))
      case .findCompactions(let operationsMin, let waiting):
        return .compactions(
          try compactionCandidates(operationsMin: operationsMin, waiting: waiting))
      case .findUnpushed:
        return .unpushed(try workspacesWithUnpushed())
      case .probe:
        try probe()
        return .probed
      }
    } catch {
      return .failed(error)
    }
  }

  /// Reads a workspace.
  ///
  /// Another process may begin an epoch between two readings. Then the log that the header spoke of is
  /// gone, and a fresh look finds what is there now.
  private func load(_ id: WorkspaceID) throws(StorageFault) -> LoadedWorkspace? {
    guard var header = try header(of: id) else { return nil }
    while true {
      do {
        return try load(id, as: header)
      } catch {
        guard let now = try self.header(of: id) else { return nil }
        guard now.epoch != header.epoch || now.basePosition != header.basePosition else {
          throw error
        }
        header = now
      }
    }
  }

  /// Reads the latest snapshot and the log after it, or, where the snapshot does not lead to what the
  /// log says, the epoch's base and the whole log.
  private func load(
    _ id: WorkspaceID, as header: WorkspaceHeader
  ) throws(StorageFault) -> LoadedWorkspace {
    if let snapshot = try latestSnapshot(of: id), snapshot.position <= header.head,
      snapshot.position >= header.basePosition,
      // A snapshot that cannot be read is no loss: the log holds everything.
      let image = try? PackedSnapshot.unpack(snapshot.bytes),
      let base = try? Workspace(image: image)
    {
      var loaded = LoadedWorkspace(
        header: header, workspace: base, tailEntries: 0, tailBytes: 0,
        snapshotBytes: snapshot.bytes.count)
      if try replay(id, after: snapshot.position, into: &loaded) == nil { return loaded }
    }
    var loaded = LoadedWorkspace(
      header: header, workspace: Workspace(), tailEntries: 0, tailBytes: 0, snapshotBytes: 0)
    if header.epoch != EpochName.none {
      guard let base = try base(of: id), let image = try? PackedSnapshot.unpack(base.bytes),
        let workspace = try? Workspace(image: image)
      else {
        throw StorageFault(
          code: .corrupt, message: "the base of workspace \(id) cannot be read")
      }
      loaded.workspace = workspace
      loaded.snapshotBytes = base.bytes.count
    }
    if let contradiction = try replay(id, after: header.basePosition, into: &loaded) {
      throw StorageFault(
        code: .corrupt, message: "workspace \(id) cannot be read: \(contradiction)")
    }
    return loaded
  }

  /// Applies the log after a position.
  ///
  /// - Returns: what is wrong with the result, nil where it is what the header says.
  private func replay(
    _ id: WorkspaceID, after start: UInt64, into loaded: inout LoadedWorkspace
  ) throws(StorageFault) -> String? {
    var position = start
    while position < loaded.header.head {
      let entries = try entries(of: id, after: position, limit: 256)
      guard let last = entries.last else { return "the log ends at \(position)" }
      var operations: [Operation] = []
      // What came since the header was read is another look's.
      for entry in entries where entry.position <= loaded.header.head {
        guard let delta = try? PackedDelta.unpackStored(entry.delta) else {
          return "log entry \(entry.position) is damaged"
        }
        operations += delta
        loaded.tailEntries += 1
        loaded.tailBytes += entry.delta.count
      }
      guard let outcome = try? loaded.workspace.merge(operations), outcome.waiting == 0 else {
        return "log entries \(position + 1) to \(last.position) do not apply"
      }
      position = min(last.position, loaded.header.head)
    }
    for mark in loaded.header.replicas
    where loaded.workspace.vector[mark.replica] != mark.seq
      || loaded.workspace.digest(of: mark.replica) != mark.digest
    {
      return "the digest of replica \(mark.replica.rawValue) differs"
    }
    guard loaded.workspace.vector.count == loaded.header.replicas.count else {
      return "the log knows other replicas than the table of replicas"
    }
    return nil
  }

  private func compare(
    _ operations: [Operation], in workspace: WorkspaceID
  ) throws(StorageFault) -> OperationComparison {
    let ranges = operations.compactMap(\.range)
    let entries = try entries(of: workspace, overlapping: ranges)
    return try CatchUp.compare(operations, with: entries)
  }
}
