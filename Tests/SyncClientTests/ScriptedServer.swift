import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import QueueModel
import SequenceCRDT
import Synchronization
import WireProtocol

/// A real WebSocket server on an ephemeral port that does what a test tells it to.
final class ScriptedServer: Sendable {
  /// What it does besides storing and passing on.
  struct Script: Sendable {
    /// Given to every `hello` instead of a welcome.
    var greetingRefusal: Refusal?
    /// Given to `pair`.
    var pairing: Frame?
    /// Batches that are stored, after which the connection is cut without an answer.
    var cutsAfterStoring = 0
    /// Files whose requests it breaks off, by hash.
    var breaksOff: Set<String> = []
    /// Files that it was given, by hash.
    var files: Set<String> = []
    /// Clients that lack more get a snapshot.
    var snapshotThreshold = Int.max
  }

  private struct State {
    var script = Script()
    var workspace = Workspace()
    var log: [[Operation]] = []
    var received: [Frame] = []
    var open: [ObjectIdentifier: any Channel] = [:]
    var connections = 0
  }

  static let workspaceID = WorkspaceID(high: 5, low: 6)
  static let token = [UInt8](repeating: 3, count: 32)

  private let state = Mutex(State())
  private let listener = Mutex<(any Channel)?>(nil)
  /// One element for each frame that came in.
  let arrivals: AsyncStream<Frame>
  private let arrived: AsyncStream<Frame>.Continuation
  let subprotocol: String?

  init(subprotocol: String? = "cospool.v1") {
    self.subprotocol = subprotocol
    (arrivals, arrived) = AsyncStream.makeStream()
  }

  func start() async throws {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try self.configure(channel) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    listener.withLock { $0 = channel }
  }

  private func configure(_ channel: any Channel) throws {
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: 1 << 20,
      shouldUpgrade: { channel, _ in
        var headers = HTTPHeaders()
        if let subprotocol = self.subprotocol {
          headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol)
        }
        return channel.eventLoop.makeSucceededFuture(headers)
      },
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ScriptedSession(server: self))
        }
      })
    let files = ScriptedFiles(server: self)
    let bound = NIOLoopBound(files, eventLoop: channel.eventLoop)
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
      withServerUpgrade: (
        upgraders: [upgrader],
        completionHandler: { context in
          context.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
        }
      ))
    try channel.pipeline.syncOperations.addHandler(files)
  }

  func stop() async throws {
    let channels = state.withLock { Array($0.open.values) }
    for channel in channels {
      // A connection that the client closed meanwhile is closed as well.
      try? await channel.close()
    }
    let listening = listener.withLock { channel in
      defer { channel = nil }
      return channel
    }
    try await listening?.close()
    arrived.finish()
  }

  var url: String {
    let port = listener.withLock { $0 }?.localAddress?.port ?? 0
    return "ws://127.0.0.1:\(port)"
  }

  func change(_ change: @Sendable (inout Script) -> Void) {
    state.withLock { change(&$0.script) }
  }

  var script: Script { state.withLock { $0.script } }
  var workspace: Workspace { state.withLock { $0.workspace } }
  var received: [Frame] { state.withLock { $0.received } }
  var connections: Int { state.withLock { $0.connections } }

  /// Stores operations of some other device and sends them to everybody.
  func publish(_ operations: [Operation]) throws {
    let (frame, channels) = try state.withLock { state in
      _ = try state.workspace.merge(operations)
      state.log.append(operations)
      let frame = Frame.changes(
        Changes(
          batch: 0, logPosition: UInt64(state.log.count), delta: PackedDelta.pack(operations)))
      return (frame, Array(state.open.values))
    }
    for channel in channels { ScriptedServer.write(frame, to: channel) }
  }

  func push(_ frame: Frame) {
    for channel in state.withLock({ Array($0.open.values) }) {
      ScriptedServer.write(frame, to: channel)
    }
  }

  static func write(_ frame: Frame, to channel: any Channel) {
    let data = ByteBuffer(bytes: FrameCodec.encode(frame))
    channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .binary, data: data), promise: nil)
  }

  fileprivate func opened(_ channel: any Channel) {
    state.withLock {
      $0.open[ObjectIdentifier(channel)] = channel
      $0.connections += 1
    }
  }

  fileprivate func closed(_ channel: any Channel) {
    state.withLock { $0.open[ObjectIdentifier(channel)] = nil }
  }

  /// - Returns: what to answer, and whether to cut the connection.
  fileprivate func receive(_ frame: Frame) throws -> (answers: [Frame], cuts: Bool) {
    let result = try state.withLock { state in
      state.received.append(frame)
      return try answer(frame, &state)
    }
    arrived.yield(frame)
    return result
  }

  private func answer(
    _ frame: Frame, _ state: inout State
  ) throws -> (answers: [Frame], cuts: Bool) {
    switch frame {
    case .pair:
      return (state.script.pairing.map { [$0] } ?? [], false)
    case .hello(let hello):
      if let refusal = state.script.greetingRefusal { return ([.refused(refusal)], false) }
      return (welcome(hello, state), false)
    case .changes(let changes):
      let operations = try PackedDelta.unpack(changes.delta)
      let outcome = try state.workspace.merge(operations)
      if !outcome.applied.isEmpty { state.log.append(outcome.applied) }
      if state.script.cutsAfterStoring > 0 {
        state.script.cutsAfterStoring -= 1
        return ([], true)
      }
      let ack = Ack(batch: changes.batch, logPosition: UInt64(state.log.count))
      return ([.ack(ack)], false)
    default:
      return ([], false)
    }
  }

  private func welcome(_ hello: Hello, _ state: State) -> [Frame] {
    let position = UInt64(state.log.count)
    var frames: [Frame] = [
      .welcome(
        Welcome(
          version: 1, epoch: 0,
          known: state.workspace.vector.sorted.map {
            KnownReplica(
              replica: $0.replica, seq: $0.seq,
              digest: state.workspace.digest(of: $0.replica))
          },
          logPosition: position, logIdentity: 11,
          serverMilliseconds: 1_767_225_600_000, frameBytesMax: 1 << 20, pingSeconds: 20,
          backoffMillisecondsMin: 0))
    ]
    let client = VersionVector(
      Dictionary(hello.known.map { ($0.replica, $0.seq) }) { first, _ in first })
    let count = state.workspace.vector.operationCount(missingFrom: client)
    if count > state.script.snapshotThreshold {
      let bytes = PackedSnapshot.pack(state.workspace.image())
      frames.append(
        .snapshot(
          SnapshotPart(epoch: 0, logPosition: position, index: 0, count: 1, bytes: bytes)))
    } else if count > 0 {
      frames.append(
        .changes(
          Changes(
            batch: 0, logPosition: position,
            delta: PackedDelta.pack(state.log.flatMap { $0 }))))
    }
    return frames
  }
}

private final class ScriptedSession: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let server: ScriptedServer

  init(server: ScriptedServer) {
    self.server = server
  }

  func handlerAdded(context: ChannelHandlerContext) {
    server.opened(context.channel)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    server.closed(context.channel)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary:
      do {
        let bytes = Array(frame.unmaskedData.readableBytesView)
        let (answers, cuts) = try server.receive(FrameCodec.decode(bytes))
        for answer in answers { ScriptedServer.write(answer, to: context.channel) }
        if cuts { context.close(promise: nil) }
      } catch {
        context.close(promise: nil)
      }
    case .connectionClose:
      let answer = WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData)
      let channel = context.channel
      context.writeAndFlush(wrapOutboundOut(answer)).whenComplete { _ in
        channel.close(promise: nil)
      }
    default:
      break
    }
  }
}
