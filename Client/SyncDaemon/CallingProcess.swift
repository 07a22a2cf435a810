import AgentFormats
import Foundation
import NIOCore
import QueueModel

/// The process at the other end of a connection over the Unix socket, as the system tells (unix(7),
/// `SO_PEERCRED`; proc(5)).
struct CallingProcess: Hashable, Sendable {
  var id: pid_t
  var user: uid_t

  /// As the system lays them out: `struct ucred`.
  private struct Credentials: Sendable {
    var process: pid_t = 0
    var user: uid_t = 0
    var group: gid_t = 0
  }

  /// Processes of a line of ancestors that are looked at.
  private static let ancestorsMax = 64
  /// Shells that may stand between an agent and what it runs.
  private static let shells: Set<String> = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"]

  /// nil where the system does not tell.
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

  /// Whether it is this user's, or root's, who may do everything anyway.
  var isOfThisUser: Bool { user == geteuid() || user == 0 }

  /// The process and those that started it, the nearest first, up to this daemon; nil where it has ended
  /// and left somebody else its connection. Empty where the system tells nothing of processes.
  func lineage() -> [(id: pid_t, stat: ProcessStat)]? {
    guard id == getpid() || CallingProcess.stat(of: id) != nil else {
      // Where the system hides processes of others (`hidepid`), it is none of them that ended.
      let isHidden = kill(id, 0) == 0 || errno == EPERM
      return isHidden || CallingProcess.stat(of: getpid()) == nil ? [] : nil
    }
    var line: [(id: pid_t, stat: ProcessStat)] = []
    var next = id
    while next > 1, next != getpid(), line.count < CallingProcess.ancestorsMax,
      let stat = CallingProcess.stat(of: next)
    {
      line.append((next, stat))
      next = stat.parent
    }
    return line
  }

  /// The turn that started one of a line of processes: by what stands in the environment of the farthest
  /// that says so, whom those after it cannot change. A process that cleared its own and left its parents
  /// behind is not known any more.
  ///
  /// - Parameter dataDirectory: of the daemon, whose agents are looked for.
  static func agent(
    in line: [(id: pid_t, stat: ProcessStat)], of dataDirectory: String
  ) -> CallingAgent? {
    line.reversed().lazy.compactMap { CallingAgent(environmentOf: $0.id, dataDirectory) }.first
  }

  /// The agent that runs this hook or MCP server; nil where it is neither, or that cannot be told: what a
  /// person types in a terminal, or the system starts by itself, is no agent's.
  func askingAgent() -> AgentProcess? {
    guard let line = lineage(), line.first?.stat.name == "cospool" else { return nil }
    for (process, stat) in line {
      guard process == id || CallingProcess.shells.contains(stat.name) else {
        return stat.name == "systemd" ? nil : AgentProcess(id: Int(process), start: stat.start)
      }
      // Behind the shell that leads a terminal stands what opened it, for all of its windows.
      if stat.session == process, stat.hasTerminal { return nil }
    }
    return nil
  }

  /// Whether a process is it or one of those that started it.
  func descends(from process: AgentProcess) -> Bool {
    lineage()?.contains { $0.id == process.id && $0.stat.start == process.start } ?? true
  }

  private static func stat(of process: pid_t) -> ProcessStat? {
    let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return line.flatMap(ProcessStat.init)
  }
}

extension CallingAgent {
  /// What a daemon wrote into the environment of a process that it started, or whose parent it did; nil
  /// where it was none or another one.
  fileprivate init?(environmentOf process: pid_t, _ dataDirectory: String) {
    guard let bytes = FileManager.default.contents(atPath: "/proc/\(process)/environ") else {
      return nil
    }
    var values: [Substring: Substring] = [:]
    let text = String(decoding: bytes, as: UTF8.self)
    for entry in text.split(separator: "\0") where entry.hasPrefix("COSPOOL_") {
      guard let equals = entry.firstIndex(of: "=") else { continue }
      values[entry[..<equals]] = entry[entry.index(after: equals)...]
    }
    guard values["COSPOOL_DATA"].map(String.init) == dataDirectory,
      let session = values["COSPOOL_SESSION"].flatMap({ try? SessionID(String($0)) }),
      let message = values["COSPOOL_MESSAGE"].flatMap({ MessageID(String($0)) }),
      let attempt = values["COSPOOL_ATTEMPT"].flatMap({ UInt16($0) })
    else { return nil }
    self.init(session: session, message: message, attempt: attempt)
  }
}
