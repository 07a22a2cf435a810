import QueueModel

/// Tasks, and their requests.
extension Route {
  static let taskRoutes = [
    Route(
      method: "GET", path: "/v1/tasks", id: "listTasks",
      summary: "Lists what the agents of all sessions do, as far as they reported it.",
      answer: .json(TasksAnswer.self)),
    Route(
      method: "GET", path: "/v1/sessions/{session}/task", id: "readTask",
      summary: "Shows what its agent does.", answer: .json(TaskStateAnswer.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/task/progress", id: "setProgress",
      summary:
        "Reports the progress of its agent, which runs here; shown at most every 15 seconds.",
      body: .fields(ProgressRequest.self, isRequired: true), answer: .json(TaskStateAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/task/prompt", id: "setPrompt",
      summary:
        "Reports that its agent, which runs here, asks at its own prompt: other devices show "
        + "that, but cannot answer.",
      body: .fields(PromptRequest.self, isRequired: true), answer: .json(TaskStateAnswer.self),
      refusals: [404, 422]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/asks", id: "ask",
      summary:
        "Asks for permission or for an answer; the response waits for the first answer from "
        + "any device, or until the patience ends.",
      body: .fields(AskRequest.self, isRequired: true), answer: .json(DecisionAnswer.self),
      refusals: [404, 409, 422]),
    Route(
      method: "POST", path: "/v1/asks/{ask}/answer", id: "answer",
      summary:
        "Answers a task's request, by the session, the request's id or the beginning of it. "
        + "The first answer counts.",
      body: .fields(DecisionRequest.self, isRequired: true), answer: .json(AnsweredAnswer.self),
      refusals: [404, 409, 422]),
    Route(
      method: "POST", path: "/v1/asks/answer", id: "answerOnly",
      summary: "Answers the only open request of the verdict's kind. The first answer counts.",
      body: .fields(DecisionRequest.self, isRequired: true), answer: .json(AnsweredAnswer.self),
      refusals: [404, 409, 422]),
  ]
}
