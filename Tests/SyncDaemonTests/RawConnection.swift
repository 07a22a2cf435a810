import Foundation
import LocalAPI

/// A plain Unix socket, so that tests can send what no HTTP library would send.
final class RawConnection: Sendable {
  struct Failure: Error {
    var message: String
  }

  /// A daemon that sends nothing for this time has failed the test.
  private static let silenceSecondsMax = 60

  private let descriptor: Int32

  /// A connection to a port of this machine.
  init(port: Int) throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      let error = errno
      Glibc.close(socket)
      throw Failure(message: "port \(port): \(String(cString: strerror(error)))")
    }
    RawConnection.limitSilence(of: socket)
    descriptor = socket
  }

  init(path: String) throws {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8) + [0]
    guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
      throw Failure(message: "\(path) is too long")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      let error = errno
      Glibc.close(socket)
      throw Failure(message: "\(path): \(String(cString: strerror(error)))")
    }
    RawConnection.limitSilence(of: socket)
    descriptor = socket
  }

  private static func limitSilence(of socket: Int32) {
    var timeout = timeval(tv_sec: RawConnection.silenceSecondsMax, tv_usec: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
  }

  func close() {
    Glibc.close(descriptor)
  }

  func write(_ bytes: [UInt8]) async throws {
    try await blocking { [descriptor] in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0x4000) }
        guard count > 0 else { throw Failure(message: "write: errno \(errno)") }
        rest = rest.dropFirst(count)
      }
    }
  }

  func readToEnd() async throws -> [UInt8] {
    try await read { _ in false }
  }

  /// Reads until the condition holds, or the daemon closes.
  func read(until isEnough: @escaping @Sendable ([UInt8]) -> Bool) async throws -> [UInt8] {
    try await blocking { [descriptor] in
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while !isEnough(bytes) {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else {
          throw Failure(
            message: "read: errno \(errno) after \(String(decoding: bytes, as: UTF8.self))")
        }
        if count == 0 { break }
        bytes += buffer[..<count]
      }
      return bytes
    }
  }

  /// Reads the available data, or waits for it; nothing if the daemon closed the connection.
  func readSome() async throws -> [UInt8] {
    try await read { !$0.isEmpty }
  }

  /// Reads text up to and including a part.
  func read(through part: String) async throws -> String {
    let bytes = try await read { String(decoding: $0, as: UTF8.self).contains(part) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Runs on a thread of its own, because the daemon in the same process uses those of the pools.
  private func blocking<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
  }
}

/// An HTTP response, parsed by hand.
struct RawReply {
  var status: Int
  var head: String
  var body: String

  static func request(
    _ method: String, _ path: String, body: [UInt8]? = nil, headers: [String] = []
  ) -> [UInt8] {
    var lines = ["\(method) \(path) HTTP/1.1", "host: localhost", "connection: close"] + headers
    if let body { lines.append("content-length: \(body.count)") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? [])
  }

  init(_ bytes: [UInt8]) throws {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let split = text.firstRange(of: "\r\n\r\n"),
      let code = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap({ Int($0) })
    else { throw RawConnection.Failure(message: "no HTTP response: \(text)") }
    status = code
    head = text[..<split.lowerBound].lowercased()
    body = String(text[split.upperBound...])
  }

  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(body.utf8))
  }
}
