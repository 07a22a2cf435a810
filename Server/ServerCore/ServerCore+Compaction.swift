import QueueModel
import SequenceCRDT
import WireProtocol

/// Starting epochs; SPECIFICATION.md, section "Compaction".
extension ServerCore {
  /// Takes a wish down, and sees to it at once where that is possible.
  mutating func wantCompaction(
    of id: WorkspaceID, _ request: CompactionRequest, at now: Moment
  ) {
    guard let resident = workspaces[id] else {
      requestedCompactions[id] = max(requestedCompactions[id] ?? request, request)
      return load(id)
    }
    workspaces[id]?.compaction.request = max(resident.compaction.request ?? request, request)
    compactIfDue(id, at: now)
  }

  /// Starts an epoch where it is wanted or worthwhile, and nothing stands in the way.
  ///
  /// While the store does it, batches and joins wait: a batch would belong to neither epoch.
  mutating func compactIfDue(_ id: WorkspaceID, at now: Moment) {
    guard let resident = workspaces[id], !resident.compaction.isUnderWay, stopping == nil,
      storageFailedAt == nil, resident.isQuiet, resident.comparison == nil, !loading.contains(id),
      resident.loggedOperations > 0 || resident.compaction.request != nil
    else { return }
    let request = resident.compaction.request
    let isSeen = resident.isSeenByAll(
      connected: connectedDevices(of: resident),
      since: now.wallMilliseconds - configuration.compactionRetentionMilliseconds)
    guard request == .now || isSeen else { return }
    guard let content = resident.content else {
      if request != nil { load(id) }
      return
    }
    let operations = resident.loggedOperations
    workspaces[id]?.compaction.weigh(content, operations: operations, configuration)
    guard
      request != nil
        || workspaces[id]?.compaction.isWorthwhile(operations: operations, configuration) == true
    else { return }
    workspaces[id]?.compaction.isUnderWay = true
    ask(
      .startEpoch(id, content, previous: resident.epoch, position: resident.head),
      for: .startEpoch(id))
  }

  func connectedDevices(of resident: ResidentWorkspace) -> Set<DeviceID> {
    Set(resident.members.compactMap { connections[$0]?.session?.device })
  }

  /// The store has started an epoch, or could not.
  mutating func startedEpoch(of id: WorkspaceID, _ outcome: StoreOutcome, at now: Moment) {
    switch outcome {
    case .epochStarted(let start):
      storageWorked()
      workspaces[id]?.epochStarted(start)
      workspaces[id]?.compaction = CompactionOutlook()
      examinedCompactions[id] = nil
      act(.report(.epochStarted(id, epoch: start.epoch, weight: start.weight)))
      announceEpoch(of: id)
    case .failed(let fault):
      storageFailed(fault, at: now)
      // Whether it is stored or not can only be read.
      workspaces[id]?.compaction = CompactionOutlook()
      workspaces[id]?.content = nil
      load(id)
    default:
      preconditionFailure("the store answered another question")
    }
    resumeJoins(of: id, at: now)
    if workspaces[id]?.hasWork == true { markReady(id) }
    stageCommit(at: now)
  }

  /// Tells everybody who is there: they have all that the base is made of, or it is on its way.
  private mutating func announceEpoch(of id: WorkspaceID) {
    guard let resident = workspaces[id] else { return }
    broadcast(FrameCodec.encode(.compact(resident.start)), to: resident.members.sorted())
  }

  // MARK: - Workspaces that nobody uses

  /// Looks for requests of other processes, and now and then for logs that grew long.
  mutating func findCompactions(at now: Moment) {
    let uptime = now.uptimeMilliseconds
    guard !isFindingCompactions, stopping == nil, storageFailedAt == nil,
      uptime - requestsCheckedAt >= configuration.compactionRequestMilliseconds
    else { return }
    requestsCheckedAt = uptime
    var operationsMin = Int.max
    if uptime - compactionsCheckedAt >= configuration.compactionCheckMilliseconds {
      compactionsCheckedAt = uptime
      operationsMin = configuration.compactionDeadMin
    }
    isFindingCompactions = true
    let waiting = workspaces.filter { $0.value.compaction.request != nil }.map(\.key)
    ask(
      .findCompactions(operationsMin: operationsMin, waiting: Set(waiting)),
      for: .findCompactions)
  }

  mutating func foundCompactions(_ outcome: StoreOutcome, at now: Moment) {
    isFindingCompactions = false
    switch outcome {
    case .compactions(let candidates):
      for candidate in candidates { consider(candidate, at: now) }
    case .failed(let fault):
      storageFailed(fault, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  private mutating func consider(_ candidate: CompactionCandidate, at now: Moment) {
    let id = candidate.workspace
    guard !isKnownDamaged(id, at: now) else { return }
    if let resident = workspaces[id] {
      // Access may have been taken away by another process: such a device is not waited for.
      let listed = Set(candidate.devices.map(\.id))
      let connected = connectedDevices(of: resident)
      for device in resident.devices.keys where !listed.contains(device) {
        guard !connected.contains(device) else { continue }
        forget(device, of: id)
      }
    }
    if let request = candidate.request ?? workspaces[id]?.compaction.request {
      return wantCompaction(of: id, request, at: now)
    }
    guard workspaces[id]?.content == nil else { return compactIfDue(id, at: now) }
    let examined = examinedCompactions[id] ?? 0
    guard candidate.operations - examined >= configuration.compactionDeadMin / 2 else { return }
    examinedCompactions[id] = candidate.operations
    load(id)
  }
}

extension ResidentWorkspace {
  /// What a device that has all of the base needs to know of it.
  var start: Compaction {
    Compaction(epoch: epoch, logPosition: basePosition, cut: floor)
  }
}
