import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// The minimum that a server must do, with frames as values: it stores batches, answers, and passes
/// them on.
struct ModelServer {
  struct Session {
    var device: DeviceID
    var connection: TransportID
    var send: [Frame] = []
  }

  var workspace = Workspace()
  var authority = Authority()
  /// An entry of the log: operations as they were packed, or a whole state.
  enum Entry {
    case delta([UInt8])
    case state([UInt8])

    var bytes: [UInt8] {
      switch self {
      case .delta(let bytes), .state(let bytes): bytes
      }
    }
  }
  private(set) var log: [Entry] = []
  /// The prefixes of the log, from the empty one.
  private(set) var prefixes: [LogPrefix] = [.empty]
  var milliseconds: Int64 = 0
  /// Entries that are sent one by one; a device that lacks more gets the state.
  var catchUpEntriesMax = Int.max
  /// The number of answers to batches that are lost, with everything after them on their
  /// connections.
  var acksToLose = 0
  private var lost: Set<DeviceID> = []
  /// Refusals for the next batches, which are then not examined.
  var refusals: [Refusal] = []
  /// Whether offered states get no answer.
  var ignoresOffers = false
  private(set) var snapshotsSent = 0
  private(set) var statesOffered = 0
  private(set) var statesTaken = 0
  private var offered: [UInt8] = []
  private(set) var received: [Changes] = []
  private(set) var acknowledged: [DeviceID: UInt64] = [:]
  private(set) var greetings: [Hello] = []
  private var stores: [DeviceID: StoreID] = [:]

  static let workspaceID = WorkspaceID(high: 1, low: 2)

  var head: LogPrefix { prefixes[log.count] }

  /// Every operation of the log, without whole states.
  var operations: [QueueModel.Operation] {
    get throws {
      try log.flatMap { entry throws -> [QueueModel.Operation] in
        guard case .delta(let bytes) = entry else { return [] }
        return try PackedDelta.unpack(bytes)
      }
    }
  }

  /// Forgets everything after a log position, like a restored backup.
  mutating func restore(upTo position: Int) throws {
    let kept = log.prefix(position)
    log = []
    prefixes = [.empty]
    workspace = Workspace()
    for entry in kept { try append(entry) }
  }

  private mutating func append(_ entry: Entry) throws {
    switch entry {
    case .delta(let bytes): _ = try workspace.merge(PackedDelta.unpack(bytes))
    case .state(let bytes): workspace = try Workspace(image: PackedSnapshot.unpack(bytes))
    }
    prefixes.append(head.appending(entry.bytes))
    log.append(entry)
  }

  /// Appends operations of a device that has no connection here.
  mutating func append(_ operations: [QueueModel.Operation]) throws -> Frame {
    let delta = PackedDelta.pack(operations)
    try append(.delta(delta))
    return .changes(Changes(batch: 0, prefix: head, delta: delta))
  }

  /// Joins the state of a device with the server's.
  private mutating func take(_ part: SnapshotPart) throws -> [Frame] {
    offered = part.index == 0 ? part.bytes : offered + part.bytes
    guard part.index + 1 == part.count else { return [] }
    statesOffered += 1
    guard !ignoresOffers else { return [] }
    let joined = try workspace.image().joined(with: PackedSnapshot.unpack(offered))
    try append(.state(PackedSnapshot.pack(Workspace(image: joined))))
    statesTaken += 1
    return []
  }

  /// - Returns: the answer, and operations for all other devices.
  mutating func receive(
    _ frame: Frame, from device: DeviceID
  ) throws -> (answers: [Frame], fanOut: Frame?) {
    switch frame {
    case .hello(let hello):
      stores[device] = hello.store
      lost.remove(device)
      greetings.append(hello)
      return (try welcome(hello), nil)
    case .changes(let changes):
      return try receive(changes, from: device)
    case .snapshot(let part):
      return (try take(part), nil)
    case .ack(let ack):
      acknowledged[device] = max(acknowledged[device] ?? 0, ack.prefix.position)
      return ([], nil)
    case .request(let request):
      return try decide(request, from: device)
    default:
      return ([], nil)
    }
  }

  /// The name by which a device asks the authority.
  func holder(_ device: DeviceID) -> LeaseHolder {
    LeaseHolder(device: device, store: stores[device] ?? StoreID(rawValue: 0))
  }

  /// Decides as the authority, and sends a verdict to the others.
  private mutating func decide(
    _ request: Request, from device: DeviceID
  ) throws -> (answers: [Frame], fanOut: Frame?) {
    guard let question = try AuthorityRequest(request) else { return ([], nil) }
    let outcome = authority.answer(
      question, id: request.id, from: holder(device), in: workspace, uptime: milliseconds,
      wall: milliseconds)
    let notice = outcome.changes.verdicts.first.map {
      Frame.answered(AnsweredNotice(session: $0.session, request: $0.request, given: $0.given))
    }
    // It never answers a question that is still open: the device asks in a different way.
    return (outcome.answer.map { [.response($0.response(id: request.id))] } ?? [], notice)
  }

  /// A restarted server knows what it had stored.
  mutating func restartAuthority() {
    authority = Authority(authority.stored, uptime: milliseconds, wall: milliseconds)
  }

  private mutating func welcome(_ hello: Hello) throws -> [Frame] {
    let welcome = Frame.welcome(
      Welcome(
        version: ProtocolVersion.current, head: head, nonce: UInt64(greetings.count),
        serverMilliseconds: milliseconds,
        pingSeconds: 20, backoffMillisecondsMin: 0))
    guard hello.prefix != head else { return [welcome] }
    return try [welcome] + (entries(behind: hello.prefix) ?? snapshot())
  }

  /// The entries that a device lacks; nil if it needs the state.
  private func entries(behind prefix: LogPrefix) throws -> [Frame]? {
    guard let place = prefixes.firstIndex(of: prefix), log.count - place <= catchUpEntriesMax
    else { return nil }
    var frames: [Frame] = []
    for index in place..<log.count {
      guard case .delta(let delta) = log[index] else { return nil }
      frames.append(.changes(Changes(batch: 0, prefix: prefixes[index + 1], delta: delta)))
    }
    return frames
  }

  private mutating func snapshot() -> [Frame] {
    snapshotsSent += 1
    let bytes = PackedSnapshot.pack(workspace.image())
    return SnapshotPart.parts(of: bytes, prefix: head, bytesMax: bytes.count / 2 + 1)
      .map { .snapshot($0) }
  }

  /// Whether its frames to a device arrive.
  func reaches(_ device: DeviceID) -> Bool { !lost.contains(device) }

  private mutating func receive(
    _ changes: Changes, from device: DeviceID
  ) throws -> (answers: [Frame], fanOut: Frame?) {
    received.append(changes)
    if !refusals.isEmpty {
      var refusal = refusals.removeFirst()
      refusal.batch = changes.batch
      return ([.refused(refusal)], nil)
    }
    let sent = try PackedDelta.unpack(changes.delta)
    // Known operations are not compared.
    let fresh = sent.compactMap { operation in
      operation.droppingFirst(
        max(0, Int(workspace.vector[operation.id.replica]) - Int(operation.id.seq) + 1))
    }
    var trial = workspace
    guard (try? trial.merge(fresh).waiting) == 0 else {
      return ([.refused(refusal(.invalidChanges, batch: changes.batch))], nil)
    }
    var answer = Frame.ack(Ack(batch: changes.batch, prefix: head))
    var fanOut: Frame?
    if !fresh.isEmpty {
      let limit = Stamp(milliseconds: milliseconds + Limits.stampAheadMillisecondsMax)
      let lowered = fresh.lowered(to: limit.milliseconds, behind: .zero)
      let delta =
        lowered == nil && fresh == sent ? changes.delta : PackedDelta.pack(lowered ?? fresh)
      try append(.delta(delta))
      fanOut = .changes(Changes(batch: 0, prefix: head, delta: delta))
      answer =
        lowered == nil
        ? .ack(Ack(batch: changes.batch, prefix: head))
        : .changes(Changes(batch: changes.batch, prefix: head, delta: delta))
    }
    if acksToLose > 0 {
      acksToLose -= 1
      lost.insert(device)
    }
    return ([answer], fanOut)
  }

  private func refusal(_ code: RefusalCode, batch: UInt64) -> Refusal {
    Refusal(
      code: code, message: "refused by the model", batch: batch,
      serverMilliseconds: milliseconds)
  }
}
