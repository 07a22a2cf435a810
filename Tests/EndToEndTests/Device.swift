import Foundation
import LocalAPI
import Synchronization
import Testing

/// One device: a data directory, its daemon, and the command line that connects to it.
final class Device: Sendable {
  let bed: TestBed
  let name: String
  let data: String
  private let current = Mutex<ChildProcess?>(nil)

  init(_ bed: TestBed, _ name: String, data: String? = nil) {
    self.bed = bed
    self.name = name
    self.data = data ?? bed.path(name)
  }

  var daemon: ChildProcess? { current.withLock { $0 } }

  // MARK: The daemon

  /// Starts the daemon and waits until it accepts commands.
  ///
  /// - Parameter mask: the umask of its start, in octal digits; nil is the test's own.
  func start(
    _ options: [String] = [], mask: String? = nil, environment: [String: String] = [:]
  ) async throws {
    let process = try launch(options, mask: mask, environment: environment)
    _ = try await process.line(holding: "ready on")
  }

  /// Starts the daemon without waiting.
  @discardableResult
  func launch(
    _ options: [String] = [], mask: String? = nil, environment: [String: String] = [:]
  ) throws -> ChildProcess {
    let arguments = ["--data", data, "--name", name, "--thread-queue", "on"] + options
    let process: ChildProcess
    if let mask {
      process = try bed.launch(
        "/bin/sh",
        ["-c", "umask \(mask); exec \"$0\" \"$@\"", try Executables.path(of: "cospoold")]
          + arguments, name: "\(name) cospoold")
    } else {
      process = try bed.start("cospoold", arguments, name: name, environment: environment)
    }
    current.withLock { $0 = process }
    return process
  }

  @discardableResult
  func stop() async throws -> ChildProcess.Exit {
    guard let daemon else { return .code(0) }
    daemon.send(SIGTERM)
    let exit = try await daemon.ended()
    current.withLock { $0 = nil }
    return exit
  }

  func kill() async throws {
    guard let daemon else { return }
    daemon.send(SIGKILL)
    try await daemon.ended()
    current.withLock { $0 = nil }
  }

  // MARK: The command line

  /// Runs `cospool` until it ends, whatever the result.
  func attempt(_ arguments: [String], input: String? = nil) async throws -> Output {
    try await bed.run("cospool", arguments + ["--data", data], name: name, input: input)
  }

  func attempt(_ arguments: String...) async throws -> Output {
    try await attempt(arguments)
  }

  /// Runs `cospool` and expects success.
  @discardableResult
  func cospool(_ arguments: String...) async throws -> String {
    try await attempt(arguments).succeeded().standardOutput
  }

  func pair(with server: Server, workspace: String? = nil) async throws {
    try await pair(url: server.url, code: try await server.code(workspace: workspace))
  }

  func pair(url: String, code: String) async throws {
    _ = try await attempt(["pair", url, code]).succeeded()
  }

  @discardableResult
  func send(_ session: String, _ text: String, id: UUID = UUID()) async throws -> String {
    let id = id.uuidString.lowercased()
    try await cospool("send", "-s", session, "--id", id, text)
    return id
  }

  func synchronise(timeout: Int = 60) async throws {
    try await cospool("sync", "wait", "--timeout", "\(timeout)")
  }

  func dump() async throws -> String { try await cospool("dump") }

  func status() async throws -> Status {
    let answer: StatusAnswer = try await attempt("status", "--json").succeeded().decoded()
    return answer.sync
  }

  func queue(_ session: String) async throws -> QueueList {
    let lists: QueueLists =
      try await attempt("queue", "list", "-s", session, "--json").succeeded().decoded()
    return try #require(lists.queues.first)
  }

  func threads() async throws -> ThreadList {
    try await attempt("thread", "list", "--json").succeeded().decoded()
  }

  func contents(_ session: String) async throws -> [String] {
    try await queue(session).messages.map(\.content)
  }

  // MARK: Files

  var database: String { "\(data)/cospool.sqlite" }
  var credentials: String { "\(data)/credentials.json" }
}

/// `cospool queue list --json`.
struct QueueLists: Decodable {
  var queues: [QueueList]
}

/// One queue of it.
struct QueueList: Decodable {
  var session: String
  var paused: Bool
  var messages: [Message]

  struct Message: Decodable, Hashable {
    var id: String
    var content: String
    var priority: String
    var status: String
    var position: Int
    var createdAt: String
    var device: String?
  }
}

/// `cospool thread list --json`.
struct ThreadList: Decodable {
  var threads: [Thread]

  struct Thread: Decodable, Hashable {
    var session: String
    var sessionName: String
    var project: String
    var position: Int
    var queuedAt: String
    var locked: Bool
  }
}

/// `cospool status --json`.
struct StatusAnswer: Decodable {
  var sync: Status
}

/// The part about sync.
struct Status: Decodable {
  var state: String
  var device: String
  var outgoing: Int
  var refusalCode: String?
  var lastError: String?
  var repairs: Int?
}
