import Basics

/// Running messages.
extension Route {
  static let executionRoutes = [
    Route(
      method: "GET", path: "/v1/execution", id: "readExecution",
      summary: "What this device runs, and ran since the daemon began.",
      answer: .json(ExecutionAnswer.self)),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/host", id: "setHost",
      summary: "Names the device where its agent runs: this, a name or an id; else none.",
      body: .fields(HostRequest.self, isRequired: true), answer: .json(HostAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/stop", id: "stopAgent",
      summary:
        "Stops its agent, on whatever device it is at work; the message counts as cancelled.",
      answer: .json(StopAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/take-over", id: "takeOver",
      summary:
        "Gives up the turn of a device that is away, and names the device where its agent runs next: "
        + "this, a name or an id.",
      body: .fields(HostRequest.self, isRequired: true), answer: .json(HostAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/on-lost-server", id: "setOnLostServer",
      summary:
        "Says whether its host lets a turn finish, or stops it, when its server does not answer.",
      body: .fields(LostServerRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/on-merge", id: "setOnMerge",
      summary:
        "Says whether its messages wait for a look, or run, whose text was merged of several that were "
        + "saved apart.",
      body: .fields(MergeRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/messages/{message}/hold", id: "hold",
      summary: "Keeps a message from starting while somebody edits it; renew it in time.",
      parameters: editorParameters,
      body: .fields(HoldRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [422]),
    Route(
      method: "DELETE", path: "/v1/messages/{message}/hold", id: "release",
      summary: "Lets it start again.", parameters: editorParameters,
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "GET", path: "/v1/messages/{message}/output", id: "readOutput",
      summary: "What an attempt wrote, where it ran here.",
      parameters: [
        Route.Parameter(
          name: "attempt", summary: "Which one; the latest where nothing is said.",
          schema: ["type": "integer", "minimum": 1])
      ],
      answer: .json(OutputAnswer.self)),
    Route(
      method: "GET", path: "/v1/sessions/{session}/agent", id: "readAgent",
      summary: "What runs its messages on this device.", answer: .json(AgentAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/agent", id: "setAgent",
      summary: "Gives it an agent of its own on this device.",
      body: .fields(AgentRequest.self, isRequired: true), answer: .json(AgentAnswer.self),
      refusals: [404]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/agent", id: "unsetAgent",
      summary: "Lets the device's agent run it.", answer: .json(AgentAnswer.self), refusals: [404]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/feed", id: "feed",
      summary:
        "A live agent's hook: tells where it is, and asks for the next prompt at the end of a "
        + "turn.",
      body: .fields(FeedRequest.self, isRequired: true), answer: .json(FeedAnswer.self),
      refusals: [404]),
  ]
}
