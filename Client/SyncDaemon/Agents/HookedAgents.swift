import QueueModel
import Synchronization

/// Which of the agents in a conversation ask at its prompt, as hooks of agents tell that people work with.
///
/// An agent has agents of its own, which work side by side with it and with each other. What one of them
/// does says nothing of what another one asks.
final class HookedAgents: Sendable {
  /// What is asked at the agent's own prompt.
  private struct Asking: Hashable {
    /// The agent that asks, as the main one names it; empty for that itself, nil where it was not said.
    var agent: String?
    /// The tool's name; nil where it was not said.
    var tool: String?

    /// Whether it is over when the agent goes on; with a tool, when that tool has ended.
    func isOver(agent: String, tool: String?) -> Bool {
      guard self.agent == nil || self.agent == agent else { return false }
      return self.tool == nil || tool == nil || self.tool == tool
    }
  }

  /// Conversations that are remembered, and what is asked in one; of more, the first event counts.
  static let conversationsMax = 1_000
  static let askingMax = 64

  private let asking = Mutex<[SessionID: Set<Asking>]>([:])

  /// An agent asks.
  ///
  /// - Parameters:
  ///   - agent: nil is the main one, or, without a tool, one that was not said.
  ///   - tool: the tool's name; without it nothing new is said where something is asked already.
  func asks(_ session: SessionID, agent: String?, tool: String?) {
    asking.withLock { all in
      let known = all[session] ?? []
      guard tool != nil || known.isEmpty, known.count < HookedAgents.askingMax,
        !known.isEmpty || all.count < HookedAgents.conversationsMax
      else { return }
      all[session] = known.union([Asking(agent: tool == nil ? agent : agent ?? "", tool: tool)])
    }
  }

  /// An agent goes on, or one of its tools has ended.
  ///
  /// - Parameter agent: nil is the main one.
  /// - Returns: whether nothing is asked now.
  func goesOn(_ session: SessionID, agent: String?, tool: String? = nil) -> Bool {
    asking.withLock { all in
      let left = (all[session] ?? []).filter { !$0.isOver(agent: agent ?? "", tool: tool) }
      all[session] = left.isEmpty ? nil : left
      return left.isEmpty
    }
  }

  /// The turn is over, with all that was asked in it.
  func ended(_ session: SessionID) { asking.withLock { $0[session] = nil } }
}
