import Foundation
import Testing

extension EndToEnd {
  /// An agent that a user works with gets prompts from its Stop hook, like all messages.
  @Suite struct FeedingTests {
    /// Runs a hook like the agent.
    ///
    /// - Parameter isGoingOn: whether a Stop hook began the turn that ends.
    private func hook(
      _ name: String, on device: Device, isGoingOn: Bool = false, _ fields: String = #""x":1"#
    ) async throws -> String {
      let event = event(name, isGoingOn: isGoingOn, fields)
      let output = try await device.attempt(
        ["hook", "--feed", "--explain", "--timeout", "120"], input: event)
      #expect(output.isSuccess)
      #expect(output.standardError == "")
      return output.standardOutput
    }

    private func event(_ name: String, isGoingOn: Bool, _ fields: String = #""x":1"#) -> String {
      #"{"session_id":"live","cwd":"/src/shop","hook_event_name":"\#(name)","#
        + #""stop_hook_active":\#(isGoingOn),\#(fields)}"#
    }

    /// The hook's output if it has a prompt.
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
        // The prompt is running: its text can no longer be edited or withdrawn.
        #expect(!(try await device.attempt("queue", "cancel", one).isSuccess))
        _ = try await hook("PreToolUse", on: device)
        _ = try await hook("PostToolUse", on: device)
        #expect(try await hook("Stop", on: device, isGoingOn: true) == block("two"))
        #expect(try await device.message(one).status == "succeeded")
        #expect(try await hook("Stop", on: device, isGoingOn: true) == "")
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

    /// Their paths follow the prompt, and exist until the turn ends.
    @Test func aFedAgentLearnsOfTheFiles() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let notes = bed.path("notes.txt")
        try Data("notes".utf8).write(to: URL(filePath: notes))
        try await device.cospool("send", "-s", "live", "--attach", notes, "look")
        let given = try await hook("Stop", on: device)
        let path = try #require(given.firstMatch(of: /look\\n\\nAttached files:\\n([^"]+)"/)?.1)
        #expect(try String(contentsOfFile: String(path), encoding: .utf8) == "notes")
        #expect(try await hook("Stop", on: device, isGoingOn: true) == "")
        try await bed.eventually("it is gone", within: 60) {
          !FileManager.default.fileExists(atPath: String(path))
        }
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

    /// Its user takes over, or leaves, in the middle of a fed turn: that is visible, and nothing is
    /// sent again automatically.
    @Test func interruptedMessagesWaitForAUser() async throws {
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

    /// Its user presses Esc in the middle of a fed turn, and leaves it there.
    @Test func aTurnStoppedByItsUserIsInterruptedOnceTheAgentWaits() async throws {
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
        #expect(try await hook("Stop", on: device, isGoingOn: true) == "")
        try await bed.eventually("it is done", within: 120) {
          try await device.message(one).status == "succeeded"
        }
      }
    }

    /// The agent's session is closed while its hook waits: the next session gets the prompt.
    @Test func aPromptForAHookThatIsGoneWaits() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        try await device.cospool("queue", "hold", one)
        let event = #"{"session_id":"live","cwd":"/src/shop","hook_event_name":"Stop"}"#
        let waiting = try bed.start(
          "cospool", ["hook", "--feed", "--timeout", "120", "--data", device.data], input: event)
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

    /// The daemon dies while the agent works on a fed prompt: its outcome is unknown, and a user
    /// decides.
    @Test func aDaemonThatDiesDoesNotFeedTwice() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        #expect(try await hook("Stop", on: device) == block("one"))
        try await device.kill()
        try await device.start()
        #expect(try await hook("Stop", on: device, isGoingOn: true) == "")
        let status = try await device.message(one).status
        #expect(["unknown", "interrupted"].contains(status), "\(status)")
      }
    }

    /// Claude Code ends a turn after eight blocks in a row and drops the output of the last; the
    /// prompt that it would drop stays in the queue.
    @Test func noMoreIsFedInARowThanTheAgentTakes() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        var sent: [String] = []
        for number in 1...8 { sent.append(try await device.send("live", "p\(number)")) }
        for number in 1...7 {
          #expect(
            try await hook("Stop", on: device, isGoingOn: number > 1) == block("p\(number)"))
        }
        #expect(try await hook("Stop", on: device, isGoingOn: true) == "")
        let last = sent[6]
        try await bed.eventually("the seventh is done", within: 120) {
          try await device.message(last).status == "succeeded"
        }
        #expect(try await device.message(sent[7]).status == "queued")
        #expect(try await hook("UserPromptSubmit", on: device) == "")
        #expect(try await hook("Stop", on: device) == block("p8"))
      }
    }

    /// Two hooks of one event, as with different flags in the user's and the project's settings:
    /// both report the end of the same turn.
    @Test(arguments: [false, true])
    func twoHooksOfOneEventGiveOnePrompt(isGoingOn: Bool) async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        if isGoingOn {
          try await device.send("live", "zero")
          #expect(try await hook("Stop", on: device) == block("zero"))
        }
        let one = try await device.send("live", "one")
        let two = try await device.send("live", "two")
        // It begins now, and asks later.
        let script = "while [ ! -e $0 ]; do sleep 0.05; done; exec \"$@\""
        let path = bed.path("go")
        let second = try bed.launch(
          "/bin/sh",
          [
            "-c", script, path, try Executables.path(of: "cospool"), "hook", "--feed",
            "--explain", "--timeout", "30", "--data", device.data,
          ], name: "second hook", input: event("Stop", isGoingOn: isGoingOn))
        // The tick after its beginning.
        try await bed.eventually("it runs", within: 120) {
          FileManager.default.fileExists(atPath: "/proc/\(second.id)/stat")
        }
        #expect(try await hook("Stop", on: device, isGoingOn: isGoingOn) == block("one"))
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        try await second.ended(within: 90)
        #expect(second.standardOutput == "")
        #expect(second.standardError == "")
        #expect(try await device.message(one).status == "running")
        #expect(try await device.message(two).status == "queued")
        #expect(try await hook("Stop", on: device, isGoingOn: true) == block("two"))
        #expect(try await device.message(one).status == "succeeded")
      }
    }

    /// A terminal is closed by force: no hook reports it, and nothing waits forever.
    @Test func anAgentThatIsKilledLeavesItsMessageInterrupted() async throws {
      try await TestBed.run { bed in
        let device = try await device(bed)
        let one = try await device.send("live", "one")
        let agent = """
          import subprocess, sys, time
          hook = subprocess.run(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE, check=True)
          print("said", hook.stdout.decode().strip(), flush=True)
          time.sleep(1000)
          """
        let process = try bed.launch(
          "/usr/bin/env",
          [
            "python3", "-c", agent, try Executables.path(of: "cospool"), "hook", "--feed",
            "--timeout", "30", "--data", device.data,
          ], name: "agent", input: event("Stop", isGoingOn: false))
        let said = try await process.line(holding: "said", within: 120)
        #expect(said.contains("one"))
        #expect(try await device.message(one).status == "running")
        process.send(SIGKILL)
        try await bed.eventually("it was interrupted", within: 120) {
          try await device.message(one).status == "interrupted"
        }
        #expect(try await device.message(one).lastError?.contains("process has ended") == true)
      }
    }
  }
}
