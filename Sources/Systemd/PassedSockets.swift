#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Sockets that a service manager passed to this process: those of a socket unit, and those that
/// the former process asked the manager to keep (`ServiceNotifier.keep`); sd_listen_fds(3).
package enum PassedSockets {
  /// The number of the first passed descriptor.
  private static let first: Int32 = 3

  /// The sockets of this process. Their variables are removed from the environment, so that no
  /// program that this process starts inherits them.
  package static func taken() -> [Int32] {
    func take(_ name: String) -> String? {
      guard let value = getenv(name) else { return nil }
      defer { unsetenv(name) }
      return String(cString: value)
    }
    let (process, count) = (take("LISTEN_PID"), take("LISTEN_FDS").flatMap(Int32.init) ?? 0)
    _ = take("LISTEN_FDNAMES")
    guard process == "\(getpid())", (1...1_024).contains(count) else { return [] }
    let sockets = (first..<first + count).filter { fcntl($0, F_GETFD) >= 0 }
    for socket in sockets { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
    return sockets
  }
}

extension ServiceNotifier {
  /// Asks the manager to keep a copy of a descriptor while the service restarts, and to pass it to
  /// the next process (`FDSTORE` of sd_notify(3)). The unit sets the maximum number
  /// (`FileDescriptorStoreMax`).
  package func keep(_ descriptor: Int32, as name: String) {
    send("FDSTORE=1\nFDNAME=\(name)", flags: 0, passing: descriptor)
  }

  /// Asks the manager to close the descriptors with a name.
  package func forget(_ name: String) { send("FDSTOREREMOVE=1\nFDNAME=\(name)") }
}
