import Foundation
import Testing

extension EndToEnd {
  /// A session that the executor runs, and in which a user also works with an agent.
  @Suite struct SharedSessionTests {
    private func hook(_ name: String, on device: Device) async throws {
      let event = #"{"session_id":"live","cwd":"/src/shop","hook_event_name":"\#(name)"}"#
      let output = try await device.attempt(
        ["hook", "--session", "s", "--explain", "--timeout", "30"], input: event)
      #expect(output.isSuccess)
      #expect(output.standardError == "")
    }

    /// The user begins while the executor's turn runs: the next one waits for both.
    @Test func aTurnThatAUserBeganIsWaitedFor() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: device)
        let first = try await device.send("s", "one is stuck")
        let second = try await device.send("s", "two")
        try await bed.eventually("the first runs", within: 120) { agent.starts().count == 1 }
        try await hook("UserPromptSubmit", on: device)
        agent.letGo()
        try await bed.eventually("the first is done", within: 120) {
          try await device.message(first).status == "succeeded"
        }
        for _ in 1...5 { #expect(try await device.message(second).status == "queued") }
        #expect(agent.starts().count == 1)
        try await hook("Stop", on: device)
        try await bed.eventually("the second is done", within: 120) {
          try await device.message(second).status == "succeeded"
        }
      }
    }
  }
}
