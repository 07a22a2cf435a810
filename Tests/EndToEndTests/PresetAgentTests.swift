import Foundation
import Testing

extension EndToEnd {
  /// Known agents: real daemons, and programs that write the output of the real ones.
  @Suite struct PresetAgentTests {
    private func eventually(
      _ status: String, _ message: String, on device: Device, _ bed: TestBed
    ) async throws {
      try await bed.eventually("\(message) is \(status)", within: 120) {
        try await device.message(message).status == status
      }
    }

    @Test func claudeGoesOnWithItsConversation() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try FakeAgent.claude(bed)
        try await agent.serve(["s"], as: "claude", on: device)
        let first = try await device.send("s", "first")
        try await eventually("succeeded", first, on: device, bed)
        let second = try await device.send("s", "go on")
        try await eventually("succeeded", second, on: device, bed)
        let words = "--model fast -p --output-format stream-json --verbose"
        #expect(
          agent.calls() == [
            .init(arguments: words, prompt: "first"),
            .init(arguments: words + " --resume conv-1", prompt: "go on"),
          ])
        // Also after a restart.
        try await device.stop()
        try await device.start()
        let third = try await device.send("s", "and on")
        try await eventually("succeeded", third, on: device, bed)
        #expect(agent.calls().last?.arguments == words + " --resume conv-1")
        #expect(try await device.cospool("log", third).contains("All done."))
      }
    }

    /// A failure, exit code 0 without a result, and an agent that hangs.
    @Test func claudesWordDecidesAndNotItsExitCode() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try FakeAgent.claude(bed)
        try await agent.serve(["fails", "lies", "hangs"], as: "claude", on: device)
        let failed = try await device.send("fails", "this fails")
        let behind = try await device.send("fails", "next")
        try await eventually("failed", failed, on: device, bed)
        #expect(try await device.message(failed).lastError == "no such branch")
        let lied = try await device.send("lies", "this lies")
        try await eventually("failed", lied, on: device, bed)
        #expect(
          try await device.message(lied).lastError
            == "The agent ended without a result (exit code 0).")
        #expect(agent.calls().map(\.prompt) == ["this fails", "this lies"])
        // A user decides, and the queue continues.
        try await device.cospool("queue", "skip", failed)
        try await eventually("succeeded", behind, on: device, bed)
        try await device.cospool("config", "set", "agentTimeout", "1")
        let hung = try await device.send("hangs", "this hangs")
        try await eventually("failed", hung, on: device, bed)
        #expect(try await device.message(hung).lastError?.contains("longer than 1 seconds") == true)
      }
    }

    @Test func aLimitIsNotAFailure() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try FakeAgent.claude(bed)
        try await agent.serve(["s"], as: "claude", on: device)
        let limited = try await device.send("s", "over the limit")
        let end = Date(timeIntervalSince1970: Double(FakeAgent.limitEnd)).formatted(.iso8601)
        let notBefore = #""notBefore":"\#(end.dropLast()).000Z""#
        try await bed.eventually("it waits for its time", within: 120) {
          try await device.cospool("queue", "show", limited, "--json").contains(notBefore)
        }
        #expect(try await device.message(limited).status == "queued")
        #expect(agent.calls().count == 1)
      }
    }

    @Test func codexGoesOnWithItsThread() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try FakeAgent.codex(bed)
        try await agent.serve(["s"], as: "codex", on: device)
        let first = try await device.send("s", "one")
        try await eventually("succeeded", first, on: device, bed)
        let second = try await device.send("s", "two")
        try await eventually("succeeded", second, on: device, bed)
        #expect(
          agent.calls() == [
            .init(arguments: "exec --model fast --json -", prompt: "one"),
            .init(arguments: "exec --model fast --json resume thread-1 -", prompt: "two"),
          ])
      }
    }

    @Test func aSessionCanHaveAnAgentOfItsOwn() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s", "live"], on: device)
        #expect(
          try await device.cospool("session", "agent", "live").contains("as the device is set"))
        try await device.cospool("session", "agent", "live", "hooks")
        let live = try await device.send("live", "for its person")
        let other = try await device.send("s", "for the device")
        try await bed.eventually("the device's ran", within: 120) { agent.ends() == [other] }
        #expect(try await device.message(live).status == "queued")
        try await device.stop()
        try await device.start()
        #expect(try await device.cospool("session", "agent", "live") == "hooks\n")
        #expect(try await device.message(live).status == "queued")
        try await device.cospool("session", "agent", "live", "device")
        try await bed.eventually("the other ran too", within: 120) {
          agent.ends() == [other, live]
        }
      }
    }
  }
}
