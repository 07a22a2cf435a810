import Foundation

/// How many files and sockets this process may have open.
enum DescriptorLimit {
  /// Each agent takes about eight, and hundreds of sessions may run at once.
  private static let wanted: rlim_t = 16_384

  /// Raises the limit as far as the system lets it; many systems begin with 1,024, and an agent that
  /// gets no descriptor can neither be waited for nor stopped.
  ///
  /// - Returns: the limit from now on; nil where it is not known.
  @discardableResult
  static func raise() -> UInt64? {
    #if os(Linux)
      let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let files = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(files, &limit) == 0 else { return nil }
    var raised = limit
    raised.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, wanted))
    return UInt64(setrlimit(files, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur)
  }
}
