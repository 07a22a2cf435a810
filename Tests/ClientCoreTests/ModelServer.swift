import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// The least that a server must do, over frames as values: stores batches, answers, and passes on.
struct ModelServer {
  struct Session {
    var device: DeviceID
    var connection: ConnectionID
    var send: [Frame] = []
  }

  var workspace = Workspace()
  var authority = Authority(uptime: 0)
  var log: [[QueueModel.Operation]] = []
  var identity: UInt64 = 7
  /// The longest frame that it takes.
  var frameBytesMax: UInt32 = 1 << 20
  var milliseconds: Int64 = 0
  var snapshotThreshold = Int.max
  /// Answers to batches that get lost.
  var acksToLose = 0
  /// Refusals to give to the next batches instead of looking at them.
  var refusals: [Refusal] = []
  /// The name of the epoch, and what its base holds.
  var epoch: UInt64 = 0
  var floor = VersionVector()
  /// Entries that compactions dropped.
  var pruned = 0
  /// The epoch of each device's connection.
  var epochs: [DeviceID: UInt64] = [:]
  private(set) var epochRefusals = 0
  private(set) var snapshotsSent = 0
  private(set) var compactionsSent = 0
  private(set) var statesTaken = 0
  /// The epochs of the states that devices offered, and those that they greeted with.
  private(set) var offers: [UInt64] = []
  private(set) var greetings: [UInt64] = []
  private var offered: [UInt8] = []
  private(set) var received: [Changes] = []
  private(set) var acknowledged: [DeviceID: UInt64] = [:]
  private var stored: [OperationID: QueueModel.Operation] = [:]

  static let workspaceID = WorkspaceID(high: 1, low: 2)

  var head: UInt64 { UInt64(pruned + log.count) }

  /// Forgets everything behind a log position, as a restored backup does.
  mutating func restore(upTo position: Int) throws {
    let kept = log.prefix(position)
    self.log = []
    workspace = Workspace()
    stored = [:]
    identity += 1
    for operations in kept { try store(operations) }
  }

  /// Starts an epoch; what connected devices are told.
  mutating func compact() -> Frame {
    workspace = workspace.compacted()
    epoch = EpochName.following(epoch, base: workspace.image())
    floor = workspace.vector
    pruned += log.count
    log = []
    compactionsSent += 1
    return .compact(Compaction(epoch: epoch, logPosition: head, cut: floor))
  }

  /// Takes over the state of a device, united with what is here.
  ///
  /// - Returns: the refusal of one that contradicts what is here.
  private mutating func take(_ part: SnapshotPart) throws -> [Frame] {
    offered = part.index == 0 ? part.bytes : offered + part.bytes
    guard part.index + 1 == part.count else { return [] }
    offers.append(part.epoch)
    let (content, image) = (workspace.image(), try PackedSnapshot.unpack(offered))
    guard StateComparison(of: content, with: image).contradictions.isEmpty else {
      return [.refused(refusal(.fork, batch: 0))]
    }
    let state = try Workspace(image: image)
    if state.vector.includes(workspace.vector), part.epoch != EpochName.none {
      workspace = state
      epoch = part.epoch
    } else {
      workspace = try Workspace(image: content.united(with: image)).compacted()
      epoch = EpochName.following(max(epoch, part.epoch), base: workspace.image())
    }
    floor = workspace.vector
    pruned += log.count + 1
    log = []
    statesTaken += 1
    return []
  }

  mutating func store(_ operations: [QueueModel.Operation]) throws {
    _ = try workspace.merge(operations)
    for operation in operations { stored[operation.id] = operation }
    log.append(operations)
  }

  /// - Returns: the answer, and operations for everybody else.
  mutating func receive(
    _ frame: Frame, from device: DeviceID
  ) throws -> (answers: [Frame], fanOut: Frame?) {
    switch frame {
    case .hello(let hello):
      epochs[device] = hello.epoch
      greetings.append(hello.epoch)
      return (try welcome(hello), nil)
    case .changes(let changes):
      guard epochs[device] == epoch else {
        epochRefusals += 1
        return ([.refused(refusal(.otherEpoch, batch: changes.batch))], nil)
      }
      return try receive(changes)
    case .epoch(let epoch):
      if epoch == self.epoch { epochs[device] = epoch }
      return ([], nil)
    case .snapshot(let part):
      return (try take(part), nil)
    case .ack(let ack):
      acknowledged[device] = max(acknowledged[device] ?? 0, ack.logPosition)
      return ([], nil)
    case .missing(let ranges):
      return ([delta(of: ranges, at: head)], nil)
    case .request(let request):
      return try decide(request, from: device)
    default:
      return ([], nil)
    }
  }

  /// Decides as the authority, and tells the others of a verdict.
  private mutating func decide(
    _ request: Request, from device: DeviceID
  ) throws -> (answers: [Frame], fanOut: Frame?) {
    guard let question = try AuthorityRequest(request) else { return ([], nil) }
    let holder = LeaseHolder(device: device, replica: ReplicaID(rawValue: device.low))
    let outcome = authority.answer(
      question, id: request.id, from: holder, in: workspace, uptime: milliseconds,
      wall: milliseconds)
    let notice = outcome.changes.verdicts.first.map {
      Frame.answered(AnsweredNotice(session: $0.session, request: $0.request, given: $0.given))
    }
    // What it has no answer to yet it never answers: the device asks in another way.
    return (outcome.answer.map { [.response($0.response(id: request.id))] } ?? [], notice)
  }

  /// A server that was started again knows what it had stored.
  mutating func restartAuthority() {
    authority = Authority(authority.stored, uptime: milliseconds)
  }

  private mutating func welcome(_ hello: Hello) throws -> [Frame] {
    var client = VersionVector()
    var isMismatched = false
    for entry in hello.known {
      client[entry.replica] = entry.seq
      guard workspace.vector[entry.replica] == entry.seq,
        workspace.digest(of: entry.replica) != entry.digest
      else { continue }
      if entry.replica == hello.replica {
        if hello.epoch == epoch { return [.refused(refusal(.fork, batch: 0))] }
      } else {
        isMismatched = true
      }
    }
    var frames: [Frame] = [
      .welcome(
        Welcome(
          version: 1, epoch: epoch,
          known: workspace.vector.sorted.map {
            KnownReplica(
              replica: $0.replica, seq: $0.seq, digest: workspace.digest(of: $0.replica))
          },
          logPosition: head, logIdentity: identity, serverMilliseconds: milliseconds,
          frameBytesMax: frameBytesMax, pingSeconds: 20, backoffMillisecondsMin: 0))
    ]
    let missing = workspace.vector.ranges(missingFrom: client)
    let isNext =
      hello.epoch != 0 && EpochName.count(hello.epoch) + 1 == EpochName.count(epoch)
    if isMismatched || missing.reduce(0, { $0 + $1.count }) > snapshotThreshold
      || !client.includes(floor) || hello.epoch != epoch && !isNext
    {
      snapshotsSent += 1
      let bytes = PackedSnapshot.pack(workspace.image())
      let half = bytes.count / 2
      for (index, part) in [bytes[..<half], bytes[half...]].enumerated() {
        frames.append(
          .snapshot(
            SnapshotPart(
              epoch: epoch, logPosition: head, index: UInt32(index), count: 2, bytes: Array(part))))
      }
      return frames
    }
    if isNext {
      compactionsSent += 1
      frames.append(
        .compact(Compaction(epoch: epoch, logPosition: UInt64(pruned), cut: floor)))
    }
    if !missing.isEmpty { frames.append(delta(of: missing, at: head)) }
    return frames
  }

  private func delta(of ranges: [OperationRange], at position: UInt64) -> Frame {
    let operations = log.flatMap { $0 }.filter { operation in
      ranges.contains { range in
        operation.id.replica == range.replica && operation.id.seq <= range.last
          && (operation.lastID?.seq ?? 0) >= range.first
      }
    }
    return .changes(
      Changes(batch: 0, logPosition: position, delta: PackedDelta.pack(operations)))
  }

  private func refusal(_ code: RefusalCode, batch: UInt64) -> Refusal {
    Refusal(
      code: code, message: "refused by the model", batch: batch,
      serverMilliseconds: milliseconds)
  }

  private mutating func receive(
    _ changes: Changes
  ) throws -> (answers: [Frame], fanOut: Frame?) {
    received.append(changes)
    if !refusals.isEmpty {
      var refusal = refusals.removeFirst()
      refusal.batch = changes.batch
      return ([.refused(refusal)], nil)
    }
    let operations = try PackedDelta.unpack(changes.delta)
    for operation in operations {
      if let stamp = operation.stamp,
        stamp.milliseconds > milliseconds + Limits.stampAheadMillisecondsMax
      {
        return ([.refused(refusal(.clockAhead, batch: changes.batch))], nil)
      }
      if workspace.vector.contains(operation.id), let known = stored[operation.id],
        known != operation
      {
        return ([.refused(refusal(.fork, batch: changes.batch))], nil)
      }
    }
    var trial = workspace
    let outcome = try trial.merge(operations)
    if outcome.waiting > 0 { return ([.missing(trial.missingRanges)], nil) }
    var fanOut: Frame?
    if !outcome.applied.isEmpty {
      try store(outcome.applied)
      fanOut = .changes(Changes(batch: 0, logPosition: head, delta: changes.delta))
    }
    if acksToLose > 0 {
      acksToLose -= 1
      return ([], fanOut)
    }
    return ([.ack(Ack(batch: changes.batch, logPosition: head))], fanOut)
  }
}
