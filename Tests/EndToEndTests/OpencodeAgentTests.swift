import Foundation
import Testing

extension EndToEnd {
  /// opencode by its HTTP interface: a stand-in server with its routes and events.
  @Suite struct OpencodeAgentTests {
    private func serve(
      _ bed: TestBed, _ sessions: [String], on device: Device, project: String? = nil,
      password: String = ""
    ) async throws -> String {
      let folder = bed.path("opencode")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Scripts/fake_opencode.py").path(percentEncoded: false)
      _ = try bed.launch(
        "/usr/bin/env", ["python3", script, folder], name: "fake_opencode.py",
        environment: ["OPENCODE_SERVER_PASSWORD": password])
      try await bed.eventually("it listens", within: 120) {
        FileManager.default.fileExists(atPath: folder + "/port")
      }
      let port = try String(contentsOfFile: folder + "/port", encoding: .utf8)
      try await device.cospool("config", "set", "command", "http://127.0.0.1:\(port)")
      try await device.cospool("config", "set", "agent", "opencode")
      for session in sessions {
        let named = project.map { ["--project", $0] } ?? []
        _ = try await device.attempt(["session", "add", session] + named).succeeded()
        try await device.cospool("session", "host", session, "this")
      }
      return folder
    }

    private func prompts(_ folder: String) -> [String] {
      let data = FileManager.default.contents(atPath: folder + "/prompts") ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The second answer is lost on its way: the list of messages has the outcome of the prompt,
    /// and it is not sent again.
    @Test func promptsRunInOneConversationEachOnce() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let folder = try await serve(bed, ["s"], on: device)
        try await device.send("s", "one")
        try await device.send("s", "two cut")
        let last = try await device.send("s", "three")
        try await bed.eventually("all are done", within: 120) {
          try await device.message(last).status == "succeeded"
        }
        #expect(prompts(folder) == ["ses_1|one", "ses_1|two cut", "ses_1|three"])
        let failed = try await device.send("s", "this fails")
        try await bed.eventually("it failed", within: 120) {
          try await device.message(failed).status == "failed"
        }
        #expect(try await device.message(failed).lastError == "no key")
      }
    }

    /// S-23: its server accepts requests with the password with which both were started.
    @Test func aServerWithAPasswordGetsIt() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start(environment: ["OPENCODE_SERVER_PASSWORD": "tiger"])
        let folder = try await serve(bed, ["s"], on: device, password: "tiger")
        let message = try await device.send("s", "one")
        try await bed.eventually("it is done", within: 120) {
          try await device.message(message).status == "succeeded"
        }
        #expect(prompts(folder) == ["ses_1|one"])
        try await device.stop()
        try await device.start()
        let refused = try await device.send("s", "two")
        try await bed.eventually("it failed", within: 120) {
          try await device.message(refused).status == "failed"
        }
        #expect(try await device.message(refused).lastError?.contains("401") == true)
      }
    }

    /// It serves each request from the instance of the folder that the request names: the second
    /// prompt, a lost answer, events and permission requests also belong to the project.
    @Test func aSessionWithAProjectWorksThere() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let project = bed.path("my shop")
        try FileManager.default.createDirectory(
          atPath: project, withIntermediateDirectories: true)
        let folder = try await serve(bed, ["s"], on: device, project: project)
        try await device.send("s", "one")
        let asking = try await device.send("s", "asks, and is cut")
        try await bed.eventually("it waits", within: 120) {
          try await device.task("s")?.status == "awaitingApproval"
        }
        let request = try await device.task("s")?.request
        #expect(request?.toolName == "bash" && request?.summary.contains("make deploy") == true)
        try await device.cospool("approve", "s")
        try await bed.eventually("it is done", within: 120) {
          try await device.message(asking).status == "succeeded"
        }
        #expect(prompts(folder) == ["ses_1|one", "ses_1|asks, and is cut"])
        let inner = try await device.send("s", "asks in a child")
        try await bed.eventually("its subagent waits", within: 120) {
          try await device.task("s")?.status == "awaitingApproval"
        }
        try await device.cospool("deny", "s")
        try await bed.eventually("that is done, too", within: 120) {
          try await device.message(inner).status == "succeeded"
        }
        let decisions = try String(contentsOfFile: folder + "/decisions", encoding: .utf8)
        #expect(decisions == "ses_1|once\nses_1_child|reject\n")
      }
    }

    @Test func picturesGoWithThePrompt() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let folder = try await serve(bed, ["s"], on: device)
        let picture = bed.path("shot.png")
        try Data([0x89, 0x50, 0x4E, 0x47, 1]).write(to: URL(filePath: picture))
        let id = UUID().uuidString.lowercased()
        try await device.cospool("send", "-s", "s", "--id", id, "--attach", picture, "look")
        try await bed.eventually("it is done", within: 120) {
          try await device.message(id).status == "succeeded"
        }
        #expect(prompts(folder) == ["ses_1|look"])
        let files = try String(contentsOfFile: folder + "/files", encoding: .utf8)
        #expect(files == "ses_1|image/png|shot.png|data:image/png;base64,iVBORwE=\n")
      }
    }

    /// A dead connection that nothing reports: the list of messages shows that the turn has ended.
    @Test func anAnswerThatNeverComesIsLookedFor() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let folder = try await serve(bed, ["s"], on: device)
        let message = try await device.send("s", "mute")
        try await bed.eventually("it is done", within: 120) {
          try await device.message(message).status == "succeeded"
        }
        #expect(prompts(folder) == ["ses_1|mute"])
      }
    }

    /// The time limit counts from the beginning, not from the prompt.
    @Test func aServerThatDoesNotAnswerRunsIntoTheLimit() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let folder = try await serve(bed, ["s"], on: device)
        try await device.cospool("config", "set", "agentTimeout", "1")
        _ = FileManager.default.createFile(atPath: folder + "/deaf", contents: nil)
        let message = try await device.send("s", "hello")
        try await bed.eventually("it failed", within: 120) {
          try await device.message(message).status == "failed"
        }
        #expect(
          try await device.message(message).lastError?.contains("longer than 1 seconds") == true)
        #expect(prompts(folder) == [])
      }
    }

    @Test func stoppedTurnsAreAborted() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let project = bed.path("shop")
        try FileManager.default.createDirectory(
          atPath: project, withIntermediateDirectories: true)
        let folder = try await serve(bed, ["s"], on: device, project: project)
        let message = try await device.send("s", "hangs")
        try await bed.eventually("it runs", within: 120) { prompts(folder) == ["ses_1|hangs"] }
        try await device.cospool("queue", "stop", "-s", "s")
        try await bed.eventually("it is aborted", within: 120) {
          FileManager.default.contents(atPath: folder + "/aborts") == Data("ses_1\n".utf8)
        }
        try await bed.eventually("it is cancelled", within: 120) {
          try await device.message(message).status == "cancelled"
        }
      }
    }

    @Test func itsPermissionRequestsAreAnsweredOnce() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let folder = try await serve(bed, ["s"], on: device)
        for (verb, response) in [("approve", "once"), ("deny", "once\nreject")] {
          let message = try await device.send("s", "asks to \(verb)")
          try await bed.eventually("it waits", within: 120) {
            try await device.task("s")?.status == "awaitingApproval"
          }
          try await device.cospool(verb, "s")
          try await bed.eventually("it is done", within: 120) {
            try await device.message(message).status == "succeeded"
          }
          let recorded = try String(contentsOfFile: folder + "/permissions", encoding: .utf8)
          #expect(recorded == response + "\n")
          try await bed.eventually("the task is done", within: 120) {
            try await device.task("s")?.status == "completed"
          }
        }
      }
    }

    @Test func aLimitWaitsAndIsNotTriedAtOnce() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let folder = try await serve(bed, ["s"], on: device)
        let limited = try await device.send("s", "over the limit")
        try await bed.eventually("it waits", within: 120) {
          try await device.cospool("queue", "show", limited, "--json").contains("notBefore")
        }
        #expect(try await device.message(limited).status == "queued")
        #expect(prompts(folder) == ["ses_1|over the limit"])
      }
    }

    @Test func aServerThatIsNotThereGetsNoPrompt() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        try await device.cospool("config", "set", "command", "http://127.0.0.1:1")
        try await device.cospool("config", "set", "agent", "opencode")
        try await device.cospool("session", "add", "s")
        try await device.cospool("session", "host", "s", "this")
        let message = try await device.send("s", "hello")
        try await bed.eventually("it is given up", within: 120) {
          try await device.message(message).status == "failed"
        }
        #expect(try await device.message(message).lastError?.contains("127.0.0.1:1") == true)
      }
    }
  }
}
