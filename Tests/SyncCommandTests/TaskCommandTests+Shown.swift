import AgentFormats
import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// The shown request is the one that is allowed.
extension TaskCommandTests {
  /// A request of 6,000 bytes is shown completely, and an approval names what was shown.
  @Test func aYesIsForWhatWasShown() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let command = "make " + String(repeating: "x", count: 6_000) + "; rm -rf ~"
      let input = JSONTree.object(["command": .string(command), "cwd": "/"]).line
      async let asked = ask(fixture, ["kind": "approval", "toolName": "Bash", "input": input])
      try await waits(fixture, for: "awaitingApproval")
      #expect(await fixture.cospool("task", "show", "s").output.contains("; rm -rf ~\ncwd: /"))
      let shown = await fixture.cospool("task", "show", "s", "--json").output
      let request = try #require(JSONTree(Array(shown.utf8))?["request"])
      let digest = try #require(request["digest"]?.text)
      #expect(request["isCut"] == nil)
      let other = String(repeating: "0", count: 64)
      let refused = await CommandFixture.cospool(
        ["approve", "s", "--digest", other], variables: ["COSPOOL_DATA": fixture.directory])
      #expect(refused.exitCode == 5 && refused.errors.contains("that was shown"), "\(refused)")
      await #expect(throws: CommandFailure.self) {
        try await daemon(fixture).answer(
          to: APIRequest(.post, ["asks", "only", "answer"], body: ["verdict": "allowed"]))
      }
      try await waits(fixture, for: "awaitingApproval")
      let allowed = await CommandFixture.cospool(
        ["approve", "s", "--digest", digest], variables: ["COSPOOL_DATA": fixture.directory])
      #expect(allowed.exitCode == 0, "\(allowed)")
      #expect(try await asked["ending"] == "allowed")
      // Its text is sent with it.
      let deadline = ContinuousClock.now + .seconds(60)
      let folder = fixture.directory + "/attachments"
      while try !FileManager.default.contentsOfDirectory(atPath: folder).isEmpty {
        try #require(ContinuousClock.now < deadline, "the text of the request is still there")
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// Above 256 KiB, no user is asked.
  @Test func unreadableInputsAreDenied() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let command = String(repeating: "x", count: Limits.taskInputBytesMax)
      let input = JSONTree.object(["command": .string(command)]).line
      let denied = try await ask(fixture, ["kind": "approval", "toolName": "Bash", "input": input])
      #expect(denied["ending"] == "denied" && denied["text"]?.text?.contains("bytes") == true)
      let event =
        #"{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","#
        + #""tool_input":\#(input)}"#
      #expect(await hook(fixture, event, ["--approvals", "300"]) == .init())
      let task = await fixture.cospool("task", "show", "s").output
      #expect(task.contains("not all of it"), "\(task.suffix(500))")
      #expect(await fixture.cospool("approve", "s").exitCode != 0)
    }
  }
}
