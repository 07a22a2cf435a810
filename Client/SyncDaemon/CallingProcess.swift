import AgentFormats
import Foundation
import NIOCore

/// The process at the other end of a connection over the Unix socket, according to the system
/// (unix(7), `SO_PEERCRED`; proc(5)).
struct CallingProcess: Hashable, Sendable {
  var id: pid_t
  var user: uid_t

  /// The system's layout: `struct ucred`.
  private struct Credentials: Sendable {
    var process: pid_t = 0
    var user: uid_t = 0
    var group: gid_t = 0
  }

  /// Shells that may be between an agent and the programs that it runs.
  private static let shells: Set<String> = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"]

  /// nil if the system does not name it.
  static func of(_ channel: any Channel) async -> CallingProcess? {
    #if os(Linux)
      guard let provider = channel as? any SocketOptionProvider,
        let peer: Credentials = try? await provider.unsafeGetSocketOption(
          level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        ).get(), peer.process > 0
      else { return nil }
      return CallingProcess(id: peer.process, user: peer.user)
    #else
      return nil
    #endif
  }

  /// Whether it belongs to this user, or to root, which may do everything anyway.
  var isOfThisUser: Bool { user == geteuid() || user == 0 }

  /// The process and those that started it, the nearest first, up to this daemon, in any number;
  /// nil if it has ended and left its connection to another process. Empty if the system does not
  /// show processes. Linear in their number.
  func lineage() -> [(id: pid_t, stat: ProcessStat)]? {
    guard id == getpid() || CallingProcess.stat(of: id) != nil else {
      // If the system hides processes of others (`hidepid`), a hidden one has not ended.
      let isHidden = kill(id, 0) == 0 || errno == EPERM
      return isHidden || CallingProcess.stat(of: getpid()) == nil ? [] : nil
    }
    var line: [(id: pid_t, stat: ProcessStat)] = []
    var seen: Set<pid_t> = []
    var next = id
    // A line of processes has no cycles, but a number that the system reuses during the reading
    // could create one.
    while next > 1, next != getpid(), seen.insert(next).inserted,
      let stat = CallingProcess.stat(of: next)
    {
      line.append((next, stat))
      next = stat.parent
    }
    return line
  }

  /// The agent that runs this hook or MCP server; nil if it is neither, or if that is unknown.
  /// Programs that a user types in a terminal, or that the system starts by itself, belong to no
  /// agent.
  func askingAgent() -> AgentProcess? {
    guard let line = lineage(), line.first?.stat.name == "cospool" else { return nil }
    for (process, stat) in line {
      guard process == id || CallingProcess.shells.contains(stat.name) else {
        return stat.name == "systemd" ? nil : AgentProcess(id: Int(process), start: stat.start)
      }
      // Above the shell that leads a terminal is the program that opened it, for all of its
      // windows.
      if stat.session == process, stat.hasTerminal { return nil }
    }
    return nil
  }

  /// Whether a process is this one or one of those that started it.
  func descends(from process: AgentProcess) -> Bool {
    lineage()?.contains { $0.id == process.id && $0.stat.start == process.start } ?? true
  }

  private static func stat(of process: pid_t) -> ProcessStat? {
    let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return line.flatMap(ProcessStat.init)
  }
}
