import AgentFormats
import Foundation
import QueueModel

/// The proof that an agent of a daemon started a process, whatever that process claims: the control
/// group of a turn (`AttemptGroups`), or the variables that a daemon sets in the environment of a
/// turn (`Turn.environment`).
struct TurnTrace: Hashable, Sendable {
  var message: MessageID
  var attempt: UInt16
  /// The data directory of the daemon, or the control group of its unit: the origin of the trace.
  var origin: String

  /// The turn that started one of a line of processes: the trace of the farthest, which those after
  /// it cannot change. A process that leaves its parents keeps its control group. Without such a
  /// group, a process that also clears its environment leaves no trace.
  ///
  /// - Parameter ignored: the traces of this daemon itself: an agent that starts a daemon is its
  ///   user.
  static func found(
    in line: [(id: pid_t, stat: ProcessStat)], ignoring ignored: [TurnTrace]
  ) -> TurnTrace? {
    line.reversed().lazy.flatMap { all(of: $0.id) }
      .first { trace in !ignored.contains(where: trace.isOfSameTurn) }
  }

  /// The control group comes first, because the process cannot change it freely.
  static func all(of process: pid_t) -> [TurnTrace] {
    let environment = text("environ", of: process).split(separator: "\0")
    return [TurnTrace(group: group(of: process)), TurnTrace(environment: environment)]
      .compactMap(\.self)
  }

  /// The path of a process's control group of the second version; empty if it has none.
  static func group(of process: pid_t) -> String {
    let line = text("cgroup", of: process).split(separator: "\n").first { $0.hasPrefix("0::/") }
    return line.map { String($0.dropFirst(3)) } ?? ""
  }

  /// - Parameter group: a path in the form of proc_pid_cgroup(5).
  init?(group: String) {
    guard let turn = AttemptGroups.turn(inPath: group) else { return nil }
    self.init(message: turn.message, attempt: turn.attempt, origin: turn.unit)
  }

  /// - Parameter environment: entries, each `NAME=VALUE`.
  init?(environment: [Substring]) {
    var values: [Substring: String] = [:]
    for entry in environment where entry.hasPrefix("COSPOOL_") {
      guard let equals = entry.firstIndex(of: "=") else { continue }
      values[entry[..<equals]] = String(entry[entry.index(after: equals)...])
    }
    guard let message = values["COSPOOL_MESSAGE"].flatMap({ MessageID($0) }),
      let attempt = values["COSPOOL_ATTEMPT"].flatMap({ UInt16($0) })
    else { return nil }
    self.init(message: message, attempt: attempt, origin: values["COSPOOL_DATA"] ?? "")
  }

  private init(message: MessageID, attempt: UInt16, origin: String) {
    (self.message, self.attempt, self.origin) = (message, attempt, origin)
  }

  private func isOfSameTurn(as other: TurnTrace) -> Bool {
    message == other.message && attempt == other.attempt
  }

  private static func text(_ name: String, of process: pid_t) -> String {
    let bytes = FileManager.default.contents(atPath: "/proc/\(process)/\(name)")
    return String(decoding: bytes ?? Data(), as: UTF8.self)
  }
}
