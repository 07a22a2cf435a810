import AgentFormats

/// Gives the next queued prompt to an agent whose turn has just ended.
///
/// The daemon decides, by the same lease and dispatch check as for agents that it starts itself, so
/// that no prompt is given out twice. What it gave out counts as started.
struct HookFeed: Sendable {
  var connection: DaemonConnection
  var session: String
  /// How long the hook may take in all.
  var seconds: Double

  /// What the agent reads of its hook: empty where nothing is to be done.
  func answer() async throws -> String {
    // The daemon is to say no before the hook's own time is over.
    var request = try APIRequest(
      .post, ["sessions", session, "feed"], body: ["waitSeconds": max(0.1, seconds / 2)])
    request.timeoutSeconds = seconds
    let answer = try await connection.answer(to: request)
    guard let text = JSONTree(Array(answer.json))?["text"]?.text, !text.isEmpty else { return "" }
    return JSONTree.object(["decision": "block", "reason": .string(text)]).line
  }
}
