import Basics

/// Running messages.
extension Route {
  static let executionRoutes = [
    Route(
      method: "GET", path: "/v1/execution", id: "readExecution",
      summary: "Lists what this device runs, and has run since the daemon started.",
      answer: .json(ExecutionAnswer.self)),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/host", id: "setHost",
      summary: "Sets the device that runs its agent: this, a name or an id; without one, none.",
      body: .fields(HostRequest.self, isRequired: true), answer: .json(HostAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/stop", id: "stopAgent",
      summary:
        "Stops its agent, on any device; the message counts as cancelled.",
      body: .fields(StopRequest.self, isRequired: false), answer: .json(StopAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/take-over", id: "takeOver",
      summary:
        "Takes the turn over from a device that is not connected, and sets the device that "
        + "runs the agent next: this, a name or an id.",
      body: .fields(TakeOverRequest.self, isRequired: true), answer: .json(HostAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/on-lost-server", id: "setOnLostServer",
      summary:
        "Sets whether its host finishes or stops a turn while its server does not answer.",
      body: .fields(LostServerRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/on-merge", id: "setOnMerge",
      summary:
        "Says whether its messages wait for a look, or run, whose text was merged of several that were "
        + "saved independently.",
      body: .fields(MergeRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/messages/{message}/hold", id: "hold",
      summary: "Keeps a message from starting while you edit it; repeat the request before the "
        + "time ends.",
      parameters: editorParameters,
      body: .fields(HoldRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [422]),
    Route(
      method: "DELETE", path: "/v1/messages/{message}/hold", id: "release",
      summary: "Lets the message start again.", parameters: editorParameters,
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "GET", path: "/v1/messages/{message}/output", id: "readOutput",
      summary: "Shows the output of an attempt, from the device that ran it.",
      parameters: outputParameters, answer: .json(OutputAnswer.self), refusals: [503]),
    Route(
      method: "GET", path: "/v1/sessions/{session}/output", id: "readSessionOutput",
      summary: "Shows the output of the message that runs in a session, or ran last.",
      parameters: outputParameters, answer: .json(OutputAnswer.self), refusals: [404, 503]),
    Route(
      method: "GET", path: "/v1/sessions/{session}/agent", id: "readAgent",
      summary: "Shows the agent that runs its messages on this device.",
      answer: .json(AgentAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/agent", id: "setAgent",
      summary: "Sets the session's own agent on this device.",
      body: .fields(AgentRequest.self, isRequired: true), answer: .json(AgentAnswer.self),
      refusals: [404]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/agent", id: "unsetAgent",
      summary: "Removes the session's own agent, so that the device's agent runs it.",
      answer: .json(AgentAnswer.self), refusals: [404]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/feed", id: "feed",
      summary:
        "Takes an event from an agent's hook, and returns the next prompt at the end of a turn.",
      body: .fields(FeedRequest.self, isRequired: true), answer: .json(FeedAnswer.self),
      refusals: [404]),
    Route(
      method: "POST", path: "/v1/conversations/{conversation}", id: "conversation",
      summary:
        "Shows the session of a conversation in a terminal, by the agent's id, and takes its beginning and end.",
      body: .fields(ConversationRequest.self, isRequired: true),
      answer: .json(ConversationAnswer.self), refusals: [422]),
  ]

  private static let outputParameters = [
    Parameter(
      name: "attempt", summary: "The number of the attempt; default: the latest.",
      schema: ["type": "integer", "minimum": 1]),
    Parameter(
      name: "from",
      summary: "Shows what follows this byte, at most 64 KiB; default: everything that is kept.",
      schema: ["type": "integer", "minimum": 0]),
    Parameter(
      name: "tail", summary: "Shows the end alone: at most this many bytes.",
      schema: ["type": "integer", "minimum": 4, "maximum": 65_536]),
    Parameter(
      name: "wait",
      summary: "With from: if nothing follows yet, waits for it, at most this many seconds.",
      schema: ["type": "integer", "minimum": 0, "maximum": 20]),
  ]
}
