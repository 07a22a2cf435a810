import AgentFormats
import Platform

/// The agent that runs this hook, and when this hook began. With these, the daemon detects that an
/// agent died, and distinguishes two hooks of one event from hooks of two events.
struct HookCaller: Hashable, Sendable {
  /// The agent's process.
  var agent: Int32
  /// When it began, in clock ticks since the system's start.
  var agentStart: UInt64
  /// When the hook began, the same way.
  var hookStart: UInt64

  /// Shells that may be between an agent and its hook.
  private static let shells: Set<String> = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"]
  /// The maximum number of shells to skip.
  private static let shellsMax = 4

  /// Whether Claude Code runs for a script (`claude -p`), according to its environment.
  static func isHeadless(_ variables: [String: String]) -> Bool {
    variables["CLAUDE_CODE_ENTRYPOINT"] == "sdk-cli"
  }

  /// nil if the system does not show it (there is no `/proc`), or if the agent has ended already.
  static func current() -> HookCaller? {
    guard let own = stat(of: getpid()) else { return nil }
    var process = own.parent
    for _ in 0...shellsMax {
      guard process > 1, let found = stat(of: process), !found.isZombie else { return nil }
      guard shells.contains(found.name) else {
        return HookCaller(agent: process, agentStart: found.start, hookStart: own.start)
      }
      process = found.parent
    }
    return nil
  }

  /// Whether the agent's process exists.
  var isAlive: Bool {
    guard let now = HookCaller.stat(of: agent) else { return false }
    return now.start == agentStart && !now.isZombie
  }

  private static func stat(of process: Int32) -> ProcessStat? {
    let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return line.flatMap(ProcessStat.init)
  }
}
