import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// Permission requests of an agent are shown on every device; the first answer counts, and the
  /// agent gets exactly one.
  @Suite struct ApprovalTests {
    /// A host whose agent has hooks, and another device of its user.
    private struct Scene {
      var bed: TestBed
      var server: Server
      var host: Device
      var phone: Device

      init(_ bed: TestBed) async throws {
        self.bed = bed
        server = Server(bed)
        host = Device(bed, "host")
        phone = Device(bed, "phone")
        try await server.start()
        for device in [host, phone] {
          try await device.start()
          try await device.pair(with: server)
        }
        try await host.synchronise()
      }

      /// The agent's hook asks for permission, and waits.
      func ask(patience: Double = 300, command: String = "make test") throws -> ChildProcess {
        let event =
          #"{"session_id":"api","cwd":"/src/shop","hook_event_name":"PermissionRequest","#
          + #""tool_name":"Bash","tool_input":{"command":"\#(command)"}}"#
        return try bed.underAgent(
          [
            "hook", "--explain", "--timeout", "60", "--approvals", "\(patience)", "--data",
            host.data,
          ], input: event)
      }

      /// Another hook of the agent.
      func tell(_ event: String, _ fields: String = "") async throws {
        _ = try await host.attempt(
          ["hook", "--explain", "--timeout", "60"],
          input: #"{"hook_event_name":"\#(event)","session_id":"api"\#(fields)}"#
        ).succeeded()
      }

      func waits(on device: Device, for status: String = "awaitingApproval") async throws {
        try await bed.eventually("\(device.name) shows \(status)", within: 120) {
          try await device.task("api")?.status == status
        }
      }

      /// The hook's output for the agent.
      func decision(of hook: ChildProcess) async throws -> Output {
        try await bed.finish(hook, ["hook"], within: 180)
      }
    }

    private static let allow =
      #"{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}"#
      + "\n"

    private static func deny(_ message: String) -> String {
      #"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"\#(message)"},"#
        + #""hookEventName":"PermissionRequest"}}"# + "\n"
    }

    // S4-32, S4-33
    @Test func anotherDeviceApproves() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        let hook = try scene.ask()
        try await scene.waits(on: scene.phone)
        let shown = try await scene.phone.cospool("task", "show", "api")
        #expect(shown.contains("Bash: make test") && shown.contains("cospool approve "))
        #expect(try await scene.phone.cospool("status").contains("1 request for you"))
        #expect(
          try await scene.phone.cospool("approve", "api") == "allowed, api: Bash: make test\n")
        #expect(try await scene.decision(of: hook).standardOutput == Self.allow)
        for device in [scene.host, scene.phone] {
          try await scene.waits(on: device, for: "processing")
          let task = try await device.task("api")
          #expect(task?.outcome?.ending == "allowed")
        }
        let again = try await scene.phone.attempt("deny", "api")
        #expect(again.code == 5)
        #expect(again.standardError.contains("already answered by phone: allowed"))
      }
    }

    // I-135
    @Test func anApprovalThatComesTooLateIsReported() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        let hook = try scene.ask()
        try await scene.waits(on: scene.phone)
        try await scene.phone.cospool("sync", "off")
        let kept = try await scene.phone.attempt("approve", "api")
        #expect(kept.isSuccess && kept.standardOutput == "kept, api: Bash: make test\n", "\(kept)")
        #expect(kept.standardError.contains("cospool inbox says so"), "\(kept)")
        try await scene.host.cospool("deny", "api")
        _ = try await scene.decision(of: hook)
        try await scene.phone.cospool("sync", "on")
        try await bed.eventually("the inbox says that it does not count", within: 90) {
          let inbox = try await scene.phone.cospool("inbox")
          return inbox.contains("Approval Not Used, in api")
            && inbox.contains("host answered first")
        }
        let inbox = try await scene.phone.cospool("inbox")
        let command = try #require(
          inbox.split(separator: "\n").last { $0.hasPrefix("to dismiss it: cospool ") })
        let words = command.dropFirst("to dismiss it: cospool ".count).split(separator: " ")
        _ = try await scene.phone.attempt(words.map(String.init)).succeeded()
        #expect(try await !scene.phone.cospool("inbox").contains("Not Used"))
      }
    }

    @Test func aDenialCarriesItsReason() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        let hook = try scene.ask()
        try await scene.waits(on: scene.phone)
        let wrong = try await scene.phone.attempt("answer", "api", "yes")
        #expect(wrong.code == 2, "\(wrong)")
        try await scene.phone.cospool("deny", "api", "--remark", "not on main")
        #expect(try await scene.decision(of: hook).standardOutput == Self.deny("not on main"))
      }
    }

    // S4-45
    @Test func cancellingAQuestionStopsTheTurn() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["api"], on: device)
        let id = try await device.send("api", "it wonders")
        try await bed.eventually("it asks", within: 60) {
          try await device.task("api")?.status == "awaitingAnswer"
        }
        try await device.cospool("answer", "api", "--cancel")
        try await bed.eventually("its message is cancelled", within: 60) {
          try await device.message(id).status == "cancelled"
        }
        let task = try await device.task("api")
        #expect(task?.status == "completed" && task?.outcome?.ending == "cancelled")
        let second = try await device.send("api", "it wonders again")
        try await bed.eventually("it asks", within: 60) {
          try await device.task("api")?.status == "awaitingAnswer"
        }
        try await device.cospool("answer", "api", "main")
        try await bed.eventually("it goes on", within: 60) {
          try await device.message(second).status == "succeeded"
        }
        #expect(try await device.cospool("log", second).contains("main"))
      }
    }

    /// The end of a long command, which may be the harmful part, is shown on the other device
    /// before that can approve it. Afterwards, it is on no disk of the server.
    @Test func aLongRequestIsShownToItsEnd() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        let command = String(repeating: "echo x; ", count: 1_000) + "rm -rf planted"
        let hook = try scene.ask(command: command)
        try await scene.waits(on: scene.phone)
        try await bed.eventually("all of it is there", within: 120) {
          try await scene.phone.cospool("task", "show", "api").contains("rm -rf planted")
        }
        #expect(try await scene.phone.attempt("approve", "api").isSuccess)
        #expect(try await scene.decision(of: hook).standardOutput == Self.allow)
        let folder = scene.server.data + "/blobs"
        let blobs = { @Sendable () -> [String] in
          (FileManager.default.enumerator(atPath: folder)?.allObjects ?? [])
            .compactMap { $0 as? String }.filter { $0.utf8.count >= 64 }
        }
        try await bed.eventually("the server has it no longer", within: 120) { blobs().isEmpty }

        // A device that does not get all of it cannot approve, but can deny.
        let other = try scene.ask(command: command + " too")
        try await bed.eventually("the server has it", within: 120) { !blobs().isEmpty }
        for name in blobs() {
          try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        let tablet = Device(bed, "tablet")
        try await tablet.start()
        try await tablet.pair(with: scene.server)
        try await scene.waits(on: tablet)
        let refused = try await tablet.attempt("approve", "api")
        #expect(refused.code == 75, "\(refused)")
        #expect(refused.standardError.contains("cannot show the whole"), "\(refused)")
        #expect(try await tablet.cospool("task", "show", "api").contains("not all of it"))
        try await tablet.cospool("deny", "api", "--remark", "too long")
        #expect(try await scene.decision(of: other).standardOutput == Self.deny("too long"))
      }
    }

    // S4-53
    @Test func oneOfTwoDevicesAtOnceDecides() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        for _ in 0..<3 {
          let hook = try scene.ask()
          try await scene.waits(on: scene.phone)
          async let first = scene.phone.attempt("approve", "api")
          async let second = scene.host.attempt("deny", "api", "--remark", "no")
          let (allowed, denied) = try await (first, second)
          #expect(Set([allowed.code, denied.code]) == [0, 5], "\(allowed)\(denied)")
          let decision = try await scene.decision(of: hook).standardOutput
          #expect(decision == (allowed.code == 0 ? Self.allow : Self.deny("no")))
          for device in [scene.host, scene.phone] {
            try await scene.waits(on: device, for: "processing")
            let task = try await device.task("api")
            #expect(task?.outcome?.ending == (allowed.code == 0 ? "allowed" : "denied"))
          }
        }
      }
    }

    // N-1
    @Test func unansweredRequestsFallBackToTheAgentsOwnPrompt() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        let output = try await scene.decision(of: try scene.ask(patience: 1))
        #expect(output.isSuccess && output.standardOutput == "" && output.standardError == "")
        // It still waits, now at its own prompt.
        try await scene.waits(on: scene.phone)
        let late = try await scene.phone.attempt("approve", "api")
        #expect(late.code == 5)
        #expect(late.standardError.contains("asks at its own prompt on host"), "\(late)")
        #expect(try await scene.phone.cospool("task", "show", "api").contains("own prompt"))
        #expect(try await !scene.phone.cospool("status").contains("request for you"))
        try await scene.tell("PostToolUse", #","tool_name":"Bash","tool_use_id":"t""#)
        try await scene.waits(on: scene.phone, for: "processing")
        #expect(try await scene.phone.task("api")?.outcome?.ending == "expired")
        let later = try await scene.phone.attempt("approve", "api")
        #expect(later.code == 5)
        #expect(later.standardError.contains("The request is no longer open"))
      }
    }

    /// Hooks without requests: other devices show that the agent waits, and are notified.
    @Test(arguments: ["PermissionRequest", "Notification"])
    func aPromptOnTheHostShowsEverywhere(event: String) async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        try await scene.tell("UserPromptSubmit")
        try await scene.tell(
          event,
          event == "Notification"
            ? #","notification_type":"permission_prompt","#
              + #""message":"Claude needs your permission to use Bash""#
            : #","tool_name":"Bash","tool_input":{"command":"make test"}"#)
        try await scene.waits(on: scene.phone)
        #expect(try await scene.phone.cospool("task", "show", "api").contains("Bash"))
        try await bed.eventually("the phone is notified", within: 120) {
          try await scene.phone.cospool("notifications", "list").contains("Bash")
        }
        let refused = try await scene.phone.attempt("approve", "api")
        #expect(refused.code == 5 && refused.standardError.contains("own prompt on host"))
        try await scene.tell("Stop")
        try await scene.waits(on: scene.phone, for: "completed")
        try await bed.eventually("it is taken back", within: 120) {
          try await !scene.phone.cospool("notifications", "list").contains("Bash")
        }
      }
    }

    // N-4
    @Test func anAnswerWithoutAConnectionIsSentLater() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        let hook = try scene.ask()
        try await scene.waits(on: scene.phone)
        try await scene.server.stop()
        try await bed.eventually("the phone is offline", within: 120) {
          try await scene.phone.status().state != "connected"
        }
        let kept = try await scene.phone.attempt("approve", "api")
        #expect(kept.isSuccess && kept.standardOutput.hasPrefix("kept, api"), "\(kept)")
        #expect(kept.standardError.contains("within 2 minutes"))
        try await scene.server.start()
        try await scene.phone.cospool("sync", "now")
        try await scene.host.cospool("sync", "now")
        #expect(try await scene.decision(of: hook).standardOutput == Self.allow)
      }
    }

    @Test func withoutAServerTheDeviceDecidesForItself() async throws {
      try await TestBed.run { bed in
        let host = Device(bed, "host")
        try await host.start()
        let nothing = try await host.attempt("approve")
        #expect(nothing.code == 1 && nothing.standardError.contains("No request is waiting"))
        let event =
          #"{"session_id":"api","hook_event_name":"PermissionRequest","tool_name":"Bash","#
          + #""tool_input":{"command":"ls"}}"#
        let arguments = ["hook", "--timeout", "60", "--approvals", "300", "--data", host.data]
        let hook = try bed.underAgent(arguments, input: event)
        try await bed.eventually("it waits", within: 120) {
          try await host.task("api")?.status == "awaitingApproval"
        }
        #expect(try await host.cospool("thread", "list").contains("api") == false)
        try await host.cospool("approve", "api")
        let output = try await bed.finish(hook, ["hook"], within: 180)
        #expect(output.standardOutput == Self.allow)
      }
    }

    // N-11
    @Test func aDaemonThatDiesLeavesNoRequestOpen() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed)
        let hook = try scene.ask()
        try await scene.waits(on: scene.phone)
        try await scene.host.kill()
        let output = try await scene.decision(of: hook)
        #expect(output.isSuccess && output.standardOutput == "")
        try await scene.host.start()
        try await scene.waits(on: scene.phone, for: "error")
        let late = try await scene.phone.attempt("approve", "api")
        #expect(late.code == 5, "\(late)")
      }
    }
  }
}

extension Device {
  /// `cospool task show --json`; nil if the session is not known yet.
  func task(_ session: String) async throws -> TaskView? {
    let output = try await attempt("task", "show", session, "--json")
    guard output.isSuccess else { return nil }
    return try output.decoded()
  }
}

/// The part of a task that tests look at.
struct TaskView: Decodable {
  struct Outcome: Decodable {
    var ending: String
  }

  struct Progress: Decodable {
    var completed: Int
    var total: Int
    var currentTask: String?
  }

  struct Request: Decodable {
    var toolName: String
    var summary: String
  }

  var status: String
  var request: Request?
  var outcome: Outcome?
  var todoProgress: Progress?
}
