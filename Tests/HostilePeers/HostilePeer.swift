import Foundation

/// A connection to a server that sends anything, right or wrong: plain bytes over a plain socket,
/// with WebSocket framing if requested.
final class HostilePeer {
  let port: Int
  let source: (UInt8, UInt8, UInt8)
  private let socket: Int32
  private var received: [UInt8] = []

  /// Connects from an address of this machine's loopback network.
  ///
  /// - Returns: nil if the server does not accept the connection.
  init?(port: Int, from source: (UInt8, UInt8, UInt8)) {
    (self.port, self.source) = (port, source)
    socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { return nil }
    var limit = timeval(tv_sec: 2, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
    let own = [127, source.0, source.1, source.2]
    guard
      Self.with(address: own, port: 0, { bind(socket, $0, $1) }) == 0,
      Self.with(address: [127, 0, 0, 1], port: port, { connect(socket, $0, $1) }) == 0
    else {
      close(socket)
      return nil
    }
  }

  deinit { close(socket) }

  private static func with(
    address: [UInt8], port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = in_port_t(UInt16(port)).bigEndian
    place.sin_addr.s_addr = address.reversed().reduce(0) { $0 << 8 | in_addr_t($1) }
    return withUnsafePointer(to: &place) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// Sends bytes unchanged.
  ///
  /// - Returns: whether all of them were sent.
  @discardableResult
  func send(raw bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Requests WebSocket and reads the answer.
  func upgrade() -> Bool {
    let request = """
      GET /v1/sync HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
      Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
      Sec-WebSocket-Protocol: cospool.v1\r\n\r\n
      """
    guard send(raw: Array(request.utf8)) else { return false }
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let place = received.indices.first(where: { received[$0...].starts(with: end) }) {
        let isUpgraded = received.starts(with: Array("HTTP/1.1 101".utf8))
        received.removeFirst(place + end.count)
        return isUpgraded
      }
      guard receive() else { return false }
    }
  }

  /// One WebSocket frame around a payload.
  static func frame(_ payload: [UInt8], opcode: UInt8 = 2, claims length: UInt64? = nil) -> [UInt8]
  {
    let length = length ?? UInt64(payload.count)
    var bytes: [UInt8] = [0x80 | opcode]
    switch length {
    case 0..<126: bytes.append(0x80 | UInt8(length))
    case 126..<65_536:
      bytes.append(0x80 | 126)
      bytes += [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
    default:
      bytes.append(0x80 | 127)
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * UInt64($0))) }
    }
    // A mask of zeros does not change the payload.
    return bytes + [0, 0, 0, 0] + payload
  }

  /// The payload of the next message; nil if the connection ends, or nothing comes within 2
  /// seconds.
  func message() -> [UInt8]? {
    while true {
      if let (opcode, payload) = takeFrame() {
        switch opcode {
        case 2: return payload
        case 8: return nil
        case 9: send(raw: Self.frame(payload, opcode: 10))
        default: break
        }
      } else if !receive() {
        return nil
      }
    }
  }

  private func takeFrame() -> (UInt8, [UInt8])? {
    guard received.count >= 2 else { return nil }
    var (start, length) = (2, Int(received[1] & 0x7F))
    let extra = length == 126 ? 2 : length == 127 ? 8 : 0
    guard received.count >= 2 + extra else { return nil }
    if extra > 0 {
      length = received[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) }
      start += extra
    }
    guard received.count >= start + length else { return nil }
    let frame = (received[0] & 0x0F, Array(received[start..<(start + length)]))
    received.removeFirst(start + length)
    return frame
  }

  private func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
    guard count > 0 else { return false }
    received += buffer[..<count]
    return true
  }
}
