import Foundation
import LocalAPI
import Logging
import SyncClient

@testable import SyncCommand
@testable import SyncDaemon

/// The command line with a real daemon and a real store.
struct CommandFixture: Sendable {
  var directory: String

  /// Runs a daemon in a directory of its own while `body` runs.
  static func run(
    queueSizeMax: Int? = 10, threadQueue: Bool? = true, longPath: Bool = false,
    _ body: @Sendable (CommandFixture) async throws -> Void
  ) async throws {
    let root = "/tmp/csp-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: root) }
    try await run(
      in: root, subdirectory: longPath ? "/" + String(repeating: "d", count: 120) : "",
      queueSizeMax: queueSizeMax, threadQueue: threadQueue, body)
  }

  /// The same in a directory that is kept.
  static func run(
    in root: String, subdirectory: String = "", queueSizeMax: Int? = 10,
    threadQueue: Bool? = true, _ body: @Sendable (CommandFixture) async throws -> Void
  ) async throws {
    try FileManager.default.createDirectory(
      atPath: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let directory = root + subdirectory
    let (ready, isReady) = AsyncStream<String>.makeStream()
    let (stop, stopNow) = AsyncStream<Void>.makeStream()
    var flags: [SettingName: SettingValue] = [.deviceName: .text("desk")]
    flags[.maxQueueSize] = queueSizeMax.map(SettingValue.number)
    flags[.queueEnabled] = threadQueue.map(SettingValue.flag)
    let settings = try SettingsStore(
      flags: flags, environment: [:], dataDirectory: directory)
    let daemon = Daemon(
      dataDirectory: directory, settings: settings,
      environment: ["XDG_RUNTIME_DIR": root],
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      ready: { isReady.yield($0) })
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        defer { isReady.finish() }
        try await daemon.run(stop: stop)
      }
      var sockets = ready.makeAsyncIterator()
      if await sockets.next() != nil {
        defer { stopNow.yield() }
        try await body(CommandFixture(directory: directory))
      }
      try await tasks.waitForAll()
    }
  }

  /// Runs the command line as a shell would, in this data directory.
  func cospool(_ arguments: String..., input: String = "") async -> CommandRunner.Outcome {
    await Self.cospool(
      arguments, variables: ["COSPOOL_DATA": directory], input: Array(input.utf8))
  }

  /// The choice of a text of a merged message, with the mark that `queue show` prints.
  func marked(_ choice: String, of message: String) async throws -> String {
    let shown = await cospool("queue", "show", message).output
    guard let found = shown.firstMatch(of: /--take (?:1|merged)-([0-9a-f]{8})/) else {
      throw CommandFailure.usage("No choice is shown: \(shown)")
    }
    return "\(choice)-\(found.1)"
  }

  static func cospool(
    _ arguments: [String], variables: [String: String] = [:], input: [UInt8] = []
  ) async -> CommandRunner.Outcome {
    var environment = Environment(
      variables: variables, input: StandardInput { input }, style: .plain, watching: .none)
    environment.doctorLimits = .unhurried
    return await CommandRunner(environment: environment).run(arguments)
  }
}

extension WatchSurroundings {
  /// The time limit for commands that end by themselves.
  static let none = WatchSurroundings(
    write: { _ in false }, screen: { nil }, style: { .plain }, stop: { AsyncStream { nil } },
    resizes: { AsyncStream { nil } })
}

extension TextStyle {
  /// There is no terminal; ages are counted from 2026-01-02 00:00:00 UTC.
  static let plain = TextStyle(
    width: nil, hasColour: false, now: Date(timeIntervalSince1970: 1_767_312_000))
}

extension DoctorLimits {
  /// A long limit, for busy machines.
  static let unhurried = DoctorLimits(
    check: .seconds(50), daemonSeconds: 40, connectSeconds: 40, versionSeconds: 40)
}
