import Foundation
import NIOCore
import SyncClient

/// A socket that listens where the page is served.
enum ListeningSocket {
  /// The number of connections that may wait until they are accepted.
  private static let backlog: Int32 = 128

  /// A fresh one.
  ///
  /// - Throws: `IOError`, like the page's listener.
  static func open(at address: WebAddress) throws -> Int32 {
    let place = try SocketAddress(ipAddress: address.host, port: address.port)
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(Int32(place.protocol.rawValue), kind, 0)
    guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
    var isOn: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    let result = place.withSockAddr { bind(descriptor, $0, socklen_t($1)) }
    guard result == 0, listen(descriptor, backlog) == 0 else {
      defer { close(descriptor) }
      throw IOError(errnoCode: errno, reason: "bind")
    }
    return descriptor
  }

  /// Whether a descriptor is a socket that listens at an address.
  static func isListening(_ descriptor: Int32, at address: WebAddress) -> Bool {
    var isListening: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0,
      isListening == 1, let place = try? SocketAddress(ipAddress: address.host, port: address.port)
    else { return false }
    var found = sockaddr_storage()
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &found) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    // Both have the system's layout: family, port, address, and zeros.
    return result == 0
      && withUnsafeBytes(of: found) { found in
        place.withSockAddr { wanted, count in
          found.prefix(Int(length)).elementsEqual(
            UnsafeRawBufferPointer(start: wanted, count: count))
        }
      }
  }
}
