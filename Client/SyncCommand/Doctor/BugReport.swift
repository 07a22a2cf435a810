import AgentFormats
import Basics
import LocalAPI
import Operations
import Platform
import PushNotices
import QueueModel

/// The attachment of a user's report of a fault: the faults, the programs, their settings, and the
/// end of the log. It has no text of a message, no name of a session, no key.
///
/// Sections hold only data that is known to be safe, instead of all data except what looks secret.
/// All of it then passes the rules for secrets, and placeholders replace the names of this machine,
/// its user and its devices.
struct BugReport: Sendable {
  /// The number of log lines that are examined.
  static let logLines = 100

  var context: DoctorContext
  var findings: [DoctorFinding]
  /// The end of the service's log, oldest line first; nil if no service runs.
  var log: String?
  /// The end of the output of a daemon that `cospool setup` or `cospool service restart` started
  /// without a service.
  var file: String?

  /// The whole report, as it is shown and written.
  func text() -> String {
    let sections = [
      ("versions", versions()), ("doctor", doctor()), ("status", status()),
      ("settings", settings()), ("log", logText()),
    ]
    let text = sections.map { "== \($0)\n\($1.joined(separator: "\n"))\n" }
      .joined(separator: "\n")
    return hidden(text)
  }

  // MARK: - Sections

  private func versions() -> [String] {
    var lines = ["cospool \(Version.number)"]
    if let daemon = context.running { lines.append("cospoold \(daemon.version)") }
    for path in ["/etc/os-release", "/proc/sys/kernel/osrelease"] {
      guard let text = context.text(of: path) else { continue }
      let line = text.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
      lines.append(String(line ?? text.split(separator: "\n").first ?? ""))
    }
    return lines
  }

  /// Codes and severities of all findings, and the text of faults that contain nothing that a user
  /// chose.
  private func doctor() -> [String] {
    findings.map { finding in
      finding.severity >= .warning && BugReport.publicCodes.contains(finding.code)
        ? "\(finding.severity.rawValue) \(finding.code): \(TextStyle.line(finding.what))"
        : "\(finding.severity.rawValue) \(finding.code)"
    }
  }

  /// Findings that consist of fixed words, numbers, the data directory and the server's address.
  /// Others name folders, programs and refused values.
  private static let publicCodes: Set<String> = [
    "noDaemon", "daemonVersion", "dataDirectory", "dataMode", "credentialsMode", "diskSpace",
    "store",
    "storeLog", "storeSetAside", "serviceFailed", "outbox", "serverName", "serverPort", "serverTLS",
    "serverHealth", "serverUpgrade",
    "certificateDays", "clock", "frameSize", "linger",
  ]

  private func status() -> [String] {
    switch context.status {
    case .failure(let failure): return ["no daemon: \(failure.code)"]
    case .success(let status):
      let sync = status.sync
      return [
        "sync \(sync.state.rawValue)", "refused \(sync.refusalCode ?? "no")",
        "changes to send \(sync.outgoing)", "repairs \(sync.repairs)",
        "other devices \(sync.devices.count)", "sessions \(status.queues.sessions)",
        "messages \(status.queues.messages)", "threads \(status.queues.threads)",
        "requests \(status.queues.awaited)",
      ]
    }
  }

  /// The values of numbers, switches and words from a list; for all other settings, only whether
  /// they are set.
  private func settings() -> [String] {
    context.settings.sorted { $0.key < $1.key }.compactMap { name, value in
      switch value {
      case .null: nil
      case .boolean(let isOn): "\(name) \(isOn ? "on" : "off")"
      case .number(let number): "\(name) \(number)"
      case .whole(let number): "\(name) \(number)"
      case .string(let text) where BugReport.chosen.contains(text): "\(name) \(text)"
      case .string(let text): text.isEmpty ? nil : "\(name) is set"
      case .array(let items): "\(name) has \(items.count) values"
      case .object: "\(name) is set"
      }
    }
  }

  /// The words from which settings are chosen.
  private static let chosen: Set<String> = [
    "on", "off", "never", "none", "claude", "codex", "opencode", "acp", "command", "trace",
    "debug", "info", "notice",
    "warning", "error", "critical", "retry", "pause", "skip", "user", "system", "default",
    "own", "ask", "any",
  ]

  private func logText() -> [String] {
    for text in [log, file.map(BugReportLog.asJournal)].compactMap({ $0 }) {
      let lines = text.split(separator: "\n").suffix(BugReport.logLines)
        .compactMap(BugReportLog.shown)
      if !lines.isEmpty { return lines }
    }
    return ["no lines in the journal of the service, and none in cospoold.log"]
  }

  // MARK: - Placeholders for names

  private func hidden(_ text: String) -> String {
    var names: [(name: String, standIn: String)] = []
    // The name as doctor shows it, and as it was typed.
    if let server = context.server {
      let hosts = [DoctorAddress(server)?.host, URL(string: server)?.host(percentEncoded: false)]
      names += hosts.compactMap { $0 }.map { ($0, "SERVER") }
    }
    names.append((context.dataDirectory, "DATA"))
    if let home = context.home { names.append((home, "~")) }
    if let status = try? context.status.get() {
      names.append((status.sync.deviceName, "DEVICE"))
      names += status.sync.devices.map { ($0.name, "OTHER-DEVICE") }
    }
    names.append((ProcessInfo.processInfo.hostName, "HOST"))
    if let user = context.variables["USER"] { names.append((user, "USER")) }
    // A longer name may contain a shorter one.
    names.sort { $0.name.utf8.count > $1.name.utf8.count }
    let named = names.reduce(text) { text, entry in
      entry.name.utf8.count < 3 || entry.name == "localhost"
        ? text : text.replacing(entry.name, with: entry.standIn)
    }
    return named.split(separator: "\n", omittingEmptySubsequences: false)
      .map { Redaction.redacted(String($0)) }.joined(separator: "\n")
  }
}
