import AgentFormats
import LocalAPI

/// Gives the next queued prompt to an agent whose turn has just ended.
///
/// The daemon decides, by the same lease and dispatch check as for agents that it starts itself, so
/// that no prompt is handed out twice. A prompt that it handed out counts as started until the next
/// event of the session shows how it ended.
enum HookFeed {
  /// Claude Code ends a turn after this many consecutive blocks of Stop hooks, whatever their text
  /// is (code.claude.com/docs/en/hooks, "Stop"); Codex has no such limit.
  static let claudeBlocksMax = 8
  /// The variable with a different limit (code.claude.com/docs/en/env-vars); 0 means none.
  static let claudeBlocksVariable = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"

  /// The report to the daemon about a live agent; nil if an event has no news for it.
  ///
  /// - Parameters:
  ///   - caller: nil if the system does not show it.
  ///   - now: milliseconds since 1970.
  static func request(
    of event: HookEvent, session: String, seconds: Double, caller: HookCaller?,
    variables: [String: String], now: Int64
  ) throws -> APIRequest? {
    // It continues with its present prompt.
    guard !event.isNoEnd, !event.isByItself else { return nil }
    var body: FeedRequest
    switch event.name {
    case .stop:
      body = FeedRequest(.turnEnded)
      // The daemon must refuse before the hook's own time has passed.
      body.waitSeconds = max(0.1, seconds / 2)
      body.summary = event.summary
      body.stopHookActive = event.stopHookActive
      body.blocksMax = event.isCodex ? nil : blocksMax(variables)
      body.agentProcess = (caller?.agent).map(Int.init)
      body.agentStart = caller?.agentStart
      body.hookStart = caller?.hookStart
    case .stopFailure:
      body = FeedRequest(.turnFailed)
      body.error = event.failure
      if event.isLimit {
        body.isLimit = true
        body.limitUntil = WaitPhrase.time(in: event.failure, now: now).map(Timestamp.init)
      }
    case .userPromptSubmit: body = FeedRequest(.promptTyped)
    case .sessionEnd: body = FeedRequest(.sessionEnded)
    case .sessionStart, .preToolUse, .permissionRequest, .postToolUse, .postToolUseFailure,
      .notification:
      return nil
    }
    var request = try APIRequest(.post, ["sessions", session, "feed"], body: body)
    request.timeoutSeconds = seconds
    return request
  }

  /// One less than the limit: it is not documented whether the block that reaches the limit still
  /// counts.
  static func blocksMax(_ variables: [String: String]) -> Int? {
    let cap = variables[claudeBlocksVariable].flatMap { Int($0) } ?? claudeBlocksMax
    return cap > 0 ? cap - 1 : nil
  }

  /// The agent's input from its hook: empty if there is nothing to do.
  static func answer(_ answer: Answer) -> String {
    guard let text = (try? answer.decoded(FeedAnswer.self))?.text, !text.isEmpty else { return "" }
    return JSONTree.object(["decision": "block", "reason": .string(text)]).line
  }
}
