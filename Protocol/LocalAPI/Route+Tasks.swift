import QueueModel

/// Tasks, and what they wait for.
extension Route {
  static let taskRoutes = [
    Route(
      method: "GET", path: "/v1/tasks", id: "listTasks",
      summary: "What the agents of all sessions do, as far as anybody said.",
      answer: .json(TasksAnswer.self)),
    Route(
      method: "GET", path: "/v1/sessions/{session}/task", id: "readTask",
      summary: "What its agent does.", answer: .json(TaskState.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/task/progress", id: "setProgress",
      summary: "How far its agent, which works here, is; shown every 15 seconds at most.",
      body: .fields(ProgressRequest.self, isRequired: true), answer: .json(TaskState.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/task/prompt", id: "setPrompt",
      summary:
        "Its agent, which works here, asks its person at its own prompt: other devices show that, and "
        + "cannot answer.",
      body: .fields(PromptRequest.self, isRequired: true), answer: .json(TaskState.self),
      refusals: [404, 422]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/asks", id: "ask",
      summary:
        "Its agent asks for leave or for an answer; the response waits for the first answer of all "
        + "devices, or for the end of the patience.",
      body: .fields(AskRequest.self, isRequired: true), answer: .json(DecisionAnswer.self),
      refusals: [404, 409, 422]),
    Route(
      method: "POST", path: "/v1/asks/{ask}/answer", id: "answer",
      summary:
        "Answers what a task awaits: by its session, by the request's id or the beginning of it. "
        + "The first answer counts.",
      body: .fields(DecisionRequest.self, isRequired: true), answer: .json(AnsweredAnswer.self),
      refusals: [404, 409, 422]),
    Route(
      method: "POST", path: "/v1/asks/answer", id: "answerOnly",
      summary: "Answers the only request that such a verdict answers. The first answer counts.",
      body: .fields(DecisionRequest.self, isRequired: true), answer: .json(AnsweredAnswer.self),
      refusals: [404, 409, 422]),
  ]
}
