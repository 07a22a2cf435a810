import Foundation
import LocalAPI
import Logging
import Observability
import SyncClient
import Synchronization
import Testing

@testable import SyncDaemon

@Suite(.timeLimit(.minutes(10))) struct DaemonTests {
  @Test func socketIsForItsOwnerAloneAndGoesWithTheDaemon() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    try await RunningDaemon.run(directory: directory) { daemon in
      #expect(daemon.socket == directory.path + "/cospool.sock")
      let attributes = try FileManager.default.attributesOfItem(atPath: daemon.socket)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      try await daemon.requireAnswer()
    }
    #expect(!FileManager.default.fileExists(atPath: directory.path + "/cospool.sock"))
  }

  /// The start of the services logs their names in detail, but not their whole content.
  @Test func theEnvironmentIsInNoLineOfTheLog() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let lines = Lines()
    var logger = Logger(label: "test") { label in
      JSONLogHandler(label: label) { lines.add(String(decoding: $0, as: UTF8.self)) }
    }
    logger.logLevel = .trace
    try await RunningDaemon.run(
      directory: directory, environment: ["DB_PASS": "hunter2-planted"], logger: logger
    ) { try await $0.requireAnswer() }
    #expect(lines.all.contains { $0.contains("LateService<AgentService>") })
    for line in lines.all { #expect(!line.contains("hunter2-planted"), "\(line)") }
  }

  /// The logged lines.
  private final class Lines: Sendable {
    private let kept = Mutex<[String]>([])

    var all: [String] { kept.withLock { $0 } }

    func add(_ line: String) { kept.withLock { $0.append(line) } }
  }

  @Test func secondDaemonOfAStoreIsRefusedAndTheFirstLives() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    try await RunningDaemon.run(directory: directory) { first in
      let failure = await #expect(throws: DaemonFailure.self) {
        try await RunningDaemon.run(directory: directory) { _ in }
      }
      #expect(failure?.exitCode == 1)
      #expect(failure?.message.contains(#/another daemon, process \d+, uses/#) == true)
      try await first.requireAnswer()
    }
  }

  @Test func staleSocketOfAKilledDaemonIsReplaced() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    // Bound, and never closed by its owner, like after `kill -9`.
    try bindAbandonedSocket(at: directory.path + "/cospool.sock")
    try await RunningDaemon.run(directory: directory) { daemon in
      try await daemon.requireAnswer()
    }
  }

  @Test func fileAtTheSocketsPlaceIsLeftAlone() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let path = directory.path + "/cospool.sock"
    try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
    let failure = await #expect(throws: DaemonFailure.self) {
      try await RunningDaemon.run(directory: directory) { _ in }
    }
    #expect(failure?.exitCode == 1)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
  }

  @Test func dataDirectoryTooLongForASocketIsServedFromAShortOne() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let long = directory.path + "/" + String(repeating: "d", count: 120)
    let pointer = long + "/cospool.sock.path"
    try await RunningDaemon.run(directory: directory, dataDirectory: long) { daemon in
      #expect(daemon.socket.hasPrefix(directory.path + "/cospool/"))
      #expect(try String(contentsOfFile: pointer, encoding: .utf8) == daemon.socket + "\n")
      try await daemon.requireAnswer()
    }
    #expect(!FileManager.default.fileExists(atPath: pointer))
  }

  /// In a directory that every user may write to, another user may create the directory first. That
  /// does not prevent the daemon's start.
  @Test func runtimeDirectoryOfSomebodyElseIsLeftAlone() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let open = directory.path + "/cospool"
    try FileManager.default.createDirectory(
      atPath: open, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
    chmod(open, 0o777)
    let long = directory.path + "/" + String(repeating: "d", count: 120)
    let pointer = long + "/cospool.sock.path"
    try await RunningDaemon.run(directory: directory, dataDirectory: long) { daemon in
      let folder = String(daemon.socket.dropLast("/0123456789abcdef.sock".count))
      #expect(folder.hasPrefix(open + "-") && folder.count == open.count + 7, "\(daemon.socket)")
      let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int
      #expect(mode == 0o700)
      #expect(try String(contentsOfFile: pointer, encoding: .utf8) == daemon.socket + "\n")
      try await daemon.requireAnswer()
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(Set(left) == ["cospool", URL(filePath: long).lastPathComponent], "\(left)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
  }

  @Test func corruptStoreEndsWithSixAndIsKept() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    try await RunningDaemon.run(directory: directory) { daemon in
      _ = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"text":"kept"}"#)
    }
    let store = directory.path + "/cospool.sqlite"
    try Data(repeating: 0x5A, count: 8_192).write(to: URL(fileURLWithPath: store))
    let failure = await #expect(throws: DaemonFailure.self) {
      try await RunningDaemon.run(directory: directory) { _ in }
    }
    #expect(failure?.exitCode == 6)
    #expect(failure?.message.contains("moved to") == true)
    // The next start is a clean one.
    try await RunningDaemon.run(directory: directory) { daemon in
      try await daemon.requireAnswer()
    }
  }

  @Test func acknowledgedCommandsSurviveARestart() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    try await RunningDaemon.run(directory: directory) { daemon in
      let reply = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"text":"still here"}"#)
      #expect(reply.status == 201)
    }
    try await RunningDaemon.run(directory: directory) { daemon in
      let queue = try await daemon.request("GET", "/v1/sessions/review/queue")
        .decoded(QueueAnswer.self)
      #expect(queue.messages.map(\.content) == ["still here"])
    }
  }

  @Test(arguments: [SIGTERM, SIGINT]) func signalAsksInsteadOfKilling(number: Int32) async {
    await #expect(processExitsWith: .exitCode(70)) { [number] in
      var signals = await StopSignals.stream().makeAsyncIterator()
      kill(getpid(), number)
      await signals.next()
      exit(70)
    }
  }

  @Test func hangingRequestDoesNotKeepTheDaemonAlive() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let (connections, keep) = AsyncStream<RawConnection>.makeStream()
    try await RunningDaemon.run(directory: directory) { daemon in
      let connection = try RawConnection(path: daemon.socket)
      let request = RawReply.request(
        "POST", "/v1/sessions/review/queue", body: Array(#"{"text":"x"}"#.utf8))
      try await connection.write(Array(request.dropLast()))
      keep.yield(connection)
      keep.finish()
      // Once a later request is answered, the daemon has read the incomplete one.
      try await daemon.requireAnswer()
    }
    for await connection in connections { connection.close() }
    #expect(!FileManager.default.fileExists(atPath: directory.path + "/cospool.sock"))
  }

  private func bindAbandonedSocket(at path: String) throws {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0)
  }
}
