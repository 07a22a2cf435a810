#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The messages of libdispatch in the system's log of this process.
package enum DispatchLog {
  /// The variable that libdispatch reads. Programs that this process starts must not inherit it.
  package static let variable = "LIBDISPATCH_LOG"
  package static let silent = "NO"

  /// Suppresses the messages that libdispatch writes when an ordinary account starts a thread for
  /// work from the main thread. Swift gives such work a priority that only root may have on Linux,
  /// so each command would add a line to the journal. If `LIBDISPATCH_LOG` is set, it is not
  /// changed.
  ///
  /// Call it at the start of a process, before any task leaves the main thread.
  package static func silence() {
    #if os(Linux)
      setenv(variable, silent, 0)
    #endif
  }
}
