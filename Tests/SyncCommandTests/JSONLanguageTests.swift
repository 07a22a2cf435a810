import ArgumentParser
import Foundation
import LocalAPI
import Testing

@testable import SyncCommand

/// Every command with `--json` writes an object: times, sessions, lists and errors in one language.
@Suite(.timeLimit(.minutes(10))) struct JSONLanguageTests {
  private static let one = "11111111-1111-4111-8111-111111111111"
  private static let two = "22222222-2222-4222-8222-222222222222"

  /// The steps, in this order; a refusal is JSON, too.
  private static let steps: [[String]] =
    [
      "send -s a --id \(one) one", "send -s a --id \(two) two", "overview", "inbox", "status",
      "notifications list", "notifications dismiss", "notifications visible", "log",
      "log \(one)", "output a", "output \(one)", "web status", "web off", "web rename unknown name",
      "web revoke unknown",
      "queue list", "queue list -s a", "queue show 1111", "queue edit 1111 other",
      "queue move 1111 --to 2", "queue cancel 1111", "queue list --cancelled -s a",
      "queue restore 1111", "queue priority 1111 urgent", "queue pause -s a", "queue resume -s a",
      "queue attach 1111 FILE", "queue files 1111", "queue detach 1111 note.txt",
      "queue export -s a DIR/queue-a.json", "queue import DIR/queue-a.json", "queue retry 1111",
      "queue skip 1111", "queue later 1111 --in 3h", "queue after 1111 2222", "queue start 1111",
      "queue stop -s a",
      "queue hold 1111",
      "queue resolve 1111 --take 1", "queue list --done",
      "thread list", "thread next", "thread view a", "thread add a", "thread move a --to 1",
      "thread unlock a", "thread stats", "thread history", "thread remove a", "thread clear",
      "session list", "session add b", "session rename b B", "session host b this",
      "session take-over b", "session agent b", "session on-lost-server b stop",
      "session on-merge b run", "session archive b", "session unarchive b", "session delete b",
      "draft set -s a text", "draft list", "draft show -s a", "draft clear -s a", "draft send -s a",
      "undo --show", "undo", "redo", "task list", "task show a", "approve a", "deny a",
      "answer a yes", "sync off", "sync on", "sync now", "sync wait --timeout 0",
      "server move ws://127.0.0.1:1", "pair ws://127.0.0.1:1 AAAA-BBBB", "unpair",
      "push list", "push add ntfy https://ntfy.example.org/topic",
      "push add webhook https://example.org/hook", "push add apns 00 --topic org.example",
      "push test unknown", "push remove unknown",
      "config list", "config get maxQueueSize", "config set maxQueueSize 20",
      "config unset maxQueueSize", "config check", "config reload",
      "export DIR/all.json", "import DIR/all.json", "dump", "queue clear -s a",
    ].map { $0.split(separator: " ").map(String.init) }

  /// Commands that have a format of their own, do not end, or change more than the data directory.
  private static let others: Set<String> = [
    "queue fetch", "mcp", "acp", "completions", "complete", "hook", "hooks install",
    "hooks uninstall", "hooks status", "service install", "service uninstall", "service status",
    "service logs", "service restart", "setup", "init", "doctor", "bugreport", "web open",
    "task watch", "ask",
  ]

  /// Commands whose output has a file's format.
  private static func isDocument(_ step: [String]) -> Bool {
    step[0] == "dump" || step[0] == "export" || step.starts(with: ["queue", "export"])
  }

  private static func leaves(
    _ command: any ParsableCommand.Type, _ path: [String] = []
  ) -> [String] {
    let subcommands = command.configuration.subcommands
    guard !subcommands.isEmpty else { return [path.joined(separator: " ")] }
    return subcommands.flatMap { leaves($0, path + [$0._commandName]) }
  }

  @Test func everyCommandIsTriedOrHasAReason() {
    let tried = Set(
      Self.leaves(Cospool.self).filter { leaf in
        Self.steps.contains { $0.joined(separator: " ").hasPrefix(leaf) }
      })
    let missing = Set(Self.leaves(Cospool.self)).subtracting(tried).subtracting(Self.others)
    #expect(missing.sorted() == [])
  }

  @Test func everyCommandAnswersInOneLanguage() async throws {
    try await CommandFixture.run { fixture in
      let file = fixture.directory + "/note.txt"
      try Data("x".utf8).write(to: URL(filePath: file))
      var answered = 0
      for step in Self.steps {
        let arguments = step.map {
          $0 == "FILE" ? file : $0.replacing("DIR", with: fixture.directory)
        }
        let outcome = await CommandFixture.cospool(
          arguments + ["--json"], variables: ["COSPOOL_DATA": fixture.directory])
        let isDone = outcome.exitCode == 0
        answered += isDone ? 1 : 0
        let text = isDone ? outcome.output : outcome.errors
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        let members = try #require(value as? [String: Any], "\(arguments): \(outcome)")
        if !Self.isDocument(step) { #expect(faults(of: members, at: "") == [], "\(arguments)") }
        guard !isDone else { continue }
        let error = try #require(members["error"] as? [String: Any], "\(arguments): \(outcome)")
        #expect(error["code"] is String && error["message"] is String, "\(arguments)")
        #expect(error["exitCode"] as? Int == Int(outcome.exitCode), "\(arguments)")
      }
      #expect(answered > 60, "only \(answered) of \(Self.steps.count) had an answer")
    }
  }

  private func faults(of value: Any, at place: String) -> [String] {
    switch value {
    case let items as [Any]: return items.flatMap { faults(of: $0, at: place + "[]") }
    case let members as [String: Any]:
      var found = members.flatMap { faults(of: $1, at: "\(place).\($0)") }
      for (name, value) in members {
        let isTime =
          ["at", "since", "notBefore", "later"].contains(name)
          || ["At", "Time", "Since"].contains { name.hasSuffix($0) }
        if isTime, !isTimestamp(value) { found.append("\(place).\(name): \(value)") }
        if ["sessionId", "projectPath"].contains(name) { found.append("\(place).\(name)") }
      }
      if members["session"] is String, !(members["sessionName"] is String) {
        found.append("\(place).session without its name")
      }
      return found
    default: return []
    }
  }

  private func isTimestamp(_ value: Any) -> Bool {
    guard let text = value as? String else { return false }
    return (try? JSONDecoder().decode(Timestamp.self, from: Data(#""\#(text)""#.utf8))) != nil
  }

  @Test(arguments: [
    ["queue", "lst"], ["send", "--nothing"], ["queue", "move", "1111"], ["server"], ["queue"],
    ["thread", "move", "a", "--to", "-1"], ["nothing"], ["queue", "show"], ["help", "nothing"],
  ])
  func wrongUsageIsAnErrorInJSON(arguments: [String]) async throws {
    let outcome = await CommandFixture.cospool(arguments + ["--json"])
    #expect(outcome.exitCode == 2 && outcome.output.isEmpty, "\(outcome)")
    let value = try JSONSerialization.jsonObject(with: Data(outcome.errors.utf8)) as? [String: Any]
    let error = try #require(value?["error"] as? [String: Any], "\(outcome)")
    #expect(error["code"] as? String == "usage" && error["exitCode"] as? Int == 2, "\(outcome)")
    let message = try #require(error["message"] as? String)
    #expect(!message.isEmpty && !message.contains("Usage:"), "\(message)")
  }
}
