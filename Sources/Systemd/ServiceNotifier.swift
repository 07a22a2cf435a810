#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Notifies the service manager that started this process; sd_notify(3), sd_watchdog_enabled(3).
package struct ServiceNotifier: Sendable {
  private let address: sockaddr_un
  private let addressLength: socklen_t
  /// The interval at which the manager expects signs of life; nil if it expects none.
  package let watchdogPeriod: Duration?

  /// - Parameters:
  ///   - socket: the manager's socket: a path, or an abstract name that begins with `@`.
  ///   - watchdogMicroseconds: `WATCHDOG_USEC`.
  /// - Returns: nil if the name is not valid for a socket.
  package init?(socket: String, watchdogMicroseconds: String? = nil) {
    var name = Array(socket.utf8)
    var address = sockaddr_un()
    guard let first = name.first, name.count > 1,
      name.count < MemoryLayout.size(ofValue: address.sun_path),
      first == UInt8(ascii: "/") || first == UInt8(ascii: "@")
    else { return nil }
    if first == UInt8(ascii: "@") { name[0] = 0 }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    self.address = address
    let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
    addressLength = socklen_t(offset + name.count)
    let microseconds = watchdogMicroseconds.flatMap(Int64.init) ?? 0
    watchdogPeriod = microseconds > 0 ? .microseconds(microseconds) : nil
  }

  /// The notifier of this process; nil if no manager listens. Its variables are removed from the
  /// environment, because programs that this process starts must not use them.
  package static func taken() -> ServiceNotifier? {
    func take(_ name: String) -> String? {
      guard let value = getenv(name) else { return nil }
      defer { unsetenv(name) }
      return String(cString: value)
    }
    let (socket, process) = (take("NOTIFY_SOCKET"), take("WATCHDOG_PID"))
    let period = take("WATCHDOG_USEC")
    let isAsked = process == nil || process == "\(getpid())"
    return socket.flatMap {
      ServiceNotifier(socket: $0, watchdogMicroseconds: isAsked ? period : nil)
    }
  }

  /// Sends assignments such as `READY=1`, one in each line. A manager that no longer listens is not
  /// an error.
  package func send(_ state: String) { send(state, flags: 0) }

  /// - Parameter passed: a descriptor to send with it; cmsg(3), `SCM_RIGHTS`.
  func send(_ state: String, flags: Int32, passing passed: Int32? = nil) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    #else
      let kind = SOCK_DGRAM
    #endif
    let descriptor = socket(AF_UNIX, kind, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var bytes = Array(state.utf8)
    var address = address
    var control = passed.map(ServiceNotifier.control(passing:)) ?? []
    bytes.withUnsafeMutableBytes { bytes in
      control.withUnsafeMutableBytes { control in
        withUnsafeMutableBytes(of: &address) { address in
          var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
          withUnsafeMutablePointer(to: &part) { part in
            var message = msghdr()
            message.msg_name = address.baseAddress
            message.msg_namelen = addressLength
            message.msg_iov = part
            message.msg_iovlen = 1
            if !control.isEmpty {
              message.msg_control = control.baseAddress
              message.msg_controllen = numericCast(control.count)
            }
            _ = sendmsg(descriptor, &message, flags)
          }
        }
      }
    }
  }

  /// The control message that passes a descriptor: a header and the number, padded to a whole word.
  private static func control(passing descriptor: Int32) -> [UInt8] {
    var head = cmsghdr()
    let headBytes = MemoryLayout<cmsghdr>.size
    head.cmsg_len = numericCast(headBytes + MemoryLayout<Int32>.size)
    head.cmsg_level = SOL_SOCKET
    head.cmsg_type = Int32(SCM_RIGHTS)
    var bytes = withUnsafeBytes(of: head) { Array($0) }
    bytes += withUnsafeBytes(of: descriptor) { Array($0) }
    let word = MemoryLayout<Int>.size
    return bytes + [UInt8](repeating: 0, count: (word - bytes.count % word) % word)
  }

  /// Reports twice as often as required that the service is alive, each time after `answers` has
  /// returned, until the task is cancelled. Returns at once if the manager expects no reports.
  package func keepAlive(_ answers: () async -> Void) async {
    guard let watchdogPeriod else { return }
    while !Task.isCancelled {
      await answers()
      // A manager that does not read must not block the service: this report may be lost.
      send("WATCHDOG=1", flags: Int32(MSG_DONTWAIT))
      try? await Task.sleep(for: watchdogPeriod / 2)
    }
  }
}
