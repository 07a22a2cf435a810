package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// A device's whole state, for a server that was restored and lacks some of it;
/// SPECIFICATION.md, section "Compaction".
package struct StateOffer: Hashable, Sendable {
  package var connection: ConnectionID
  package var device: DeviceID
  package var epoch: UInt64
  /// A packed snapshot, as far as it came in.
  package private(set) var bytes: [UInt8] = []
  private var count: UInt32
  private var nextIndex: UInt32 = 0

  init(connection: ConnectionID, device: DeviceID, first part: SnapshotPart) {
    self.connection = connection
    self.device = device
    epoch = part.epoch
    count = part.count
  }

  var isComplete: Bool { nextIndex == count }

  /// - Returns: false where the part does not follow.
  mutating func add(_ part: SnapshotPart, bytesMax: Int) -> Bool {
    guard part.index == nextIndex, part.count == count, part.epoch == epoch,
      bytes.count + part.bytes.count <= bytesMax
    else { return false }
    bytes += part.bytes
    nextIndex += 1
    return true
  }
}

/// What the server has, for a state to be compared with.
package struct AdoptionTask: Sendable {
  package var workspace: WorkspaceID
  package var offer: StateOffer
  package var content: Workspace
  package var marks: [ReplicaMark]
  package var previous: UInt64
  package var position: UInt64
  package var stampMax: Stamp
  package var replicasMax: Int
}

/// Why a device's state was not taken over.
package struct AdoptionRefusal: Hashable, Sendable {
  package var code = RefusalCode.invalidChanges
  package var reason: String
}

extension ServerStorage {
  /// Makes the base of an epoch from a device's state, and starts it.
  ///
  /// - Returns: why not; nil where it was done.
  func adopt(_ task: AdoptionTask) throws(StorageFault) -> AdoptionRefusal? {
    guard let image = try? PackedSnapshot.unpack(task.offer.bytes),
      let state = try? Workspace(image: image)
    else { return AdoptionRefusal(reason: "the state cannot be read") }
    guard image.replicas.count <= task.replicasMax else {
      return AdoptionRefusal(reason: "it has too many replicas")
    }
    let content = task.content.image()
    // The same events in other forms do no harm; other events would be lost.
    let comparison = StateComparison(of: content, with: image)
    if let replica = comparison.contradictions.keys.min() {
      return AdoptionRefusal(
        code: .fork, reason: "operations of replica \(replica.rawValue) differ")
    }
    var start = EpochStart(
      epoch: task.offer.epoch, previous: task.previous, position: task.position + 1,
      base: task.offer.bytes)
    var base = state
    let isWhole =
      state.vector.includes(task.content.vector) && state.latestStamp <= task.stampMax
    // A device that got a snapshot before the first compaction offers it from no epoch; a base
    // needs one to be read again.
    if task.offer.epoch == EpochName.none || !isWhole {
      var image = image
      if !isWhole {
        let union =
          state.vector.includes(task.content.vector)
          ? image : content.united(with: image)
        // Stamps of the future were taken while the clock was wrong.
        let lowered = union.lowered(to: Stamp(milliseconds: task.stampMax.milliseconds))
        guard let united = try? Workspace(image: lowered).compacted() else {
          return AdoptionRefusal(reason: "what the server has does not fit it")
        }
        base = united
        image = united.image()
        start.base = PackedSnapshot.pack(image)
      }
      start.epoch = EpochName.following(max(task.previous, task.offer.epoch), base: image)
    }
    start.replicas = marks(of: base, task)
    try self.start(start, of: task.workspace)
    return nil
  }

  private func marks(of base: Workspace, _ task: AdoptionTask) -> [ReplicaMark] {
    let bindings = Dictionary(task.marks.map { ($0.replica, $0.device) }) { first, _ in first }
    return base.vector.sorted.map { entry in
      ReplicaMark(
        replica: entry.replica, seq: entry.seq, digest: base.digest(of: entry.replica),
        device: bindings[entry.replica] ?? base.device(of: entry.replica)?.id
          ?? task.offer.device)
    }
  }
}

extension ServerCore {
  /// A part of a device's state arrived.
  mutating func offered(
    _ part: SnapshotPart, by connection: Connection, _ session: Session, at now: Moment
  ) {
    let id = connection.id
    var offer =
      part.index == 0
      ? StateOffer(connection: id, device: session.device, first: part) : connection.offer
    guard offer?.add(part, bytesMax: configuration.offeredBytesMax) == true, let offer else {
      return fault(id, .unexpected, "snapshot: the parts do not follow, or are too many")
    }
    connections[id]?.offer = offer
    guard offer.isComplete else { return }
    connections[id]?.offer = nil
    workspaces[session.workspace]?.compaction.offer = offer
    adoptIfPossible(session.workspace, at: now)
  }

  /// Takes a state over as soon as nothing of the workspace is being stored.
  mutating func adoptIfPossible(_ id: WorkspaceID, at now: Moment) {
    guard let resident = workspaces[id], let offer = resident.compaction.offer,
      !resident.compaction.isUnderWay, resident.isQuiet, resident.comparison == nil,
      !loading.contains(id)
    else { return }
    guard let content = resident.content else { return load(id) }
    workspaces[id]?.compaction.isUnderWay = true
    let ahead = now.wallMilliseconds + configuration.stampAheadMillisecondsMax
    ask(
      .adopt(
        AdoptionTask(
          workspace: id, offer: offer, content: content,
          marks: resident.marks.values.sorted { $0.replica < $1.replica },
          previous: resident.epoch, position: resident.head,
          stampMax: Stamp(milliseconds: ahead, counter: .max),
          replicasMax: configuration.replicasMax)),
      for: .adopt(id, offer.connection))
  }

  /// The store has taken a state over, or could not.
  mutating func adopted(
    _ id: WorkspaceID, from connection: ConnectionID, _ outcome: StoreOutcome, at now: Moment
  ) {
    workspaces[id]?.compaction = CompactionOutlook()
    switch outcome {
    case .adopted(nil):
      storageWorked()
      // Read anew; then everybody connects anew.
      workspaces[id]?.content = nil
      load(id)
    case .adopted(let refusal?):
      refuse(
        connection, refusal.code, "the device's state cannot be taken over: \(refusal.reason)",
        retryAfter: 30_000, at: now)
    case .failed(let fault):
      storageFailed(fault, at: now)
      refuseForStorage(connection, at: now)
      workspaces[id]?.content = nil
      load(id)
    default:
      preconditionFailure("the store answered another question")
    }
    resumeJoins(of: id, at: now)
    if workspaces[id]?.hasWork == true { markReady(id) }
    stageCommit(at: now)
  }
}
