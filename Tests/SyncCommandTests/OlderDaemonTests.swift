import Foundation
import Synchronization
import Testing

@testable import SyncCommand

/// Commands with a daemon whose answers are given: an older one, whose status lacks newer fields, or
/// one that knows the time better than this machine.
@Suite(.timeLimit(.minutes(5))) struct OlderDaemonTests {
  /// Gives every request the same answer.
  private final class Responder: Sendable {
    private let socket: Int32
    private let received = Mutex("")

    /// What was asked, one after the other.
    var requests: String { received.withLock { $0 } }

    /// - Parameter fields: further lines of the answer's head.
    init(at path: String, json: String, fields: String = "") throws {
      let socket = Foundation.socket(AF_UNIX, Self.stream, 0)
      self.socket = socket
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let length = socklen_t(MemoryLayout<sockaddr_un>.size)
      let isBound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) == 0 }
      }
      try #require(isBound && listen(socket, 16) == 0)
      let answer = Array(
        ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n"
          + "Connection: close\r\n\(fields)\r\n" + json).utf8)
      Thread.detachNewThread { [self] in
        while true {
          let connection = accept(socket, nil, nil)
          guard connection >= 0 else { break }
          var request = [UInt8](repeating: 0, count: 4_096)
          let count = read(connection, &request, request.count)
          received.withLock { $0 += String(decoding: request.prefix(max(0, count)), as: UTF8.self) }
          _ = write(connection, answer, answer.count)
          close(connection)
        }
        close(socket)
      }
    }

    /// Ends its waiting.
    func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

    private static var stream: Int32 {
      #if canImport(Darwin)
        SOCK_STREAM
      #else
        Int32(SOCK_STREAM.rawValue)
      #endif
    }
  }

  /// No process has this number on Linux.
  private static let nobody = 1 << 30

  private func with(
    process: Int = OlderDaemonTests.nobody, _ body: (String) async throws -> Void
  ) async throws {
    let data = "/tmp/csp-older-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(
      atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: data) }
    let responder = try Responder(
      at: DaemonConnection(dataDirectory: data).socketPath,
      json: #"{"daemon":{"version":"0.0.1","processID":\#(process)}}"#)
    defer { responder.stop() }
    try await body(data)
  }

  @Test func theDoctorTellsItsVersion() async throws {
    try await with { data in
      let done = await CommandFixture.cospool(
        ["doctor", "--json"], variables: ["COSPOOL_DATA": data, "HOME": data, "PATH": "/nowhere"])
      #expect(done.output.contains("the daemon has version 0.0.1"), "\(done)")
      #expect(!done.output.contains("unexpectedAnswer"), "\(done)")
    }
  }

  /// I-123: the clock of this machine is ten days behind.
  @Test func timesCountFromTheDaemonsClock() async throws {
    let data = "/tmp/csp-later-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(
      atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: data) }
    let time = Int64(Date.now.timeIntervalSince1970 * 1_000) + 10 * 86_400_000
    let responder = try Responder(
      at: DaemonConnection(dataDirectory: data).socketPath, json: #"{"sessions":[]}"#,
      fields: "Cospool-Time: \(time)\r\n")
    defer { responder.stop() }
    let done = await CommandFixture.cospool(
      ["queue", "later", "3f2a1b2c", "--in", "3h", "--json"], variables: ["COSPOOL_DATA": data])
    #expect(done.exitCode == 0, "\(done)")
    let sent = try #require(
      responder.requests.split(separator: #""later":""#).last?.split(separator: "\"").first)
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let later = try format.parse(String(sent)).timeIntervalSince1970
    #expect(abs(later - Double(time) / 1_000 - 3 * 3_600) < 60, "\(responder.requests)")
  }

  #if os(Linux)
    /// The process number of a daemon in another container belongs to another process here: nothing
    /// is ended.
    @Test func aDaemonOfAnotherContainerIsLeft() async throws {
      let other = Process()
      other.executableURL = URL(filePath: "/bin/sleep")
      other.arguments = ["600"]
      try other.run()
      defer { end(other) }
      try await with(process: Int(other.processIdentifier)) { data in
        let machine = ["COSPOOL_DATA": data, "HOME": data, "PATH": "/nowhere"]
        let done = await CommandFixture.cospool(["service", "restart"], variables: machine)
        #expect(done.exitCode == 1 && done.errors.contains("another container"), "\(done)")
        #expect(other.isRunning)
      }
    }

    /// Nothing is ended if it could not be started again in the same way.
    @Test func aDaemonWithAnUnknownStarterIsLeftRunning() throws {
      let failure = #expect(throws: CommandFailure.self) {
        try DaemonStart(of: OlderDaemonTests.nobody)
      }
      #expect(failure?.message.contains("kill -USR1 \(OlderDaemonTests.nobody)") == true)
    }

    /// A daemon that sees other files, as in a container: starting one from here would start a
    /// different one.
    @Test(.enabled(if: OlderDaemonTests.maySeparateFiles))
    func aDaemonThatSeesOtherFilesIsLeft() async throws {
      let other = Process()
      other.executableURL = URL(filePath: "/usr/bin/unshare")
      other.arguments = ["--mount", "sh", "-c", "echo; exec sleep 600"]
      let pipe = Pipe()
      other.standardOutput = pipe
      try other.run()
      defer { end(other) }
      // The program has begun there.
      _ = try pipe.fileHandleForReading.read(upToCount: 1)
      let failure = #expect(throws: CommandFailure.self) {
        try DaemonStart(of: Int(other.processIdentifier))
      }
      #expect(failure?.code == "otherContainer")
    }

    /// A process that a thread of Dispatch starts blocks SIGTERM, like the thread, and would
    /// continue.
    private func end(_ process: Process) {
      kill(process.processIdentifier, SIGKILL)
    }

    private static var maySeparateFiles: Bool {
      let tried = Process()
      tried.executableURL = URL(filePath: "/usr/bin/unshare")
      tried.arguments = ["--mount", "true"]
      tried.standardError = FileHandle.nullDevice
      guard (try? tried.run()) != nil else { return false }
      tried.waitUntilExit()
      return tried.terminationStatus == 0
    }
  #endif
}
