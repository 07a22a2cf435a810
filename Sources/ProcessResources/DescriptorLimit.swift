#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The number of files and sockets that this process may open.
package enum DescriptorLimit {
  /// Raises the limit as far as the system allows; many systems begin with 1,024.
  ///
  /// - Parameter wanted: a sufficient number. A higher limit is not changed.
  /// - Returns: the limit from now on; nil if it is unknown.
  @discardableResult
  package static func raise(to wanted: UInt64) -> UInt64? {
    #if os(Linux)
      let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let files = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(files, &limit) == 0 else { return nil }
    var raised = limit
    raised.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, rlim_t(wanted)))
    return UInt64(setrlimit(files, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur)
  }
}
