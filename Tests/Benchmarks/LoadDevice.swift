import NIOCore
import QueueModel
import SequenceCRDT
import WireProtocol

/// One device under load: it joins, sends prepared batches, and acknowledges received data, as the
/// client library does. Lives on one event loop.
final class LoadDevice {
  /// Events for the fleet.
  enum Event {
    /// It has everything that the server had when it joined.
    case joined
    /// A batch of another device, or several together, arrived at this moment.
    case received(delta: [UInt8], at: NIODeadline)
    /// The server stored one of its batches; its log reached this position then.
    case acknowledged(position: UInt64)
    case ended(reason: String)
  }

  let seed: FleetSeed
  /// Whether it keeps the state, as a client does; otherwise the deltas are only counted.
  let merges: Bool
  private(set) var workspace: Workspace
  /// Whether it begins without data, so that a snapshot may replace its state.
  private let isEmpty: Bool
  private var snapshot: [UInt8] = []
  private(set) var sentCount = 0
  var onEvent: (Event) -> Void = { _ in }
  private var channel: (any Channel)?
  private var target: LogPrefix?
  private var prefix = LogPrefix.empty
  private var isJoined = false

  init(seed: FleetSeed, merges: Bool, isEmpty: Bool = false) {
    self.seed = seed
    self.merges = merges
    self.isEmpty = isEmpty
    workspace = isEmpty ? Workspace() : seed.workspace
  }

  /// The connection is established: sends `hello`.
  func opened(_ channel: any Channel) {
    self.channel = channel
    target = nil
    isJoined = false
    write(
      .hello(
        Hello(
          versions: ProtocolVersion.spoken, token: seed.token, workspace: seed.workspaceID,
          device: seed.device, store: StoreID(rawValue: seed.replica.rawValue),
          deviceName: seed.name, prefix: prefix)))
  }

  /// The next prepared batch; nil if none is left.
  @discardableResult
  func sendNext() -> [UInt8]? {
    guard sentCount < seed.deltas.count else { return nil }
    let delta = seed.deltas[sentCount]
    sentCount += 1
    write(.changes(Changes(batch: UInt64(sentCount), delta: delta)))
    return delta
  }

  /// The waiting texts of its workspace, if it keeps the state.
  func texts() throws -> Set<String> {
    Set(
      try workspace.sessions().flatMap {
        try workspace.messageQueue($0.id).messages.map(\.content)
      })
  }

  func close() {
    channel?.close(promise: nil)
  }

  func ended(_ reason: String) {
    channel = nil
    onEvent(.ended(reason: reason))
  }

  func received(_ frame: Frame, at moment: NIODeadline) throws {
    switch frame {
    case .welcome(let welcome):
      target = welcome.head
    case .changes(let changes):
      if merges { try merge(PackedDelta.unpack(changes.delta)) }
      prefix = changes.prefix
      write(.ack(Ack(batch: 0, prefix: prefix)))
      onEvent(.received(delta: changes.delta, at: moment))
    case .ack(let ack):
      onEvent(.acknowledged(position: ack.prefix.position))
    case .snapshot(let part):
      try take(part)
    case .refused(let refusal):
      throw BenchFailure("\(seed.name) was refused: \(refusal.message)")
    case .error(let fault):
      throw BenchFailure("\(seed.name): the server reports \(fault.message)")
    default:
      break
    }
    noteJoining(isPresence: { if case .presence = frame { true } else { false } }())
  }

  /// To a device that is far behind, the server sends a whole state, in parts in order.
  private func take(_ part: SnapshotPart) throws {
    guard merges, isEmpty else {
      throw BenchFailure("\(seed.name) got part \(part.index) of a snapshot instead of deltas")
    }
    snapshot += part.bytes
    guard part.index + 1 == part.count else { return }
    workspace = try Workspace(image: PackedSnapshot.unpack(snapshot))
    snapshot = []
    prefix = part.prefix
    write(.ack(Ack(batch: 0, prefix: prefix)))
  }

  private func merge(_ operations: [Operation]) throws {
    let outcome = try workspace.merge(operations)
    try BenchFailure.require(outcome.waiting == 0, "\(seed.name) misses operations")
  }

  /// A device that keeps its state has joined when it has everything. Another one has joined with
  /// the first presence, which follows the data that it lacked.
  private func noteJoining(isPresence: Bool) {
    guard !isJoined, let target else { return }
    guard merges ? prefix.position >= target.position : isPresence else { return }
    isJoined = true
    onEvent(.joined)
  }

  private func write(_ frame: Frame) {
    channel?.writeAndFlush(LoadConnection.message(FrameCodec.encode(frame)), promise: nil)
  }
}
