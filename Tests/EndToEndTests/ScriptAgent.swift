import Foundation

/// An agent for tests: a script that records its input, then carries out the prompt.
struct ScriptAgent: Sendable {
  /// The input of a start.
  struct Start: Hashable, Sendable {
    var message: String
    var attempt: Int
    var prompt: String
  }

  let folder: String

  /// Writes the script; its files are in their own folder.
  init(_ bed: TestBed, name: String = "agent") throws {
    folder = bed.path(name)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let cospool = try Executables.path(of: "cospool")
    // One printf is one write, which appends as a whole. An agent whose daemon was killed ends with
    // the test's folder.
    let script = """
      #!/bin/sh
      printf '%s %s %s\\n' "$COSPOOL_MESSAGE" "$COSPOOL_ATTEMPT" "$1" >> \(folder)/starts
      printf 'start %s\\n' "$COSPOOL_MESSAGE" >> \(folder)/turns
      echo "working on $1"
      case "$1" in
        *stuck*) while [ -e \(folder)/starts ] && [ ! -e \(folder)/go ]; do sleep 0.02; done ;;
        *slow*) sleep 0.2 ;;
        *wonders*) \(cospool) ask "Which branch?" --option main || exit 4 ;;
        *asks*) \(cospool) ask --leave "git push" || exit 4 ;;
        *dies*) kill -9 $$ ;;
        *deaf*) trap "" TERM; while [ -e \(folder)/starts ]; do sleep 0.02; done ;;
        *fails*) [ -e \(folder)/works ] || { echo "no such branch"; exit 3; } ;;
      esac
      printf 'end %s\\n' "$COSPOOL_MESSAGE" >> \(folder)/turns
      printf '%s %s\\n' "$COSPOOL_MESSAGE" "$COSPOOL_ATTEMPT" >> \(folder)/ends
      """
    try Data(script.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  var path: String { folder + "/agent.sh" }

  /// Makes a device the host of sessions, with this agent.
  func serve(_ sessions: [String], on device: Device, settings: [String: String] = [:]) async throws
  {
    try await device.cospool("config", "set", "command", "\(path) {}")
    try await device.cospool("config", "set", "maxQueueSize", "1000")
    for (name, value) in settings { try await device.cospool("config", "set", name, value) }
    // Some settings apply from the next start on.
    if !settings.isEmpty {
      try await device.stop()
      try await device.start()
    }
    try await device.cospool("config", "set", "agent", "command")
    for session in sessions {
      try await device.cospool("session", "add", session)
      try await device.cospool("session", "host", session, "this")
    }
  }

  /// Lets stuck prompts continue.
  func letGo() { _ = FileManager.default.createFile(atPath: folder + "/go", contents: nil) }
  /// Lets failing prompts succeed.
  func mend() { _ = FileManager.default.createFile(atPath: folder + "/works", contents: nil) }

  /// Every start, in order.
  func starts() -> [Start] {
    lines("starts").compactMap { line in
      let words = line.split(separator: " ", maxSplits: 2)
      guard words.count == 3, let attempt = Int(words[1]) else { return nil }
      return Start(message: String(words[0]), attempt: attempt, prompt: String(words[2]))
    }
  }

  /// The messages that were finished, in order.
  func ends() -> [String] {
    lines("ends").compactMap { $0.split(separator: " ").first.map(String.init) }
  }

  /// Starts and ends as they happened: `start ID`, `end ID`.
  func turns() -> [String] { lines("turns").map(String.init) }

  private func lines(_ name: String) -> [Substring] {
    let data = FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: "\n")
  }
}
