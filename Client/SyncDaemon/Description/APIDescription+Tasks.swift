import Basics
import LocalAPI
import QueueModel

/// Tasks, and what they wait for.
extension APIDescription {
  static let taskOperations = [
    APIOperation(
      method: "GET", path: "/v1/tasks", id: "listTasks",
      summary: "What the agents of all sessions do, as far as anybody said.",
      answer: .json("Tasks")),
    APIOperation(
      method: "GET", path: "/v1/sessions/{session}/task", id: "readTask",
      summary: "What its agent does.", answer: .json("Task"), refusals: [404]),
    APIOperation(
      method: "PUT", path: "/v1/sessions/{session}/task/progress", id: "setProgress",
      summary: "How far its agent, which works here, is; shown every 15 seconds at most.",
      body: .fields("ProgressRequest", isRequired: true), answer: .json("Task"),
      refusals: [404]),
    APIOperation(
      method: "PUT", path: "/v1/sessions/{session}/task/prompt", id: "setPrompt",
      summary:
        "Its agent, which works here, asks its person at its own prompt: other devices show that, and "
        + "cannot answer.",
      body: .fields("PromptRequest", isRequired: true), answer: .json("Task"),
      refusals: [404, 422]),
    APIOperation(
      method: "POST", path: "/v1/sessions/{session}/asks", id: "ask",
      summary:
        "Its agent asks for leave or for an answer; the response waits for the first answer of all "
        + "devices, or for the end of the patience.",
      body: .fields("AskRequest", isRequired: true), answer: .json("Decision"),
      refusals: [404, 422]),
    APIOperation(
      method: "POST", path: "/v1/asks/{ask}/answer", id: "answer",
      summary:
        "Answers what a task awaits: by the request's id, its beginning, its session, or `only` "
        + "for the one there is. The first answer counts.",
      body: .fields("AnswerRequest", isRequired: true), answer: .json("Answered"),
      refusals: [404, 409, 422]),
  ]

  private static let milliseconds = Schema.described(Schema.count, "Milliseconds since 1970.")
  private static let endings = Schema.choice(AskOutcome.Ending.allCases.map(\.rawValue))

  static let taskSchemas: [String: JSONValue] = [
    "Tasks": Schema.object(["tasks": Schema.list(Schema.reference("Task"))]),
    "Task": Schema.object(
      [
        "sessionId": Schema.sessionID, "projectPath": Schema.text,
        "status": Schema.choice(TaskStatus.Kind.allCases.map(\.rawValue)),
        "startTime": milliseconds, "lastUpdateTime": milliseconds,
      ],
      optional: [
        "operation": Schema.text, "error": Schema.text,
        "request": Schema.object(
          ["id": Schema.uuid, "toolName": Schema.text, "summary": Schema.text],
          optional: ["details": Schema.text, "expiresAt": milliseconds]),
        "question": Schema.object(
          ["id": Schema.uuid, "question": Schema.text, "options": Schema.list(Schema.text)],
          optional: ["expiresAt": milliseconds]),
        "result": Schema.object(
          ["kind": Schema.choice(["success", "failure", "cancelled"])],
          optional: ["summary": Schema.text, "error": Schema.text]),
        "todoProgress": Schema.object(
          ["completed": Schema.count, "total": Schema.count],
          optional: ["currentTask": Schema.text]),
        "outcome": Schema.object(
          ["request": Schema.uuid, "ending": endings], optional: ["device": Schema.uuid]),
      ]),
    "ProgressRequest": Schema.body(
      ["completed": Schema.count, "total": Schema.count], optional: ["currentTask": Schema.text]),
    "AskRequest": Schema.body(
      ["kind": Schema.choice(["approval", "question"])],
      optional: [
        "toolName": Schema.text, "summary": Schema.text, "details": Schema.text,
        "question": Schema.text, "options": Schema.list(Schema.text),
        "patienceSeconds": ["type": "number", "minimum": 0, "maximum": 3_600],
        "promptsItself": Schema.described(
          Schema.flag, "Where nobody answers in time the agent asks at its own prompt and waits on."
        ),
      ]),
    "PromptRequest": Schema.body(
      ["kind": Schema.choice(["approval", "question"])],
      optional: [
        "toolName": Schema.text, "summary": Schema.text, "details": Schema.text,
        "question": Schema.text, "options": Schema.list(Schema.text),
      ]),
    "Decision": Schema.object(
      ["session": Schema.sessionID, "ending": endings],
      optional: ["device": Schema.uuid, "deviceName": Schema.text, "text": Schema.text]),
    "AnswerRequest": Schema.body(
      ["verdict": Schema.choice(["allowed", "denied", "answered", "cancelled"])],
      optional: ["text": Schema.text]),
    "Answered": Schema.object([
      "result": Schema.choice(["taken", "waiting"]), "session": Schema.sessionID,
      "request": Schema.uuid, "verdict": Schema.text, "about": Schema.text,
    ]),
  ]
}
