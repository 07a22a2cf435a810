import AgentFormats

/// Gives the next queued prompt to an agent whose turn has just ended.
///
/// The daemon decides, by the same lease and dispatch check as for agents that it starts itself, so
/// that no prompt is given out twice. What it gave out counts as started until the next event of the
/// session tells how it ended.
enum HookFeed {
  /// What the daemon is told of a live agent; nil where an event is no news for it.
  static func request(
    of event: HookEvent, session: String, seconds: Double
  ) throws -> APIRequest? {
    struct Body: Encodable {
      var type: String
      var waitSeconds: Double?
      var summary: String?
    }
    let body: Body
    switch event.name {
    // The daemon is to say no before the hook's own time is over.
    case .stop:
      body = Body(type: "turn_end", waitSeconds: max(0.1, seconds / 2), summary: event.summary)
    case .userPromptSubmit: body = Body(type: "prompt")
    case .sessionEnd: body = Body(type: "session_end")
    case .sessionStart, .preToolUse, .permissionRequest, .postToolUse, .notification: return nil
    }
    var request = try APIRequest(.post, ["sessions", session, "feed"], body: body)
    request.timeoutSeconds = seconds
    return request
  }

  /// What the agent reads of its hook: empty where nothing is to be done.
  static func answer(_ answer: Answer) -> String {
    guard let text = JSONTree(Array(answer.json))?["text"]?.text, !text.isEmpty else { return "" }
    return JSONTree.object(["decision": "block", "reason": .string(text)]).line
  }
}
