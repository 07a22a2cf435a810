import Basics
import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

@Suite(.timeLimit(.minutes(10))) struct SettingsRouteTests {
  private func code(_ reply: RawReply) throws -> String {
    try reply.decoded(RefusalAnswer.self).error.code
  }

  /// A value that could not be used at the next start or turn is refused when it is set.
  @Test func unusableSettingsAreRefused() async throws {
    try await RunningDaemon.run { daemon in
      for (name, value) in [
        ("certificate", "roots.pem"), ("certificate", "/no/such/file.pem"),
        ("command", "agent 'one"), ("notifyCommand", "say \\\"hello"),
      ] {
        let reply = try await daemon.request(
          "PUT", "/v1/settings/\(name)", "{\"value\":\"\(value)\"}")
        #expect(reply.status == 422, "\(name) \(value): \(reply.body)")
        let now = try await daemon.request("GET", "/v1/settings/\(name)")
          .decoded(SettingAnswer.self)
        #expect(now.value == nil)
      }
    }
  }

  /// S-35: the command is refused when it is set, with advice.
  @Test func aCommandThatWouldRunPromptsIsNotSet() async throws {
    try await RunningDaemon.run { daemon in
      for command in ["bash -e -c 'echo {}'", "/usr/bin/env sh -c 'echo {}'", "ssh HOST agent {}"] {
        let reply = try await daemon.request(
          "PUT", "/v1/settings/command", "{\"value\":\"\(command)\"}")
        #expect(reply.status == 422 && reply.body.contains("/dev/stdin"), "\(reply.body)")
      }
      let set = try await daemon.request(
        "PUT", "/v1/settings/command", #"{"value":"agent --prompt {}"}"#)
      #expect(set.status == 200, "\(set.body)")
    }
  }

  // S0-33, S2-36: settings are kept over restarts, and shown with their source.
  @Test func aSettingIsSetKeptAndTakenBack() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    try await RunningDaemon.run(directory: directory, queueSizeMax: nil, threadQueue: nil) {
      daemon in
      let before = try await daemon.request("GET", "/v1/settings/maxQueueSize")
        .decoded(SettingAnswer.self)
      #expect(before.value == 10)
      #expect(before.origin == "default")
      let set = try await daemon.request("PUT", "/v1/settings/maxQueueSize", #"{"value":"3"}"#)
      #expect(set.status == 200, "\(set.body)")
      let answer = try set.decoded(SettingAnswer.self)
      #expect(answer.value == 3)
      #expect(answer.origin == "file")
      #expect(answer.line == 2)
      _ = try await daemon.request("PUT", "/v1/settings/queueEnabled", #"{"value":true}"#)
    }
    try await RunningDaemon.run(directory: directory, queueSizeMax: nil, threadQueue: nil) {
      daemon in
      let status = try await daemon.request("GET", "/v1/status").decoded(StatusAnswer.self)
      #expect(status.daemon.queueSizeMax == 3)
      #expect(status.daemon.threadQueue)
      let unset = try await daemon.request("DELETE", "/v1/settings/maxQueueSize")
        .decoded(SettingAnswer.self)
      #expect(unset.value == 10)
      let all = try await daemon.request("GET", "/v1/settings").decoded(SettingsAnswer.self)
      #expect(all.settings.map(\.name) == SettingName.allCases.map(\.rawValue))
    }
  }

  @Test func aFlagComesBeforeTheFile() async throws {
    try await RunningDaemon.run(queueSizeMax: 5) { daemon in
      let set = try await daemon.request("PUT", "/v1/settings/maxQueueSize", #"{"value":7}"#)
        .decoded(SettingAnswer.self)
      #expect(set.value == 5)
      #expect(set.origin == "flag")
      #expect(set.overridden == 7)
    }
  }

  // S2-57, S2-66, S2-67, S2-68: hidden at once, and shown again with its whole content.
  @Test func theThreadQueueIsHiddenAndShown() async throws {
    try await RunningDaemon.run(threadQueue: nil) { daemon in
      let queued = { try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self) }
      _ = try await daemon.request("PUT", "/v1/settings/queueEnabled", #"{"value":"on"}"#)
      _ = try await daemon.request("POST", "/v1/sessions/a/queue", #"{"text":"one"}"#)
      _ = try await daemon.request("PUT", "/v1/settings/queueEnabled", #"{"value":"off"}"#)
      #expect(try await queued() == ThreadsAnswer(enabled: false, threads: []))
      _ = try await daemon.request("POST", "/v1/sessions/b/queue", #"{"text":"two"}"#)
      _ = try await daemon.request("PUT", "/v1/settings/queueEnabled", #"{"value":"on"}"#)
      #expect(try await queued().threads.map(\.session.rawValue) == ["a"])
    }
  }

  @Test func wrongValuesAreRefusedAndChangeNothing() async throws {
    try await RunningDaemon.run(queueSizeMax: nil) { daemon in
      for value in ["0", "1001", "\"ten\"", "true"] {
        let reply = try await daemon.request(
          "PUT", "/v1/settings/maxQueueSize", "{\"value\":\(value)}")
        #expect(reply.status == 422, "\(reply.body)")
        #expect(try code(reply) == "invalidSetting")
      }
      #expect(!FileManager.default.fileExists(atPath: daemon.directory + "/config.json"))
      let unknown = try await daemon.request("GET", "/v1/settings/colour")
      #expect(unknown.status == 404)
      #expect(try code(unknown) == "settingNotFound")
    }
  }

  @Test(arguments: ["9223372036854775807.1", "9223372036854775807.0", "-1.0", "1.-1", "1", "x.y"])
  func aPlaceInTheLogThatIsNoneIsRefused(place: String) async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request("GET", "/v1/history?before=\(place)")
      #expect((400..<500).contains(reply.status), "\(reply.body)")
      try await daemon.requireAnswer()
    }
  }

  @Test func settingsEditedByHandAreAppliedOrRefusedWithTheirLine() async throws {
    try await RunningDaemon.run(queueSizeMax: nil) { daemon in
      let path = daemon.directory + "/config.json"
      try "{\n  \"maxQueueSize\": 44\n}".write(toFile: path, atomically: true, encoding: .utf8)
      let reloaded = try await daemon.request("POST", "/v1/settings/reload")
      #expect(reloaded.status == 200, "\(reloaded.body)")
      #expect(
        try await daemon.request("GET", "/v1/status").decoded(StatusAnswer.self).daemon
          .queueSizeMax == 44)
      try "{\n\n  \"maxQueueSize\": 4400\n}".write(toFile: path, atomically: true, encoding: .utf8)
      let check = try await daemon.request("POST", "/v1/settings/check")
        .decoded(SettingsCheckAnswer.self)
      #expect(!check.valid)
      #expect(check.faults.first?.line == 3)
      #expect(check.faults.first?.setting == "maxQueueSize")
      // Setting a different value must not overwrite what cannot be read.
      let set = try await daemon.request("PUT", "/v1/settings/attachmentRetention", #"{"value":9}"#)
      #expect(set.status == 422)
      #expect(set.body.contains("line 3"))
      #expect(
        try await daemon.request("GET", "/v1/status").decoded(StatusAnswer.self).daemon
          .queueSizeMax == 44)
      let other = try await daemon.request("POST", "/v1/settings/check", #"{"maxQueueSize":1}"#)
      #expect(try other.decoded(SettingsCheckAnswer.self).valid)
    }
  }

  @Test func aDaemonDoesNotStartWithWrongSettings() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    try "{\n\"logLevel\": \"loud\"}".write(
      toFile: directory.path + "/config.json", atomically: true, encoding: .utf8)
    let fault = #expect(throws: SettingFault.self) {
      try SettingsStore(flags: [:], environment: [:], dataDirectory: directory.path)
    }
    #expect(fault?.line == 2)
    #expect(fault?.description.contains("config.json, line 2: logLevel: \"loud\"") == true)
    #expect(throws: SettingFault.self) {
      try SettingsStore(
        flags: [.logLevel: .text("info"), .certificate: .text("/no/such/file")], environment: [:],
        dataDirectory: "/no/such/directory")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct SignalRouteTests {
  // S0-35, S0-36, S0-37, S0-38, S0-39
  @Test func hooksSayWhatTheAgentDoes() async throws {
    try await RunningDaemon.run { daemon in
      _ = try await daemon.request("POST", "/v1/sessions/a/queue", #"{"text":"one"}"#)
      let signal = { (body: String) in
        try await daemon.request("POST", "/v1/sessions/a/signals", body)
          .decoded(ActivityAnswer.self)
      }
      #expect(try await signal(#"{"type":"turn_start"}"#).isProcessing)
      _ = try await signal(#"{"type":"tool_use","id":"t1"}"#)
      #expect(try await signal(#"{"type":"tool_use","id":"t2"}"#).runningTools == ["t1", "t2"])
      #expect(try await signal(#"{"type":"tool_result","id":"t1"}"#).runningTools == ["t2"])
      #expect(try await signal(#"{"type":"permission_request"}"#).isPendingApproval)
      #expect(try await !signal(#"{"type":"permission_response"}"#).isPendingApproval)
      #expect(
        try await daemon.request("GET", "/v1/activity").decoded(ActivitiesAnswer.self)
          .activities.map(\.session.rawValue) == ["a"])
      #expect(try await !signal(#"{"type":"result"}"#).busy)
      let threads = try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self)
      #expect(threads.threads.map(\.locked) == [false])
    }
  }

  // S0-4, S0-21, S0-73: the device's own data arrives over the same stream.
  @Test func theStreamTellsOfAgentsDraftsAndSettings() async throws {
    try await RunningDaemon.run(queueSizeMax: nil) { daemon in
      _ = try await daemon.request("POST", "/v1/sessions", #"{"id":"a"}"#)
      let reader = try await EventReader(daemon)
      _ = try await reader.events(through: "present")
      _ = try await daemon.request("POST", "/v1/sessions/a/signals", #"{"type":"turn_start"}"#)
      let activity = try await reader.events(through: "activity")
      #expect(try activity.last?.decoded(ActivityAnswer.self).isProcessing == true)
      _ = try await daemon.request("PUT", "/v1/sessions/a/draft", #"{"text":"begun"}"#)
      let draft = try await reader.events(through: "draft")
      #expect(try draft.last?.decoded(DraftEvent.self).exists == true)
      _ = try await daemon.request("PUT", "/v1/settings/maxQueueSize", #"{"value":7}"#)
      let settings = try await reader.events(through: "settings")
      #expect(try settings.last?.decoded(SettingsEvent.self).maxQueueSize == 7)
      #expect(!reader.lastID.isEmpty)
    }
  }

  // S0-40, S0-60, S0-65
  @Test func aFailureIsShown() async throws {
    try await RunningDaemon.run { daemon in
      _ = try await daemon.request("POST", "/v1/sessions/a/queue", #"{"text":"one"}"#)
      _ = try await daemon.request(
        "POST", "/v1/sessions/a/signals", #"{"type":"error","message":"no network"}"#)
      let activity = try await daemon.request("GET", "/v1/sessions/a/activity")
        .decoded(ActivityAnswer.self)
      #expect(activity.currentError?.code == "executionFailed")
      let queue = try await daemon.request("GET", "/v1/sessions/a/queue").decoded(QueueAnswer.self)
      #expect(queue.paused)
    }
  }

  @Test func wrongSignalsAreRefused() async throws {
    try await RunningDaemon.run { daemon in
      _ = try await daemon.request("POST", "/v1/sessions", #"{"id":"a"}"#)
      let refusals: [(path: String, body: String, status: Int, code: String)] = [
        ("a", #"{"type":"explode"}"#, 422, "invalidSignal"),
        ("a", #"{"type":"tool_use"}"#, 400, "badRequest"),
        ("a", #"{"type":"tool_use","id":""}"#, 422, "invalidName"),
        ("b", #"{"type":"result"}"#, 404, "sessionNotFound"),
      ]
      for refusal in refusals {
        let reply = try await daemon.request(
          "POST", "/v1/sessions/\(refusal.path)/signals", refusal.body)
        #expect(reply.status == refusal.status, "\(reply.body)")
        #expect(try reply.decoded(RefusalAnswer.self).error.code == refusal.code)
      }
    }
  }
}
