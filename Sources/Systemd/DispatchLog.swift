#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What libdispatch writes to the system's log of this process.
package enum DispatchLog {
  /// What libdispatch goes by. Programs that this process starts are not to have it from here.
  package static let variable = "LIBDISPATCH_LOG"
  package static let silent = "NO"

  /// Leaves out what it says whenever an ordinary account starts a thread for work that came from the
  /// main thread: Swift gives such work a priority that on Linux only root may have, so each command
  /// would leave a line in the journal. Whoever set `LIBDISPATCH_LOG` still has their way.
  ///
  /// For the start of a process, before any task leaves the main thread.
  package static func silence() {
    #if os(Linux)
      setenv(variable, silent, 0)
    #endif
  }
}
