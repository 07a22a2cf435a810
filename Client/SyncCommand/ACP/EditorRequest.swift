import AgentFormats
import Basics
import LocalAPI
import QueueModel

/// A request of an agent, shown in an editor until it is answered there or elsewhere.
struct EditorRequest: Sendable {
  let session: String
  let request: TaskRequest
  let editor: EditorLink
  let ask: ACPServer.Daemon

  private var call: JSONTree { .string(request.id.description) }

  /// Asks, and passes the answer on. Without an answer, it stays open for the other devices.
  func run() async {
    do {
      switch request {
      case .approval(let approval): try await run(approval)
      case .question(let question): try await run(question)
      }
    } catch {
      editor.say(session, "\(CommandRunner.failure(of: error).message)\n\n")
    }
  }

  private func run(_ approval: ApprovalRequest) async throws {
    let text = approval.details ?? approval.summary
    // A yes is only for what was shown in full.
    let isWhole = !approval.isCut && approval.digest != nil
    let more = isWhole ? "" : "\nIt is too long to be approved here."
    let allow = Self.option("allow", "Allow", "allow_once")
    let chosen = await choose(
      "\(approval.toolName): \(approval.summary)", text + more,
      (isWhole ? [allow] : []) + [Self.option("deny", "Deny", "reject_once")])
    switch chosen {
    case "allow":
      try await decide(DecisionRequest(verdict: "allowed", text: nil, digest: approval.digest))
    case "deny": try await decide(DecisionRequest(verdict: "denied", text: nil))
    default: break
    }
  }

  private func run(_ question: UserQuestion) async throws {
    if !question.options.isEmpty {
      let options = question.options.enumerated().map { number, text in
        Self.option(String(number), text, "allow_once")
      }
      let chosen = await choose(
        question.question, question.question,
        options + [Self.option("later", "Answer elsewhere", "reject_once")])
      guard let number = chosen.flatMap(Int.init), question.options.indices.contains(number) else {
        return
      }
      try await decide(DecisionRequest(verdict: "answered", text: question.options[number]))
    } else if editor.takesForms {
      let answer = await editor.ask(
        "elicitation/create",
        [
          "sessionId": .string(session), "mode": "form", "message": .string(question.question),
          "requestedSchema": [
            "type": "object", "properties": ["answer": ["type": "string", "title": "Answer"]],
            "required": ["answer"],
          ],
        ])
      guard let text = answer?["content"]?["answer"]?.text else { return }
      try await decide(DecisionRequest(verdict: "answered", text: text))
    } else {
      editor.say(
        session,
        "\(question.question)\nTo answer: cospool answer "
          + "\(Shell.quoted(request.id.description)) TEXT\n\n")
    }
  }

  private static func option(_ id: String, _ name: String, _ kind: String) -> JSONTree {
    ["optionId": .string(id), "name": .string(TextStyle.line(name)), "kind": .string(kind)]
  }

  /// The id of the option that the editor's user chooses; nil for none.
  private func choose(_ title: String, _ text: String, _ options: [JSONTree]) async -> String? {
    let fields: [String: JSONTree] = [
      "toolCallId": call, "title": .string(TextStyle.line(title)), "kind": "other",
      "status": "pending", "content": [["type": "content", "content": EditorLink.shown(text)]],
    ]
    editor.update(session, "tool_call", fields)
    let answer = await editor.ask(
      "session/request_permission",
      [
        "sessionId": .string(session), "toolCall": .object(fields), "options": .array(options),
      ])
    let chosen = answer?["outcome"]?["optionId"]?.text
    editor.update(
      session, "tool_call_update",
      ["toolCallId": call, "status": chosen == "deny" ? "failed" : "completed"])
    return chosen
  }

  private func decide(_ decision: DecisionRequest) async throws {
    _ = try await ask(
      APIRequest(.post, ["asks", request.id.description, "answer"], body: decision))
  }
}
