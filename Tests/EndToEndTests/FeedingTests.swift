import Foundation
import Testing

extension EndToEnd {
  /// An agent that a person works with gets prompts from its Stop hook, by the way of all messages.
  @Suite struct FeedingTests {
    private func hook(
      _ name: String, on device: Device, _ fields: String = #""stop_hook_active":false"#
    ) async throws -> String {
      let event =
        #"{"session_id":"live","cwd":"/src/shop","hook_event_name":"\#(name)",\#(fields)}"#
      let output = try await device.attempt(
        ["hook", "--feed", "--explain", "--timeout", "30"], input: event)
      #expect(output.isSuccess)
      #expect(output.standardError == "")
      return output.standardOutput
    }

    /// What the hook says where it has a prompt.
    private func block(_ prompt: String) -> String {
      #"{"decision":"block","reason":"\#(prompt)"}"# + "\n"
    }

    private func device(_ bed: TestBed) async throws -> Device {
      let device = Device(bed, "a")
      try await device.start()
      try await device.cospool("config", "set", "agent", "hooks")
      #expect(try await hook("SessionStart", on: device) == "")
      #expect(try await hook("UserPromptSubmit", on: device) == "")
      return device
    }

    @Test func eachEndOfATurnGetsOnePrompt() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        let two = try await device.send("live", "two")
        #expect(try await device.message(one).status == "queued")
        #expect(try await hook("Stop", on: device) == block("one"))
        #expect(try await device.message(one).status == "running")
        #expect(try await device.message(two).status == "queued")
        // The prompt is at work: its text can be neither edited nor withdrawn any more.
        #expect(!(try await device.attempt("queue", "cancel", one).isSuccess))
        _ = try await hook("PreToolUse", on: device)
        _ = try await hook("PostToolUse", on: device)
        #expect(try await hook("Stop", on: device) == block("two"))
        #expect(try await device.message(one).status == "succeeded")
        #expect(try await hook("Stop", on: device) == "")
        try await bed.eventually("the second is done", within: 120) {
          try await device.message(two).status == "succeeded"
        }
        // Nothing waits, and nothing starts without a hook that asks.
        let three = try await device.send("live", "three")
        #expect(try await hook("UserPromptSubmit", on: device) == "")
        #expect(try await device.message(three).status == "queued")
        #expect(try await hook("Stop", on: device) == block("three"))
        #expect(try await device.queue("live").messages.map(\.id) == [three])
      }
    }

    @Test func aPausedOrCancelledMessageIsNotFed() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        let two = try await device.send("live", "two")
        try await device.cospool("queue", "cancel", one)
        try await device.cospool("queue", "pause", "-s", "live")
        #expect(try await hook("Stop", on: device) == "")
        try await device.cospool("queue", "resume", "-s", "live")
        #expect(try await hook("UserPromptSubmit", on: device) == "")
        #expect(try await hook("Stop", on: device) == block("two"))
        #expect(try await device.message(two).status == "running")
        #expect(try await device.message(one).status == "cancelled")
      }
    }

    /// Its person takes over, or leaves, in the middle of a fed turn: that shows, and nothing is sent
    /// again by itself.
    @Test func whatIsCutOffWaitsForAPerson() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        #expect(try await hook("Stop", on: device) == block("one"))
        #expect(try await hook("UserPromptSubmit", on: device) == "")
        try await bed.eventually("it failed", within: 120) {
          try await device.message(one).status == "failed"
        }
        #expect(try await hook("Stop", on: device) == "")
        try await device.cospool("queue", "retry", one)
        #expect(try await hook("UserPromptSubmit", on: device) == "")
        #expect(try await hook("Stop", on: device) == block("one"))
        #expect(try await hook("SessionEnd", on: device) == "")
        try await bed.eventually("it was interrupted", within: 120) {
          try await device.message(one).status == "interrupted"
        }
      }
    }

    /// Its person presses Esc in the middle of a fed turn, and leaves it there.
    @Test func whatItsPersonStoppedIsInterruptedOnceTheAgentSaysThatItWaits() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        #expect(try await hook("Stop", on: device) == block("one"))
        let idle = #""notification_type":"idle_prompt""#
        #expect(try await hook("Notification", on: device, idle) == "")
        try await bed.eventually("it was interrupted", within: 120) {
          try await device.message(one).status == "interrupted"
        }
        #expect(try await hook("UserPromptSubmit", on: device) == "")
        #expect(try await hook("Stop", on: device) == "")
        try await device.cospool("queue", "retry", one)
        #expect(try await hook("UserPromptSubmit", on: device) == "")
        #expect(try await hook("Stop", on: device) == block("one"))
        #expect(try await hook("Stop", on: device) == "")
        try await bed.eventually("it is done", within: 120) {
          try await device.message(one).status == "succeeded"
        }
      }
    }

    /// The agent's session is closed while its hook waits: what it would have got is for the next one.
    @Test func whatAHookThatIsGoneWouldHaveGotWaits() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        try await device.cospool("queue", "hold", one)
        let event = #"{"session_id":"live","cwd":"/src/shop","hook_event_name":"Stop"}"#
        let waiting = try bed.start(
          "cospool", ["hook", "--feed", "--timeout", "30", "--data", device.data], input: event)
        try await bed.eventually("its turn is over", within: 120) {
          try await device.task("live")?.status == "completed"
        }
        waiting.send(SIGKILL)
        try await waiting.ended(within: 90)
        try await device.cospool("queue", "hold", one, "--release")
        for _ in 1...5 { #expect(try await device.message(one).status == "queued") }
        try await bed.eventually("the next hook gets it", within: 120) {
          try await hook("Stop", on: device) == block("one")
        }
      }
    }

    /// The daemon dies while the agent works on what it was fed: nobody knows, and a person decides.
    @Test func aDaemonThatDiesDoesNotFeedTwice() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        #expect(try await hook("Stop", on: device) == block("one"))
        try await device.kill()
        try await device.start()
        #expect(try await hook("Stop", on: device) == "")
        let status = try await device.message(one).status
        #expect(["unknown", "interrupted"].contains(status), "\(status)")
      }
    }
  }
}
