import Basics
import LocalAPI

/// Running messages.
extension APIDescription {
  static let executionOperations = [
    APIOperation(
      method: "GET", path: "/v1/execution", id: "readExecution",
      summary: "What this device runs, and ran since the daemon began.",
      answer: .json("Execution")),
    APIOperation(
      method: "PUT", path: "/v1/sessions/{session}/host", id: "setHost",
      summary: "Names the device where its agent runs: this, a name or an id; else none.",
      body: .fields("HostRequest", isRequired: true), answer: .json("Host"),
      refusals: [404, 409]),
    APIOperation(
      method: "POST", path: "/v1/sessions/{session}/stop", id: "stopAgent",
      summary: "Stops its agent here; the message counts as cancelled.", answer: .json("Stop"),
      refusals: [404, 409]),
    APIOperation(
      method: "PUT", path: "/v1/messages/{message}/hold", id: "hold",
      summary: "Keeps a message from starting while somebody edits it; renew it in time.",
      body: .fields("HoldRequest", isRequired: false), answer: .json("Receipt"), refusals: [422]),
    APIOperation(
      method: "DELETE", path: "/v1/messages/{message}/hold", id: "release",
      summary: "Lets it start again.", answer: .json("Receipt")),
    APIOperation(
      method: "GET", path: "/v1/messages/{message}/output", id: "readOutput",
      summary: "What an attempt wrote, where it ran here.",
      parameters: [
        APIOperation.Parameter(
          name: "attempt", summary: "Which one; the latest where nothing is said.",
          schema: ["type": "integer", "minimum": 1])
      ],
      answer: .json("Output")),
    APIOperation(
      method: "GET", path: "/v1/sessions/{session}/agent", id: "readAgent",
      summary: "What runs its messages on this device.", answer: .json("Agent"),
      refusals: [404]),
    APIOperation(
      method: "PUT", path: "/v1/sessions/{session}/agent", id: "setAgent",
      summary: "Gives it an agent of its own on this device.",
      body: .fields("AgentRequest", isRequired: true), answer: .json("Agent"), refusals: [404]),
    APIOperation(
      method: "DELETE", path: "/v1/sessions/{session}/agent", id: "unsetAgent",
      summary: "Lets the device's agent run it.", answer: .json("Agent"), refusals: [404]),
    APIOperation(
      method: "POST", path: "/v1/sessions/{session}/feed", id: "feed",
      summary:
        "A live agent's hook: tells where it is, and asks for the next prompt at the end of a "
        + "turn.",
      body: .fields("FeedRequest", isRequired: true), answer: .json("Feed"), refusals: [404]),
  ]

  static let executionSchemas: [String: JSONValue] = [
    "Execution": Schema.object([
      "agent": Schema.text,
      "counts": Schema.object([
        "claims": Schema.count, "starts": Schema.count, "fenced": Schema.count,
        "unknown": Schema.count,
      ]),
      "running": Schema.list(
        Schema.object(["session": Schema.sessionID, "message": Schema.uuid])),
    ]),
    "HostRequest": Schema.body([:], optional: ["device": Schema.nullable("string")]),
    "Host": Schema.object(
      ["session": Schema.sessionID],
      optional: [
        "host": Schema.uuid, "name": Schema.text, "previous": Schema.uuid,
        "warning": Schema.text,
      ]),
    "Agent": Schema.object([
      "session": Schema.sessionID, "agent": Schema.text, "own": Schema.flag,
    ]),
    "AgentRequest": Schema.body(["agent": Schema.text]),
    "FeedRequest": Schema.body(
      ["type": Schema.text],
      optional: [
        "waitSeconds": ["type": "number"], "summary": Schema.text, "stopHookActive": Schema.flag,
        "blocksMax": Schema.count, "agentProcess": Schema.count, "agentStart": Schema.count,
        "hookStart": Schema.count,
      ]),
    "Feed": Schema.object([:], optional: ["text": Schema.text]),
    "Stop": Schema.object(["stopped": Schema.flag]),
    "HoldRequest": Schema.body([:], optional: ["seconds": ["type": "integer", "minimum": 1]]),
    "Output": Schema.object([
      "attempt": Schema.count, "text": Schema.text, "truncated": Schema.flag,
    ]),
  ]
}
