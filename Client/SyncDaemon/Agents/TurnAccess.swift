import AgentFormats
import Basics
import Foundation
import QueueModel
import Synchronization

/// An agent's turn, as the caller of a request from within it.
struct CallingAgent: Hashable, Sendable {
  var session: SessionID
  var message: MessageID
  var attempt: UInt16
}

/// The running turns, by the tokens of their processes. With a token they may request what agents
/// may have (`Route.agentAccess`), and no more.
final class TurnAccess: Sendable {
  /// The socket only for requests with a token.
  let socket: String
  /// In the form that is in the environment of the processes that the daemon starts.
  let dataDirectory: String
  /// The traces that show that an agent started this daemon; empty if a user or the system did.
  let ownTraces = TurnTrace.all(of: getpid())
  /// The processes above this daemon. They belong to the user of the device.
  private let ownLine = Set(
    CallingProcess(id: getppid(), user: geteuid()).lineage()?.map(\.id) ?? [])
  private let turns = Mutex<[String: CallingAgent]>([:])
  /// Processes of the daemon that are not agents: commands that its user configured.
  private let commands = Mutex<Set<pid_t>>([])

  init(socket: String, dataDirectory: String) {
    self.socket = socket
    self.dataDirectory = dataDirectory
  }

  /// - Returns: the token of the turn, 64 hexadecimal digits.
  func begin(_ agent: CallingAgent) -> String {
    var generator = SystemRandomNumberGenerator()
    let token = (0..<4).map { _ in Hex.text(generator.next()) }.joined()
    turns.withLock { $0[token] = agent }
    return token
  }

  func end(_ token: String) { turns.withLock { $0[token] = nil } }

  /// nil if no running turn has the token.
  func agent(withToken token: String) -> CallingAgent? { turns.withLock { $0[token] } }

  /// The turn that left a trace; nil if it does not run here.
  func agent(of trace: TurnTrace) -> CallingAgent? {
    turns.withLock { turns in
      turns.values.first { $0.message == trace.message && $0.attempt == trace.attempt }
    }
  }

  /// Records a command that its user set, until `noteCommandEnded`.
  func noteCommand(_ process: pid_t) { commands.withLock { _ = $0.insert(process) } }

  func noteCommandEnded(_ process: pid_t) { commands.withLock { _ = $0.remove(process) } }

  /// Why a line of processes without a trace of a turn still belongs to an agent, if it does: a
  /// process that overwrites its environment is still below the daemon that started it.
  func refusal(ofUntraced line: [(id: pid_t, stat: ProcessStat)]) -> APIProblem? {
    if let farthest = line.last, farthest.stat.parent == getpid() {
      return commands.withLock { $0.contains(farthest.id) } ? nil : .agentUnknown
    }
    let isBelowAnother = line.contains { process in
      process.stat.name == TurnAccess.daemonName && !ownLine.contains(process.id)
    }
    return isBelowAnother ? .agentOfAnotherDaemon : nil
  }

  /// The system's name for processes of the program that starts agents.
  private static let daemonName = "cospoold"

  /// Whether a trace is of a turn that this daemon began, or one before it with the same data directory.
  func owns(_ trace: TurnTrace) -> Bool {
    trace.origin == dataDirectory || trace.origin == TurnTrace.group(of: getpid())
  }
}
