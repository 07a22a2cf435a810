import Basics
import Foundation
import LocalAPI
import Logging
import SyncClient
import Synchronization
import Testing

@testable import SyncDaemon

/// A real daemon with a real store in a directory of its own, for the duration of a test.
struct RunningDaemon: Sendable {
  var directory: String
  var socket: String

  /// Runs a daemon while `body` runs, then stops it as a signal would.
  static func run(
    directory: TemporaryDirectory, dataDirectory: String? = nil, queueSizeMax: Int? = 10,
    threadQueue: Bool? = true, heartbeatPeriod: Duration = EventStream.heartbeatPeriodDefault,
    stopGrace: Duration = .milliseconds(500), environment: [String: String] = [:],
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    _ body: @Sendable (RunningDaemon) async throws -> Void
  ) async throws {
    let data = dataDirectory ?? directory.path
    let (ready, isReady) = AsyncStream<String>.makeStream()
    let (stop, stopNow) = AsyncStream<Void>.makeStream()
    var flags: [SettingName: SettingValue] = [.deviceName: .text("desk")]
    flags[.maxQueueSize] = queueSizeMax.map(SettingValue.number)
    flags[.queueEnabled] = threadQueue.map(SettingValue.flag)
    let settings = try SettingsStore(
      flags: flags, environment: [:], dataDirectory: data)
    let daemon = Daemon(
      dataDirectory: data, settings: settings,
      environment: environment.merging(["XDG_RUNTIME_DIR": directory.path]) { $1 },
      logger: logger,
      stopGrace: stopGrace,
      heartbeatPeriod: heartbeatPeriod,
      ready: { isReady.yield($0) })
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        defer { isReady.finish() }
        try await daemon.run(stop: stop)
      }
      var sockets = ready.makeAsyncIterator()
      guard let socket = await sockets.next() else {
        // It ended before it was ready; the group throws why.
        try await tasks.waitForAll()
        return
      }
      do {
        try await body(RunningDaemon(directory: data, socket: socket))
      } catch {
        stopNow.yield()
        throw error
      }
      stopNow.yield()
      try await tasks.waitForAll()
    }
  }

  static func run(
    queueSizeMax: Int? = 10, threadQueue: Bool? = true,
    heartbeatPeriod: Duration = EventStream.heartbeatPeriodDefault,
    _ body: @Sendable (RunningDaemon) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    try await run(
      directory: directory, queueSizeMax: queueSizeMax, threadQueue: threadQueue,
      heartbeatPeriod: heartbeatPeriod, body)
  }

  /// Sends one request on a connection of its own, and checks the answer against its description.
  func request(
    _ method: String, _ path: String, _ body: String? = nil, headers: [String] = []
  ) async throws -> RawReply {
    let reply = try await send(
      RawReply.request(method, path, body: body.map { Array($0.utf8) }, headers: headers))
    check(reply, method, path)
    return reply
  }

  /// Records what the description lacks about an answer.
  private func check(_ reply: RawReply, _ method: String, _ path: String) {
    let plain = String(path.prefix { $0 != "?" })
    guard
      let operation = Route.all
        .filter({ $0.method == method && $0.matches(plain) })
        .min(by: { $0.pathParameters.count < $1.pathParameters.count })
    else {
      #expect([404, 405].contains(reply.status), "\(method) \(path): \(reply.status)")
      return
    }
    let isRefusal = reply.status != operation.status
    if isRefusal {
      #expect(
        operation.refusalStatuses.contains(reply.status),
        "\(method) \(path) may not answer \(reply.status): \(reply.body)")
    }
    let schema: JSONValue
    switch operation.answer {
    case _ where isRefusal: schema = SchemaCatalog().schema(of: RefusalAnswer.self)
    case .json(let type): schema = SchemaCatalog().schema(of: type)
    case .description, .events, .bytes: return
    }
    guard let value = try? reply.decoded(JSONValue.self) else {
      Issue.record("\(method) \(path) answers no JSON: \(reply.body)")
      return
    }
    let faults = SchemaCheck().faults(of: value, against: schema)
    #expect(faults == [], "\(method) \(path)")
  }

  /// Only the routes, over an open store.
  static func api(directory: TemporaryDirectory) async throws -> APIHandlers {
    let settings = try SettingsStore(flags: [:], environment: [:], dataDirectory: directory.path)
    let client = try await QueueClient.open(
      settings.configuration(dataDirectory: directory.path),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    return APIHandlers(
      client: client, settings: settings, output: OutputFolder(dataDirectory: directory.path),
      conversations: TerminalConversations(client: client),
      web: WebListener(
        keys: WebKeys(dataDirectory: directory.path), executor: nil, logger: Logger(label: "test")),
      turns: TurnAccess(socket: "", dataDirectory: directory.path),
      daemon: DaemonAnswer(
        version: "", processID: 0, startedAt: 0, dataDirectory: "", socket: "", threadQueue: true,
        queueSizeMax: 10))
  }

  /// Throws if the daemon does not answer as expected.
  func requireAnswer() async throws {
    let reply = try await request("GET", "/v1/status")
    guard reply.status == 200 else { throw RawConnection.Failure(message: reply.body) }
  }

  func send(_ bytes: [UInt8]) async throws -> RawReply {
    let connection = try RawConnection(path: socket)
    defer { connection.close() }
    try await connection.write(bytes)
    return try RawReply(try await connection.readToEnd())
  }
}

/// A directory with a short path, so that sockets fit into it.
struct TemporaryDirectory: Sendable {
  var path: String

  init() throws {
    path = "/tmp/csp-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }
}
