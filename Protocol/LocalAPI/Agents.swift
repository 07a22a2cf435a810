package import QueueModel

/// The work of this device, now and since the daemon started.
package struct ExecutionAnswer: APIValue {
  package struct Running: APIValue {
    package var session: SessionID
    package var message: MessageID

    package init(session: SessionID, message: MessageID) {
      self.session = session
      self.message = message
    }
  }

  /// A session with waiting messages, and why none of them starts.
  package struct Waiting: APIValue {
    package var session: SessionID
    /// The name of the reason.
    package var reason: String
    /// The reason in words, and the remedy.
    package var note: String?

    package init(session: SessionID, reason: String, note: String?) {
      self.session = session
      self.reason = reason
      self.note = note
    }
  }

  package var agent: String
  package var counts: ExecutionCounts
  package var running: [Running]
  /// Only sessions that run here, without those whose queue itself shows why it is stopped.
  package var waiting: [Waiting]
  /// Sessions that another device assigned to this one, without permission from a user here.
  package var unconsented: [SessionID]

  package init(
    agent: String, counts: ExecutionCounts, running: [Running], waiting: [Waiting],
    unconsented: [SessionID]
  ) {
    self.agent = agent
    self.counts = counts
    self.running = running
    self.waiting = waiting
    self.unconsented = unconsented
  }
}

extension ExecutionCounts: APIValue {
  package static var schemaName: String? { nil }
}

package struct AgentRequest: APIValue {
  package var agent: String

  package init(agent: String) { self.agent = agent }
}

/// The agent that runs a session's messages on this device.
package struct AgentAnswer: APIValue {
  package var session: SessionID
  package var agent: String
  /// Whether the session has its own agent; else it uses the device's.
  package var own: Bool

  package init(session: SessionID, agent: String, own: Bool) {
    self.session = session
    self.agent = agent
    self.own = own
  }
}

/// The place of a live agent.
package struct FeedRequest: APIValue {
  package enum Event: String, CaseIterable, Sendable {
    case turnEnded = "turn_end"
    /// The turn ended with an error.
    case turnFailed = "turn_failed"
    case promptTyped = "prompt"
    case sessionEnded = "session_end"
  }

  /// The name of an event.
  package var type: String
  /// How long to wait for a prompt.
  package var waitSeconds: Double?
  /// The agent's words at the end of its turn.
  package var summary: String?
  /// The reason of a turn's end.
  package var error: String?
  /// Whether that is a limit, and when the limit ends, if the agent reported it.
  package var isLimit: Bool?
  package var limitUntil: Timestamp?
  /// Whether a hook started the turn that is ending, according to the agent.
  package var stopHookActive: Bool?
  /// How many times in a row the agent obeys its hooks before it ignores them.
  package var blocksMax: Int?
  /// The agent's process, and when it started, in clock ticks since boot.
  package var agentProcess: Int?
  package var agentStart: UInt64?
  /// When the hook started, in the same unit.
  package var hookStart: UInt64?

  package init(_ event: Event) { type = event.rawValue }
}

/// The next prompt; absent if there is none.
package struct FeedAnswer: APIValue {
  package var text: String?

  package init(text: String? = nil) { self.text = text }
}

/// A question or report of an agent's hook about a conversation.
package struct ConversationRequest: APIValue {
  package enum Event: String, CaseIterable, Sendable {
    case started
    case ended
  }

  /// The name of an event; absent if only the session is requested.
  package var type: String?
  /// The session that a user named for it.
  package var session: String?
  /// Whether the same terminal continues: this conversation ends in favour of another one, or
  /// replaces another one.
  package var isContinued: Bool?
  /// Where the agent works.
  package var folder: String?
  /// The agent's process, and when it began, in clock ticks since the system's start.
  package var agentProcess: Int?
  package var agentStart: UInt64?

  package init() {}
}

/// The session of a conversation.
package struct ConversationAnswer: APIValue {
  package var session: String

  package init(session: String) { self.session = session }
}

/// A report of an agent or its hook.
package struct SignalRequest: APIValue {
  /// The names of the agents' own events (S0-35 … S0-40), `turn_start` for their beginning, and
  /// `idle` if an agent waits for its user, however its turn ended.
  package enum Kind: String, CaseIterable, Sendable {
    case turnStart = "turn_start"
    case toolUse = "tool_use"
    case toolResult = "tool_result"
    case permissionRequest = "permission_request"
    case permissionResponse = "permission_response"
    case result
    case error
    case idle
  }

  package static let notes = ["type": Note.choice(Kind.allCases.map(\.rawValue))]

  package var type: String
  /// The tool's id, for `tool_use` and `tool_result`.
  package var id: String?
  /// The tool's name, for `tool_use`, `tool_result` and the permissions.
  package var name: String?
  /// The failure, for `error`.
  package var message: String?
  /// The subagent that it concerns; absent for the agent itself.
  package var agent: String?
  /// For `turn_start`: whether the agent continues without a prompt from its user.
  package var byItself: Bool?

  package init(type: String, id: String? = nil, name: String? = nil, message: String? = nil) {
    self.type = type
    self.id = id
    self.name = name
    self.message = message
  }
}

/// The activity of a session's agent.
package struct ActivityAnswer: APIValue {
  package var session: SessionID
  package var busy: Bool
  package var isProcessing: Bool
  /// The ids of the running tools, sorted.
  package var runningTools: [String]
  package var isPendingApproval: Bool
  /// The failure that no user has handled yet; absent if there is none.
  package var currentError: RefusalAnswer.Details?
  /// The status reported by its host, if one session is requested.
  package var task: TaskStateAnswer?

  package init(_ activity: SessionActivity, currentError: RefusalAnswer.Details?) {
    session = activity.session
    busy = activity.busy.isBusy
    isProcessing = activity.busy.isProcessing
    runningTools = activity.busy.runningTools.sorted()
    isPendingApproval = activity.busy.isPendingApproval
    self.currentError = currentError
  }
}

/// The sessions whose agents are busy, or failed.
package struct ActivitiesAnswer: APIValue {
  package var activities: [ActivityAnswer]

  package init(activities: [ActivityAnswer]) { self.activities = activities }
}
