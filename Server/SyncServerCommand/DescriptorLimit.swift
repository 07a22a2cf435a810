#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// How many files and sockets this process may have open.
enum DescriptorLimit {
  /// More than the server takes connections.
  private static let wanted: rlim_t = 65_536

  /// Raises the limit as far as the system lets it; each connection takes a descriptor, and many
  /// systems begin with 1,024. Where it cannot be raised, what cannot be accepted waits.
  static func raise() {
    #if os(Linux)
      let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let files = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(files, &limit) == 0 else { return }
    let raised = min(limit.rlim_max, wanted)
    guard raised > limit.rlim_cur else { return }
    limit.rlim_cur = raised
    _ = setrlimit(files, &limit)
  }
}
