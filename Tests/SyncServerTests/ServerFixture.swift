import Foundation
import Logging
import NIOCore
import NIOPosix
import QueueModel
import SequenceCRDT
import ServerCore
import SyncServer
import Testing
import WireProtocol

/// A real server with a temporary directory and an ephemeral port.
struct ServerFixture: Sendable {
  let directory: String
  var server: SyncServer
  let options: SyncServerOptions

  static func start(
    _ adjust: (inout SyncServerOptions) -> Void = { _ in }, logger: Logger = quiet
  ) async throws -> ServerFixture {
    let directory = NSTemporaryDirectory() + "cospool-server-" + UUID().uuidString
    var options = SyncServerOptions(dataDirectory: directory, port: 0)
    options.tickMilliseconds = 20
    options.lingerMilliseconds = 300
    // Other tests use the processors: a slow client is not a silent one here.
    options.core.admission.milliseconds = 60_000
    options.pings.silenceMilliseconds = 120_000
    adjust(&options)
    let server = try await SyncServer.start(options, logger: logger)
    return ServerFixture(directory: directory, server: server, options: options)
  }

  static var quiet: Logger {
    Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  }

  /// Runs a test against a server and stops it, however the test ends.
  static func with(
    _ adjust: (inout SyncServerOptions) -> Void = { _ in }, logger: Logger = quiet,
    _ body: (inout ServerFixture) async throws -> Void
  ) async throws {
    var fixture = try await start(adjust, logger: logger)
    do {
      try await body(&fixture)
    } catch {
      await fixture.end()
      throw error
    }
    await fixture.end()
  }

  private func end() async {
    await server.stop()
    // The system cleans up the rest.
    try? FileManager.default.removeItem(atPath: directory)
  }

  var administration: ServerAdministration { ServerAdministration(dataDirectory: directory) }

  mutating func restart() async throws {
    await server.stop()
    server = try await SyncServer.start(options, logger: ServerFixture.quiet)
  }

  /// A one-time code of a workspace, which it creates if there is none.
  func code(of workspace: String) throws -> String {
    let isKnown = try administration.workspaces().workspaces.contains { $0.name == workspace }
    return try administration.pair(workspaceName: workspace, isNew: !isKnown).code
  }

  /// Pairs a device over the wire.
  func pair(
    _ number: UInt64, workspace: String = "default", name: String? = nil, code: String? = nil
  ) async throws -> WireDevice {
    let code = try code ?? self.code(of: workspace)
    let client = try await RawClient.connect(port: server.port)
    let device = DeviceID(high: 9, low: number)
    try await client.send(
      .pair(
        PairRequest(
          versions: ProtocolVersion.spoken, code: code, device: device,
          deviceName: name ?? "d\(number)")))
    guard case .paired(let grant) = try await client.frame() else {
      throw RawClient.NotUpgraded()
    }
    _ = try await client.end()
    return WireDevice(number: number, workspaceID: grant.workspace, token: grant.token)
  }

  /// Connects a device and waits until it has caught up.
  func join(_ device: inout WireDevice) async throws -> RawClient {
    let client = try await RawClient.connect(port: server.port)
    try await client.send(.hello(device.hello))
    while let frame = try await client.frame() {
      try device.take(frame)
      if case .presence = frame { break }
    }
    return client
  }

  /// A plain HTTP request's status line and body.
  func get(_ path: String) async throws -> (status: String, body: String) {
    let text = try await PlainRequest.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", server.port)
    let parts = text.components(separatedBy: "\r\n\r\n")
    return (text.components(separatedBy: "\r\n").first ?? "", parts.dropFirst().joined())
  }
}

/// A device with real operations.
struct WireDevice {
  let number: UInt64
  var workspaceID: WorkspaceID
  var token: [UInt8]
  var workspace = Workspace()
  /// The prefix of the server's log that it has.
  var prefix = LogPrefix.empty
  private var batch: UInt64 = 0

  init(number: UInt64, workspaceID: WorkspaceID, token: [UInt8]) {
    self.number = number
    self.workspaceID = workspaceID
    self.token = token
  }

  var replica: ReplicaID { ReplicaID(rawValue: 1_000 + number) }

  var hello: Hello {
    Hello(
      versions: ProtocolVersion.spoken, token: token, workspace: workspaceID,
      device: DeviceID(high: 9, low: number), store: StoreID(rawValue: 2_000 + number),
      deviceName: "d\(number)", prefix: prefix)
  }

  /// Queues a prompt; returns the batch to send.
  mutating func write(_ text: String, in session: String = "main") throws -> Frame {
    try perform(
      .send(
        Command.Send(
          session: try SessionID(session), id: MessageID(high: number, low: batch + 1), text: text))
    )
  }

  /// Performs a command; returns the batch to send.
  mutating func perform(_ command: Command) throws -> Frame {
    var operations = workspace.announce(
      device: DeviceID(high: 9, low: number), name: "d\(number)", replica: replica)
    batch += 1
    let context = CommandContext(
      replica: replica, stamp: Stamp(milliseconds: 1_700_000_000_000, counter: UInt16(batch)),
      queueSizeMax: Limits.queueSizeRange.upperBound)
    operations += try workspace.perform(command, in: context).operations
    return .changes(Changes(batch: batch, delta: PackedDelta.pack(operations)))
  }

  mutating func take(_ frame: Frame) throws {
    switch frame {
    case .changes(let changes):
      _ = try workspace.merge(PackedDelta.unpack(changes.delta))
      prefix = changes.prefix
    case .ack(let ack): prefix = ack.prefix
    case .snapshot(let part):
      // Small enough for one part; a state that lacks something is not accepted.
      let state = try Workspace(image: PackedSnapshot.unpack(part.bytes))
      guard part.count == 1, state.vector.includes(workspace.vector) else { return }
      workspace = state
      prefix = part.prefix
    default: break
    }
  }
}

extension Frame {
  /// Whether it reports that a batch is in the log, and the log's length.
  func acknowledges(_ batch: UInt64, at position: UInt64) -> Bool {
    guard case .ack(let ack) = self else { return false }
    return ack.batch == batch && ack.prefix.position == position
  }
}

/// Sends text over TCP and reads until the server closes.
enum PlainRequest {
  static func send(
    _ text: String, _ port: Int, endingInput: Bool = false
  ) async throws -> String {
    try await start(text, port, endingInput: endingInput).get()
  }

  /// Connects, sends, and ends its half of the connection if requested; the future ends when the
  /// server closes.
  static func start(
    _ text: String, _ port: Int, endingInput: Bool = false
  ) async throws -> EventLoopFuture<String> {
    let finished = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String.self)
    do {
      let channel = try await connect(port, Collector(finished: finished))
      // On a busy machine, the server's deadline can come first; then the end is enough.
      channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
      if endingInput { channel.close(mode: .output, promise: nil) }
    } catch {
      finished.fail(error)
    }
    return finished.futureResult
  }

  /// Connects, sends, and waits for the beginning of the answer; the connection stays open.
  ///
  /// - Returns: the connection and the status line; empty if the server closed.
  static func hold(
    _ text: String, _ port: Int
  ) async throws -> (channel: any Channel, status: Substring) {
    let began = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String.self)
    let channel: any Channel
    do {
      channel = try await connect(port, Collector(began: began))
    } catch {
      began.succeed("")
      throw error
    }
    channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    return (channel, try await began.futureResult.get().prefix { $0 != "\r\n" })
  }

  private static func connect(
    _ port: Int, _ collector: @autoclosure @escaping @Sendable () -> Collector
  ) async throws -> any Channel {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(collector())
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
  }

  private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let began: EventLoopPromise<String>?
    private let finished: EventLoopPromise<String>?
    private var text = ""

    init(began: EventLoopPromise<String>? = nil, finished: EventLoopPromise<String>? = nil) {
      self.began = began
      self.finished = finished
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      text += String(buffer: unwrapInboundIn(data))
      began?.succeed(text)
    }

    func channelInactive(context: ChannelHandlerContext) {
      began?.succeed(text)
      finished?.succeed(text)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
}
