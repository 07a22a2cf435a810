import Platform

/// A daemon whose socket accepts connections, but that does not answer: it hangs, or was stopped
/// (SIGSTOP).
struct SilentDaemon: Equatable, Sendable {
  /// Its number among the processes here; nil if the system does not show it.
  var process: pid_t?
  /// How to start it again once it has ended; nil if systemd does that.
  var start: String?

  /// Finds the process that listens.
  ///
  /// - Parameter start: nil if systemd starts the daemon.
  init(at connection: DaemonConnection, start: String?) async {
    let listener = try? await connection.listener()
    process = listener.flatMap { $0.id > 0 ? $0.id : nil }
    self.start = start
  }

  var what: String {
    "a daemon exists" + (process.map { ", process \($0)," } ?? "") + " but does not answer"
  }

  var fix: String { "Try again in a minute. If that does not help, \(cure)" }

  /// `cospool service restart` would wait for its answer, too, and a stopped process handles no
  /// other signal. Changes that it acknowledged are on the disk.
  var cure: String {
    guard let start else {
      return "restart its service: systemctl --user restart \(SystemdUnit.name)"
    }
    let end = process.map { "stop it: kill -KILL \($0)" } ?? "stop that process of cospoold"
    return "\(end); then start it: \(start)"
  }
}
