/// The input of a turn with the Agent Client Protocol.
package struct ACPTurn: Hashable, Sendable {
  /// The absolute path of the folder to work in.
  package var folder: String
  /// The agent's id of the conversation to continue.
  package var conversation: String?
  /// The prompt's blocks.
  package var prompt: [JSONTree]
  /// The same for an agent that accepts pictures; nil if there are none.
  package var promptWithPictures: [JSONTree]?

  package init(
    folder: String, conversation: String?, prompt: [JSONTree],
    promptWithPictures: [JSONTree]? = nil
  ) {
    self.folder = folder
    self.conversation = conversation
    self.prompt = prompt
    self.promptWithPictures = promptWithPictures
  }
}

/// How a turn by the Agent Client Protocol ended.
package enum ACPEnd: Hashable, Sendable {
  /// The agent reported the result.
  case verdict(AgentVerdict)
  /// The agent reported that it was cancelled.
  case cancelled
  /// The agent got no prompt.
  case notSent(String)
  /// The agent got the prompt, and the outcome is unknown.
  case died(String)
}

/// A decision that an agent asks its users for.
package struct ACPRequest: Hashable, Sendable {
  package enum Matter: Hashable, Sendable {
    /// Permission for a tool call, with all its fields.
    ///
    /// - Parameter choice: the effect of an approval, if it is more than a single permission.
    case permission(tool: String, input: JSONTree, choice: String?)
    case form(ACPForm)
    /// Permission to open an address.
    case address(String, options: [String])
  }

  /// The name of the request until it has ended.
  package var key: String
  package var matter: Matter

  package init(key: String, matter: Matter) {
    self.key = key
    self.matter = matter
  }
}

/// The users' decision.
package enum ACPAnswer: Hashable, Sendable {
  case allowed
  case denied
  /// The answer to a form or an address.
  case text(String)
  /// No answer will come.
  case dismissed
}

/// The next steps of a turn.
package enum ACPStep: Hashable, Sendable {
  /// A line for the agent, without its end.
  case send(String)
  /// The same with the prompt. The agent has no work before it.
  case sendPrompt(String)
  case said(AgentEvent)
  /// The agent's output about the turn, for the log.
  case wrote([UInt8])
  case ask(ACPRequest)
  /// An invalid answer: the same request with the reason.
  case askAgain(ACPRequest, reason: String)
  /// The request ended without an answer.
  case withdraw(key: String)
  case ended(ACPEnd)
}
