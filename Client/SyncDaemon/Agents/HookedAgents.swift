import QueueModel
import Synchronization

/// Which of the agents in a conversation ask at its prompt, as reported by the hooks of agents that
/// users work with.
///
/// An agent has subagents, which work in parallel with it and with each other. The work of one does
/// not show anything about the requests of another.
final class HookedAgents: Sendable {
  /// A request at the agent's own prompt.
  private struct Asking: Hashable {
    /// The asking agent, under the main one's name for it; empty for the main one, nil if it is
    /// unknown.
    var agent: String?
    /// The tool's name; nil if it is unknown.
    var tool: String?

    /// Whether the request ends when the agent continues; with a tool, when that tool has ended.
    func isOver(agent: String, tool: String?) -> Bool {
      guard self.agent == nil || self.agent == agent else { return false }
      return self.tool == nil || tool == nil || self.tool == tool
    }
  }

  /// The maximum number of remembered conversations, and of requests in one; more requests are
  /// ignored.
  static let conversationsMax = 1_000
  static let askingMax = 64

  private let asking = Mutex<[SessionID: Set<Asking>]>([:])

  /// An agent asks.
  ///
  /// - Parameters:
  ///   - agent: nil is the main one, or, without a tool, an unknown one.
  ///   - tool: the tool's name; without it nothing changes if a request is open already.
  func asks(_ session: SessionID, agent: String?, tool: String?) {
    asking.withLock { all in
      let known = all[session] ?? []
      guard tool != nil || known.isEmpty, known.count < HookedAgents.askingMax,
        !known.isEmpty || all.count < HookedAgents.conversationsMax
      else { return }
      all[session] = known.union([Asking(agent: tool == nil ? agent : agent ?? "", tool: tool)])
    }
  }

  /// An agent continues, or one of its tools has ended.
  ///
  /// - Parameter agent: nil is the main one.
  /// - Returns: whether no request is open now.
  func goesOn(_ session: SessionID, agent: String?, tool: String? = nil) -> Bool {
    asking.withLock { all in
      let left = (all[session] ?? []).filter { !$0.isOver(agent: agent ?? "", tool: tool) }
      all[session] = left.isEmpty ? nil : left
      return left.isEmpty
    }
  }

  /// The turn ended, with all requests in it.
  func ended(_ session: SessionID) { asking.withLock { $0[session] = nil } }
}
