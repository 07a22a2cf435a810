import Foundation
import Testing

@testable import SyncCommand

@Suite(.timeLimit(.minutes(10))) struct ConfigCommandTests {
  // S0-33, S2-36, S2-37
  @Test func settingsAreListedSetAndUnset() async throws {
    try await CommandFixture.run(queueSizeMax: nil, threadQueue: nil) { fixture in
      let set = await fixture.cospool("config", "set", "maxQueueSize", "3")
      #expect(set.output == "maxQueueSize is 3 (config.json, line 2)")
      #expect(set.errors.isEmpty)
      #expect(await fixture.cospool("config", "get", "maxQueueSize").output == "3")
      let list = await fixture.cospool("config", "list").output
      #expect(list.contains("maxQueueSize         3        config.json, line 2"), "\(list)")
      #expect(list.contains("deviceName           desk     flag"), "\(list)")
      #expect(list.contains("whether the thread queue is on: sending adds the thread to it"))
      let name = await fixture.cospool("config", "set", "deviceName", "other")
      #expect(name.output == "deviceName is desk (flag)")
      #expect(name.errors.contains("flag overrides config.json"))
      let level = await fixture.cospool("config", "set", "logLevel", "debug")
      #expect(level.errors.contains("next start"))
      let unset = await fixture.cospool("config", "unset", "maxQueueSize")
      #expect(unset.output == "maxQueueSize is 10 (default)")
    }
  }

  /// The running daemon continues; the next one would not start.
  @Test func aFileThatIsBrokenMeanwhileIsInStatus() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("config", "set", "maxQueueSize", "3")
      #expect(!(await fixture.cospool("status").output.contains("settings ")))
      let path = fixture.directory + "/config.json"
      try Data("{\"maxQueueSize\": oops}".utf8).write(to: URL(fileURLWithPath: path))
      let status = await fixture.cospool("status").output
      #expect(status.contains("settings ") && status.contains("line 1"), "\(status)")
      #expect(status.contains("does not start again"), "\(status)")
    }
  }

  @Test func theDelayOfAUsersAddressNamesItsDevice() async throws {
    try await CommandFixture.run { fixture in
      let set = await fixture.cospool("config", "set", "notifyMeAfter", "300")
      #expect(set.exitCode == 0)
      #expect(set.errors.contains("push address"), "\(set.errors)")
    }
  }

  @Test func anAgentThatCannotBeStartedIsReported() async throws {
    try await CommandFixture.run(queueSizeMax: nil, threadQueue: nil) { fixture in
      let missing = await fixture.cospool("config", "set", "agent", "command")
      #expect(missing.exitCode == 0 && missing.errors.contains("No command is set"))
      let command = await fixture.cospool("config", "set", "command", "no-such-program-here {}")
      #expect(command.errors.contains("does not find no-such-program-here"))
      let path = await fixture.cospool("config", "set", "command", "/nowhere/agent --fast")
      #expect(path.errors.contains("/nowhere/agent does not exist or is not a program"))
      #expect(await fixture.cospool("config", "set", "command", "sh -c true").errors.isEmpty)
      #expect(await fixture.cospool("config", "set", "agent", "claude").errors.isEmpty)
      #expect(await fixture.cospool("config", "set", "agent", "hooks").errors.isEmpty)
      #expect(await fixture.cospool("config", "set", "agent", "other").exitCode == 2)
    }
  }

  @Test func wrongValuesAndFilesAreRefusedWithAReason() async throws {
    try await CommandFixture.run(queueSizeMax: nil, threadQueue: nil) { fixture in
      let outside = await fixture.cospool("config", "set", "maxQueueSize", "1001")
      #expect(outside.exitCode == 2)
      #expect(outside.errors == "cospool: maxQueueSize: 1001 is outside 1 to 1000.")
      #expect(await fixture.cospool("config", "get", "colour").exitCode == 2)
      #expect(await fixture.cospool("config", "check").output == "valid")
      let check = await fixture.cospool(
        "config", "check", "-", input: "{\n\"maxQueueSize\": 0,\n\"colour\": 1}")
      #expect(check.exitCode == 1)
      #expect(check.errors.contains("line 2: maxQueueSize: 0 is outside 1 to 1000."))
      #expect(check.errors.contains("line 3: colour: unknown setting"))
      #expect(await fixture.cospool("config", "check", "-", input: "").exitCode == 1)
    }
  }

  // S2-36, S2-98: at a user's first start, the thread queue is on; existing settings stay.
  @Test func initMakesTheDataDirectoryOnce() async throws {
    let directory = "/tmp/csp-\(UInt32.random(in: .min ... .max))/deep"
    defer {
      try? FileManager.default.removeItem(atPath: (directory as NSString).deletingLastPathComponent)
    }
    let made = await CommandFixture.cospool(["init", "--data", directory])
    #expect(made.exitCode == 0, "\(made.errors)")
    #expect(made.output.contains("turned the thread queue on"))
    #expect(made.output.hasSuffix("Start the daemon: cospoold --data \(directory)"))
    let path = directory + "/config.json"
    #expect(try String(contentsOfFile: path, encoding: .utf8) == InitCommand.settings)
    try "{}".write(toFile: path, atomically: true, encoding: .utf8)
    let again = await CommandFixture.cospool(["init", "--data", directory])
    #expect(again.output.contains("already exists"))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "{}")
    let json = await CommandFixture.cospool(["init", "--data", directory, "--json"])
    #expect(json.output == #"{"created":false}"#)
    for place in [path, path + "/deeper"] {
      let file = await CommandFixture.cospool(["init", "--data", place])
      #expect(file.exitCode == 7 && file.errors.contains("in the place of the folder"), "\(file)")
    }
  }

  @Test func initTurnsTheThreadQueueOnInARunningDaemon() async throws {
    try await CommandFixture.run(queueSizeMax: nil, threadQueue: nil) { fixture in
      #expect(await fixture.cospool("thread", "list").output.contains("config set queueEnabled on"))
      #expect(await fixture.cospool("init").output.hasSuffix("The daemon is running."))
      #expect(await fixture.cospool("thread", "list").output == "no thread needs you")
    }
  }
}
