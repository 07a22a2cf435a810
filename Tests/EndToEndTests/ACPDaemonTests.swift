import Foundation
import Testing

extension EndToEnd {
  /// An agent that speaks the Agent Client Protocol, run by a daemon.
  @Suite struct ACPDaemonTests {
    private func device(_ bed: TestBed) async throws -> (device: Device, folder: String) {
      let device = Device(bed, "a")
      try await device.start()
      let folder = bed.path("acp")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Scripts/fake_acp.py").path(percentEncoded: false)
      try await device.cospool("config", "set", "command", "python3 '\(script)' '\(folder)'")
      try await device.cospool("config", "set", "agent", "acp")
      try await device.cospool("session", "add", "s")
      try await device.cospool("session", "host", "s", "this")
      return (device, folder)
    }

    private func lines(_ path: String) -> [String] {
      let data = FileManager.default.contents(atPath: path) ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func promptsRunInOneConversationAndAskOnAllDevices() async throws {
      try await TestBed.run { bed in
        let (device, folder) = try await device(bed)
        let first = try await device.send("s", "first")
        try await bed.eventually("it is done", within: 120) {
          try await device.message(first).status == "succeeded"
        }
        let asking = try await device.send("s", "asks")
        try await bed.eventually("it waits", within: 120) {
          try await device.task("s")?.status == "awaitingApproval"
        }
        let request = try await device.task("s")?.request
        #expect(request?.toolName == "execute" && request?.summary.contains("make deploy") == true)
        try await device.cospool("approve", "s")
        try await bed.eventually("it is done, too", within: 120) {
          try await device.message(asking).status == "succeeded"
        }
        #expect(lines(folder + "/prompts") == ["s1|first", "s1|asks"])
        #expect(lines(folder + "/told").first?.contains("once") == true)
        let hanging = try await device.send("s", "hangs")
        try await bed.eventually("it runs", within: 120) { lines(folder + "/prompts").count == 3 }
        try await device.cospool("queue", "stop", "-s", "s")
        try await bed.eventually("it is cancelled", within: 120) {
          try await device.message(hanging).status == "cancelled"
        }
        #expect(lines(folder + "/told").last == "session/cancel")
      }
    }

    /// The daemon is killed while its agent works: the prompt is not given again automatically.
    @Test func aPromptOfADaemonThatDiedIsNotGivenAgain() async throws {
      try await TestBed.run { bed in
        let (device, folder) = try await device(bed)
        let message = try await device.send("s", "hangs")
        try await bed.eventually("it runs", within: 120) { lines(folder + "/prompts").count == 1 }
        try await device.kill()
        try await device.start()
        try await bed.eventually("it is shown", within: 120) {
          ["unknown", "interrupted"].contains(try await device.message(message).status)
        }
        #expect(lines(folder + "/prompts") == ["s1|hangs"])
      }
    }
  }
}
