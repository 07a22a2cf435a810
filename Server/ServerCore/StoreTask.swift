package import QueueModel
import SequenceCRDT
package import WireProtocol

/// Work outside the event loop: the store's, and packing that would delay the loop.
package enum StoreTask: Sendable {
  case authenticate(tokenHash: [UInt8])
  case redeem(CodeRedemption)
  case addCode(CodeProposal)
  /// Also compares the marks that the node knows.
  case findLapsed([ConnectedToken], known: [WorkspaceID: WorkspaceMark])
  /// Takes the workspace, and reads it.
  case load(WorkspaceID)
  case catchUp(CatchUpTask)
  case commit(CommitBatch)
  /// The whole state at a prefix, for a device that is missing much of it.
  case packSnapshot(Workspace, of: WorkspaceID, prefix: LogPrefix, partBytesMax: Int)
  /// Packs a state, then becomes a `keepSnapshot`.
  case saveSnapshot(WorkspaceID, Workspace, prefix: LogPrefix, truncatingBefore: UInt64)
  case keepSnapshot(StoredSnapshot, of: WorkspaceID, truncatingBefore: UInt64)
  /// Joins a state with the durable one, then becomes an `appendState`.
  case join(JoinTask)
  case appendState(LogEntry, to: WorkspaceID, mark: WorkspaceMark, wallMilliseconds: Int64)
  case findUnpushed
  case probe
  case record([AuditEntry])
}

extension StoreTask {
  /// The thread of a task.
  package enum Place: Hashable, Sendable {
    /// On the store's thread, in order.
    case inOrder
    /// In parallel with the others, when it is the workspace's turn. It takes long, and only packs
    /// durable data, so the others do not wait for it. Loading is not such a task: it needs the
    /// results of earlier tasks.
    case beside(WorkspaceID)
    /// Its `preparation` in parallel with the others, then the rest in order.
    case preparedBeside(WorkspaceID)
  }

  package var place: Place {
    switch self {
    case .catchUp(let task): .beside(task.workspace)
    case .packSnapshot(_, let id, _, _): .beside(id)
    case .saveSnapshot(let id, _, _, _): .preparedBeside(id)
    case .join(let task): .preparedBeside(task.workspace)
    case .authenticate, .redeem, .addCode, .findLapsed, .load, .commit, .keepSnapshot,
      .appendState, .findUnpushed, .probe, .record:
      .inOrder
    }
  }

  /// The rest of a task.
  package enum Preparation: Sendable {
    case task(StoreTask)
    case done(StoreOutcome)
  }

  /// Does the part that does not need the store, in time proportional to the workspace.
  package func preparation() -> Preparation {
    switch self {
    case .saveSnapshot(let id, let workspace, let prefix, let position):
      let snapshot = StoredSnapshot(prefix: prefix, bytes: PackedSnapshot.pack(workspace))
      return .task(.keepSnapshot(snapshot, of: id, truncatingBefore: position))
    case .join(let task):
      switch task.joined() {
      case .state(let bytes):
        let entry = LogEntry(prefix: task.head.appending(bytes), content: .state(bytes))
        return .task(
          .appendState(
            entry, to: task.workspace, mark: task.mark, wallMilliseconds: task.wallMilliseconds))
      case .nothing(let outcome): return .done(.joined(outcome))
      }
    default: return .task(self)
    }
  }
}

/// The missing part of a device's log, to be packed into frames.
package struct CatchUpTask: Sendable {
  package var workspace: WorkspaceID
  /// The prefix that the device reports.
  package var start: LogPrefix
  package var end: LogPrefix
  package var limits: ServerConfiguration.Log
}

/// The result of a task.
package enum StoreOutcome: Sendable {
  case token(TokenRecord?)
  case redemption(RedemptionOutcome)
  case code(CodeOutcome)
  /// - marks: those of workspaces whose marks differ from the task's.
  case lapsed(LapsedAccess, marks: [WorkspaceID: WorkspaceMark])
  /// nil if there is no such workspace.
  case workspace(LoadedWorkspace?)
  /// The missing part of a device's log.
  ///
  /// - work: the work to merge entries, in the unit of `CatchUp`; 0 for a state.
  case frames([[UInt8]], work: Int)
  /// The log does not contain the missing entries, or they are too many.
  ///
  /// - isPrefix: whether the device's log is known to be a prefix of this log.
  case snapshotNeeded(isPrefix: Bool)
  case committed(CommitResult)
  /// - bytes: nil if the log is another one, so nothing was saved.
  case snapshotSaved(bytes: Int?)
  case joined(JoinOutcome)
  /// Workspaces with notifications that still have to be pushed.
  case unpushed([WorkspaceID])
  case probed
  case recorded
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

extension ServerStorage {
  /// Performs a task; called on the store's thread, or on the parallel one, according to
  /// `StoreTask.place`.
  package func perform(_ task: StoreTask) -> StoreOutcome {
    do throws(StorageFault) {
      switch task {
      case .authenticate(let hash):
        return .token(try token(hash: hash))
      case .redeem(let redemption):
        return .redemption(try redeem(redemption))
      case .addCode(let proposal):
        return .code(try addCode(proposal))
      case .findLapsed(let tokens, let known):
        return .lapsed(
          try lapsedAccess(among: tokens),
          marks: known.isEmpty ? [:] : try marks(otherThan: known))
      case .load(let workspace):
        guard let header = try take(workspace) else { return .workspace(nil) }
        return .workspace(try content(of: workspace, header))
      case .catchUp(let task):
        return try catchUp(task)
      case .packSnapshot(let workspace, _, let prefix, let partBytesMax):
        return .frames(
          CatchUp.frames(
            forSnapshot: PackedSnapshot.pack(workspace), prefix: prefix,
            partBytesMax: partBytesMax), work: 0)
      case .commit(let batch):
        return .committed(try commit(batch))
      case .saveSnapshot, .join:
        switch task.preparation() {
        case .task(let rest): return perform(rest)
        case .done(let outcome): return outcome
        }
      case .keepSnapshot(let snapshot, let id, let position):
        let isSaved = try save(snapshot, of: id, truncatingBefore: position)
        return .snapshotSaved(bytes: isSaved ? snapshot.bytes.count : nil)
      case .appendState(let entry, let id, let mark, let wallMilliseconds):
        var batch = CommitBatch()
        batch.wallMilliseconds = wallMilliseconds
        batch.appends = [(id, entry)]
        batch.marks = [id: mark]
        let result = try commit(batch)
        return .joined(result.lost[id].map(JoinOutcome.lost) ?? .appended(result.marks[id] ?? mark))
      case .findUnpushed:
        return .unpushed(try workspacesWithUnpushed())
      case .probe:
        try probe()
        return .probed
      case .record(let entries):
        try record(entries)
        return .recorded
      }
    } catch {
      return .failed(error)
    }
  }

  /// The entries after a prefix, if it is a prefix of this log and the entries are kept.
  private func catchUp(_ task: CatchUpTask) throws(StorageFault) -> StoreOutcome {
    let (start, end) = (task.start, task.end)
    var isPrefix = start == .empty
    if !isPrefix, start.position <= end.position {
      isPrefix = try chain(of: task.workspace, at: start.position) == start.chain
    }
    guard isPrefix, end.position - start.position <= UInt64(task.limits.catchUpEntriesMax) else {
      return .snapshotNeeded(isPrefix: isPrefix)
    }
    let count = Int(end.position - start.position)
    let entries = try entries(
      of: task.workspace, after: start.position, limit: count,
      bytesMax: task.limits.catchUpBytesMax)
    guard entries.count == count, entries.last?.prefix == end,
      let packed = try CatchUp(entries, task.limits)
    else { return .snapshotNeeded(isPrefix: true) }
    return .frames(packed.frames, work: packed.work)
  }

  /// Reads a workspace for a process that does not serve it.
  package func readWorkspace(_ id: WorkspaceID) throws(StorageFault) -> LoadedWorkspace? {
    guard let header = try header(of: id) else { return nil }
    return try content(of: id, header)
  }

  /// Reads a workspace: the latest snapshot and the log after it. If that does not lead to the
  /// head, reads the previous snapshot and the log after that.
  private func content(
    of id: WorkspaceID, _ header: WorkspaceHeader
  ) throws(StorageFault) -> LoadedWorkspace {
    var contradiction = "it has neither log nor snapshot"
    var limit = header.head.position
    while true {
      let snapshot = try latestSnapshot(of: id, notBehind: limit)
      var loaded = LoadedWorkspace(
        header: header, workspace: Workspace(), tailEntries: 0, tailBytes: 0,
        snapshotBytes: snapshot?.bytes.count ?? 0)
      var start = LogPrefix(position: 0, chain: header.firstChain)
      var isReadable = true
      if let snapshot {
        start = snapshot.prefix
        if let workspace = try? Workspace(image: PackedSnapshot.unpack(snapshot.bytes)) {
          loaded.workspace = workspace
        } else {
          isReadable = false
          contradiction = "the snapshot at \(start.position) is damaged"
        }
      }
      if isReadable {
        guard let found = try replay(id, behind: start, into: &loaded) else { return loaded }
        contradiction = found
      }
      guard let snapshot, snapshot.prefix.position > 0 else {
        throw StorageFault(
          code: .corrupt, message: "workspace \(id) cannot be read: \(contradiction)")
      }
      limit = snapshot.prefix.position - 1
    }
  }

  /// Applies the log after a prefix.
  ///
  /// - Returns: the fault; nil if it leads to the head.
  private func replay(
    _ id: WorkspaceID, behind start: LogPrefix, into loaded: inout LoadedWorkspace
  ) throws(StorageFault) -> String? {
    var reached = start
    while reached.position < loaded.header.head.position {
      let entries = try entries(
        of: id, after: reached.position, limit: 256, bytesMax: 16 << 20)
      guard !entries.isEmpty else { return "the log ends at \(reached.position)" }
      var operations: [Operation] = []
      for entry in entries where entry.prefix.position <= loaded.header.head.position {
        guard reached.appending(entry.content.bytes) == entry.prefix else {
          return "log entry \(entry.prefix.position) does not follow \(reached.position)"
        }
        reached = entry.prefix
        loaded.tailEntries += 1
        loaded.tailBytes += entry.content.bytes.count
        switch entry.content {
        case .delta(let delta):
          guard let delta = try? PackedDelta.unpackStored(delta) else {
            return "log entry \(reached.position) is damaged"
          }
          operations += delta
        case .state(let bytes):
          operations = []
          guard let state = try? Workspace(image: PackedSnapshot.unpack(bytes)) else {
            return "log entry \(reached.position) is damaged"
          }
          loaded.workspace = state
        }
      }
      guard let outcome = try? loaded.workspace.merge(operations), outcome.waiting == 0 else {
        return "the log entries up to \(reached.position) do not apply"
      }
    }
    return reached == loaded.header.head ? nil : "the log does not lead to its head"
  }
}
