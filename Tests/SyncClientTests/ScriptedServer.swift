import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import QueueModel
import SequenceCRDT
import Synchronization
import WireProtocol

/// A real WebSocket server on an ephemeral port that acts as a test requires.
final class ScriptedServer: Sendable {
  /// Its behaviour, in addition to storing and forwarding.
  struct Script: Sendable {
    /// The answer to every `hello` instead of a welcome.
    var greetingRefusal: Refusal?
    /// What it says of the device's access before every welcome.
    var access: AccessNotice?
    /// The answer to `pair`.
    var pairing: Frame?
    /// The number of batches that are stored, after which the connection is cut without an answer.
    var cutsAfterStoring = 0
    /// Files whose requests it aborts, by hash.
    var breaksOff: Set<String> = []
    /// Whether it has no space for files.
    var refusesFiles = false
    /// Files that it received, by hash.
    var files: Set<String> = []
    /// Whether clients that lack anything get a snapshot.
    var sendsSnapshots = false
  }

  private struct State {
    var script = Script()
    var workspace = Workspace()
    var log: [[UInt8]] = []
    /// The prefixes of the log, from the empty one.
    var prefixes: [LogPrefix] = [.empty]
    var received: [Frame] = []
    var open: [ObjectIdentifier: any Channel] = [:]
    var connections = 0

    var head: LogPrefix { prefixes[log.count] }

    /// Appends unknown operations.
    mutating func append(_ operations: [Operation]) throws {
      let outcome = try workspace.merge(operations)
      guard !outcome.applied.isEmpty else { return }
      let delta = PackedDelta.pack(outcome.applied)
      prefixes.append(head.appending(delta))
      log.append(delta)
    }
  }

  static let workspaceID = WorkspaceID(high: 5, low: 6)
  /// Its clock, in milliseconds since 1970.
  static let milliseconds: Int64 = 1_767_225_600_000
  static let token = [UInt8](repeating: 3, count: 32)

  private let state = Mutex(State())
  private let listener = Mutex<(any Channel)?>(nil)
  /// One element for each received frame.
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

  /// Stores operations of another device and sends them to all.
  func publish(_ operations: [Operation]) throws {
    let (frame, channels) = try state.withLock { state in
      try state.append(operations)
      let frame = Frame.changes(
        Changes(batch: 0, prefix: state.head, delta: PackedDelta.pack(operations)))
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

  /// - Returns: the answers, and whether to cut the connection.
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
      let access = state.script.access.map { [Frame.access($0)] } ?? []
      return (access + welcome(hello, state), false)
    case .changes(let changes):
      try state.append(PackedDelta.unpack(changes.delta))
      if state.script.cutsAfterStoring > 0 {
        state.script.cutsAfterStoring -= 1
        return ([], true)
      }
      return ([.ack(Ack(batch: changes.batch, prefix: state.head))], false)
    default:
      return ([], false)
    }
  }

  private func welcome(_ hello: Hello, _ state: State) -> [Frame] {
    let welcome = Frame.welcome(
      Welcome(
        version: ProtocolVersion.current, head: state.head, nonce: UInt64(state.connections),
        serverMilliseconds: Self.milliseconds, pingSeconds: 20, backoffMillisecondsMin: 0))
    guard hello.prefix != state.head else { return [welcome] }
    if let place = state.prefixes.firstIndex(of: hello.prefix), !state.script.sendsSnapshots {
      return [welcome]
        + (place..<state.log.count).map {
          .changes(Changes(batch: 0, prefix: state.prefixes[$0 + 1], delta: state.log[$0]))
        }
    }
    let bytes = PackedSnapshot.pack(state.workspace.image())
    return [welcome]
      + SnapshotPart.parts(of: bytes, prefix: state.head, bytesMax: 1 << 18).map { .snapshot($0) }
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
