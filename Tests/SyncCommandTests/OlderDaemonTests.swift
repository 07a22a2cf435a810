import Foundation
import Synchronization
import Testing

@testable import SyncCommand

/// Before a daemon whose status has little of what it has now.
@Suite(.timeLimit(.minutes(5))) struct OlderDaemonTests {
  /// Answers whatever is asked alike.
  private final class Responder: Sendable {
    private let socket: Int32

    init(at path: String, json: String) throws {
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
          + "Connection: close\r\n\r\n" + json).utf8)
      Thread.detachNewThread {
        while true {
          let connection = accept(socket, nil, nil)
          guard connection >= 0 else { break }
          var request = [UInt8](repeating: 0, count: 4_096)
          _ = read(connection, &request, request.count)
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
  private static let process = 1 << 30

  private func with(_ body: (String) async throws -> Void) async throws {
    let data = "/tmp/csp-older-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(
      atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: data) }
    let responder = try Responder(
      at: DaemonConnection(dataDirectory: data).socketPath,
      json: #"{"daemon":{"version":"0.0.1","processID":\#(Self.process)}}"#)
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

  /// Nothing is ended where nobody could start it again as it was.
  @Test func aDaemonOfWhichNobodyKnowsHowItWasStartedIsLeft() async throws {
    try await with { data in
      let done = await CommandFixture.cospool(
        ["service", "restart"], variables: ["COSPOOL_DATA": data, "HOME": data, "PATH": "/nowhere"])
      #expect(done.exitCode == 1, "\(done)")
      #expect(done.errors.contains("kill -USR1 \(Self.process)"), "\(done)")
    }
  }
}
