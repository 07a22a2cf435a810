/// What a turn by the Agent Client Protocol begins with.
package struct ACPTurn: Hashable, Sendable {
  /// The folder to work in; absolute.
  package var folder: String
  /// The agent's id of the conversation to continue.
  package var conversation: String?
  /// The prompt's blocks.
  package var prompt: [JSONTree]
  /// The same for an agent that takes pictures; nil if there are none.
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
  /// The agent said how.
  case verdict(AgentVerdict)
  /// The agent said that it was cancelled.
  case cancelled
  /// The agent got no prompt.
  case notSent(String)
  /// The agent got the prompt, and the outcome is unknown.
  case died(String)
}

/// What an agent wants people to decide.
package struct ACPRequest: Hashable, Sendable {
  package enum Matter: Hashable, Sendable {
    /// Leave for a tool call, with all its fields.
    ///
    /// - Parameter choice: what a yes chooses, if that is more than a yes to this once.
    case permission(tool: String, input: JSONTree, choice: String?)
    case form(ACPForm)
    /// To open an address.
    case address(String, options: [String])
  }

  /// Names the request until it is over.
  package var key: String
  package var matter: Matter

  package init(key: String, matter: Matter) {
    self.key = key
    self.matter = matter
  }
}

/// What people decided.
package enum ACPAnswer: Hashable, Sendable {
  case allowed
  case denied
  /// A form's or an address's answer.
  case text(String)
  /// There will be no answer.
  case dismissed
}

/// What there is to do for a turn.
package enum ACPStep: Hashable, Sendable {
  /// A line for the agent, without its end.
  case send(String)
  /// The same with the prompt. The agent has no work before it.
  case sendPrompt(String)
  case said(AgentEvent)
  /// What the agent wrote about the turn, for the log.
  case wrote([UInt8])
  case ask(ACPRequest)
  /// An answer that was none: the same request with the reason.
  case askAgain(ACPRequest, reason: String)
  /// The request is over without an answer.
  case withdraw(key: String)
  case ended(ACPEnd)
}
