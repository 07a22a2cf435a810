import Foundation
import Synchronization
import Testing

/// One test's world: a directory, and the processes in it. All of it is removed at the end.
final class TestBed: Sendable {
  /// Short, since a Unix socket's path below it must fit about 100 bytes.
  let directory: String
  private let processes = Mutex<[ChildProcess]>([])
  private let cleanups = Mutex<[@Sendable () async -> Void]>([])

  private init() throws {
    let parent = NSTemporaryDirectory().utf8.count <= 40 ? NSTemporaryDirectory() : "/tmp/"
    var template = Array((parent + "cs.XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw ProcessFailure("no temporary directory: \(String(cString: strerror(errno)))")
    }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Runs a test; if it throws, the failure includes the output of the processes.
  static func run(
    sourceLocation: SourceLocation = #_sourceLocation, _ test: (TestBed) async throws -> Void
  ) async throws {
    let bed = try TestBed()
    do {
      try await test(bed)
    } catch {
      let transcripts = bed.longLivedTranscripts
      await bed.tearDown()
      Issue.record(error, "\(transcripts)", sourceLocation: sourceLocation)
      return
    }
    await bed.tearDown()
  }

  private var longLivedTranscripts: String {
    processes.withLock { $0 }
      .filter { !$0.name.contains(" cospool ") }
      .map(\.transcript).joined(separator: "\n")
  }

  private func tearDown() async {
    let all = processes.withLock { $0 }
    for process in all { process.send(SIGKILL) }
    for process in all { _ = try? await process.ended() }
    for cleanup in cleanups.withLock({ $0 }).reversed() { await cleanup() }
    // Best effort: a leftover directory must not hide the test's own failure.
    try? FileManager.default.removeItem(atPath: directory)
  }

  func atEnd(_ cleanup: @escaping @Sendable () async -> Void) {
    cleanups.withLock { $0.append(cleanup) }
  }

  func path(_ name: String) -> String { "\(directory)/\(name)" }

  /// Starts one of the product's executables.
  func start(
    _ executable: String, _ arguments: [String], name: String? = nil, input: String? = nil,
    environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try launch(
      try Executables.path(of: executable), arguments,
      name: "\(name ?? "") \(executable) \(arguments.first ?? "")", input: input,
      environment: environment)
  }

  /// Starts `cospool` as a hook of its own agent, which is not the source of the answers.
  func underAgent(_ arguments: [String], input: String) throws -> ChildProcess {
    try launch(
      "/usr/bin/env", ["timeout", "600", try Executables.path(of: "cospool")] + arguments,
      name: "hook", input: input)
  }

  /// Starts any executable.
  func launch(
    _ path: String, _ arguments: [String], name: String, input: String? = nil,
    environment: [String: String] = [:]
  ) throws -> ChildProcess {
    let process = try ChildProcess(
      name, executable: path, arguments: arguments,
      environment: [
        "HOME": directory, "TMPDIR": directory, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no",
      ].merging(environment) { _, chosen in chosen }, input: input)
    processes.withLock { $0.append(process) }
    return process
  }

  /// Runs one of the product's executables until it ends.
  func run(
    _ executable: String, _ arguments: [String], name: String? = nil, input: String? = nil,
    within seconds: Double = 120
  ) async throws -> Output {
    let process = try start(executable, arguments, name: name, input: input)
    return try await finish(process, arguments, within: seconds)
  }

  func finish(_ process: ChildProcess, _ arguments: [String], within seconds: Double = 120)
    async throws -> Output
  {
    let exit = try await process.ended(within: seconds)
    processes.withLock { $0.removeAll { $0 === process } }
    return Output(
      command: "\(process.name): \(arguments.joined(separator: " "))", exit: exit,
      standardOutput: process.standardOutput, standardError: process.standardError)
  }
}

/// The output of an ended command.
struct Output: Sendable, CustomStringConvertible {
  var command: String
  var exit: ChildProcess.Exit
  var standardOutput: String
  var standardError: String

  var code: Int32? {
    if case .code(let code) = exit { code } else { nil }
  }

  var isSuccess: Bool { code == 0 }

  var description: String { "\(command) -> \(exit)\n\(standardOutput)\(standardError)" }

  /// The output itself, if it succeeded.
  func succeeded() throws -> Output {
    guard isSuccess else { throw ProcessFailure(description) }
    return self
  }

  func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: Data(standardOutput.utf8))
    } catch {
      throw ProcessFailure("\(command): not a \(Value.self): \(error)\n\(standardOutput)")
    }
  }
}

/// The folder of the executables: next to the running test bundle.
enum Executables {
  static func path(of name: String) throws -> String {
    for folder in folders {
      let path = folder.appending(path: name).path(percentEncoded: false)
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw ProcessFailure(
      "no \(name) in \(folders.map(\.path)); build it first, or set COSPOOL_BIN")
  }

  /// The root of the repository.
  static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static let folders: [URL] = {
    var folders: [URL] = []
    if let chosen = ProcessInfo.processInfo.environment["COSPOOL_BIN"] {
      folders.append(URL(filePath: chosen))
    }
    if let running = Bundle.main.executableURL {
      folders.append(running.deletingLastPathComponent())
    }
    folders.append(root.appending(path: ".build/debug"))
    return folders
  }()
}
