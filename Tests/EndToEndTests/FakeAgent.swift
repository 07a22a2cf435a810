import Foundation

/// A known agent's program for tests: a script that records its calls, and writes the output of the
/// real one.
struct FakeAgent: Sendable {
  /// One call.
  struct Call: Hashable, Sendable {
    var arguments: String
    var prompt: String
  }

  let folder: String

  private var path: String { folder + "/agent" }

  private init(_ bed: TestBed, answers: String) throws {
    folder = bed.path("fake")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let script = """
      #!/bin/sh
      prompt=$(cat)
      printf '%s|%s\\n' "$*" "$prompt" >> \(folder)/calls
      say() { printf '%s\\n' "$1"; }
      case "$prompt" in
      \(answers)
      esac
      """
    try Data(script.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  /// The end of Claude Code's limit: a midnight within the number of days that a host waits at
  /// most.
  static let limitEnd = (Int(Date().timeIntervalSince1970) / 86_400 + 2) * 86_400

  static func claude(_ bed: TestBed) throws -> FakeAgent {
    let begin = #"say '{"type":"system","subtype":"init","session_id":"conv-1","tools":["Bash"]}'"#
    let tools = """
      say '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]},"session_id":"conv-1"}'
      say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]},"session_id":"conv-1"}'
      """
    let done =
      #"say '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"All done.","session_id":"conv-1"}'"#
    let failed =
      #"say '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,"result":"no such branch","session_id":"conv-1"}'"#
    let limited = """
      say '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":\(limitEnd)},"session_id":"conv-1"}'
      say '{"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"limit reached","session_id":"conv-1"}'
      """
    return try FakeAgent(
      bed,
      answers: """
        *fails*) \(begin); \(failed); exit 1 ;;
        *lies*) \(begin); exit 0 ;;
        *limit*) \(begin)
        \(limited)
        exit 1 ;;
        *hangs*) \(begin); exec sleep 600 ;;
        *) \(begin)
        \(tools)
        \(done) ;;
        """)
  }

  static func codex(_ bed: TestBed) throws -> FakeAgent {
    try FakeAgent(
      bed,
      answers: """
        *) say '{"type":"thread.started","thread_id":"thread-1"}'
        say '{"type":"turn.started"}'
        say '{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","status":"in_progress"}}'
        say '{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}'
        say '{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"Done."}}'
        say '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}' ;;
        """)
  }

  /// Makes a device the host of sessions, with this agent.
  func serve(_ sessions: [String], as kind: String, on device: Device) async throws {
    try await device.cospool("config", "set", "command", "\(path) --model fast")
    try await device.cospool("config", "set", "agent", kind)
    for session in sessions {
      try await device.cospool("session", "add", session)
      try await device.cospool("session", "host", session, "this")
    }
  }

  /// Every call, in order.
  func calls() -> [Call] {
    let data = FileManager.default.contents(atPath: folder + "/calls") ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { line in
      let parts = line.split(separator: "|", maxSplits: 1)
      return parts.count == 2
        ? Call(arguments: String(parts[0]), prompt: String(parts[1])) : nil
    }
  }
}
