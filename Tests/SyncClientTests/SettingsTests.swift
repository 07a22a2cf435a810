import Foundation
import QueueModel
import SyncClient
import Testing

@Suite struct SettingsLayersTests {
  private static let file: [SettingName: SettingsFile.Entry] = [
    .maxQueueSize: .init(value: .number(20), line: 2)
  ]

  // S0-6, S0-33: flag, environment, file, default.
  @Test func closerSettingsComeFirst() throws {
    let variables = ["COSPOOL_MAX_QUEUE_SIZE": "30"]
    let all = try SettingsLayers(
      flags: [.maxQueueSize: .number(40)], environment: variables, file: Self.file)
    #expect(all.effective(.maxQueueSize) == (.number(40), .flag))
    let two = try SettingsLayers(environment: variables, file: Self.file)
    #expect(two.effective(.maxQueueSize) == (.number(30), .environment))
    let one = try SettingsLayers(file: Self.file)
    #expect(one.effective(.maxQueueSize) == (.number(20), .file))
    #expect(one.deviceSettings.maxQueueSize == 20)
    let none = try SettingsLayers()
    #expect(none.effective(.maxQueueSize) == (.number(10), .standard))
    // S2-36: opt-in.
    #expect(!none.deviceSettings.queueEnabled)
    #expect(none.effective(.deviceName) == (nil, .standard))
  }

  @Test func everySettingIsReadFromItsVariable() throws {
    let texts: [SettingName: String] = [
      .maxQueueSize: "1", .queueEnabled: "on", .onFailure: "continue", .autoRemoveOnView: "yes",
      .retention: "never", .attachmentRetention: "3650", .attachmentQuota: "10",
      .deviceName: "desk",
      .certificate: "/root.pem", .logLevel: "debug", .agent: "command", .command: "make {}",
      .agentTimeout: "90", .agentGrace: "0", .onUnknown: "skip", .notifyOff: "THREAD_READY",
      .notifyDetails: "on", .notifyCommand: "tell me", .liveStatus: "off",
      .notifyMeAfter: "300",
      .approvalPatience: "90", .projectRoots: "~/src:/work", .hosts: "ask",
      .agentMessages: "any", .browserAgents: "default, codex", .web: "127.0.0.1:7421",
      .webURL: "https://desk.example.org", .webCertificate: "/chain.pem", .webKey: "/key.pem",
    ]
    #expect(texts.count == SettingName.allCases.count)
    let layers = try SettingsLayers(
      environment: Dictionary(
        uniqueKeysWithValues: texts.map { ($0.key.environmentVariable, $0.value) }))
    for name in SettingName.allCases { #expect(layers.effective(name).origin == .environment) }
    #expect(
      layers.deviceSettings
        == DeviceSettings(
          maxQueueSize: 1, queueEnabled: true, onFailure: .proceed, autoRemoveOnView: true,
          retention: 0, attachmentRetention: 3_650, attachmentQuota: 10, approvalPatience: 90,
          agents: AgentSettings(
            kind: .command, command: "make {}", projectRoots: ["~/src", "/work"],
            hosts: .ask, messages: .any, browserKinds: [.command, .codex], timeoutSeconds: 90,
            onUnknown: .skip,
            graceSeconds: 0),
          notifications: NotificationSettings(
            off: [.threadReady], showsDetails: true, showsLiveStatus: false,
            personDelaySeconds: 300,
            command: "tell me")))
    #expect(layers.text(.logLevel) == "debug")
  }

  @Test(
    arguments: [
      (.maxQueueSize, "0"), (.maxQueueSize, "1001"), (.maxQueueSize, "ten"),
      (.maxQueueSize, "99999999999999999999"), (.queueEnabled, "maybe"), (.onFailure, "explode"),
      (.retention, "-1"), (.retention, "3651"), (.attachmentRetention, "0"),
      (.attachmentRetention, "3651"), (.attachmentQuota, "9"),
      (.agent, "nobody"), (.browserAgents, "nobody"), (.agentTimeout, "-1"),
      (.agentGrace, "3601"), (.onUnknown, "guess"),
      (.approvalPatience, "0"), (.approvalPatience, "601"),
      (.deviceName, "  "), (.deviceName, "a\u{1B}b"), (.logLevel, "loud"),
      (.deviceName, String(repeating: "n", count: 1_025)),
    ] as [(SettingName, String)])
  func wrongValuesAreRefusedWithReasonAndPlace(name: SettingName, text: String) throws {
    let fault = #expect(throws: SettingFault.self) {
      try SettingsLayers(environment: [name.environmentVariable: text])
    }
    #expect(fault?.name == name.rawValue)
    #expect(fault?.source == name.environmentVariable)
    #expect(fault?.reason.isEmpty == false)
  }

  // S1-10
  @Test func limitsOfTheCapAreTaken() throws {
    for text in ["1", "1000"] {
      #expect(try SettingName.maxQueueSize.value(fromText: text) == .number(Int(text) ?? 0))
    }
    #expect(DeviceSettings(maxQueueSize: 5_000).maxQueueSize == 1_000)
    #expect(DeviceSettings(maxQueueSize: -1).maxQueueSize == 1)
  }
}

@Suite struct SettingsFileTests {
  @Test(
    arguments: [
      ("{\n  \"maxQueueSize\": 2000\n}", 2, "maxQueueSize", "2000 is outside 1 to 1000"),
      ("{\"queueEnabled\": 1}", 1, "queueEnabled", "1 is neither true nor false"),
      ("{\n\n\"onFailure\" : \"explode\"}", 3, "onFailure", "\"explode\" is not one of"),
      ("{\n\"a\": 1,\n\"maxQueuSize\": 5}", 2, "a", "unknown setting"),
      ("{\"deviceName\": [\"x\"]}", 1, "deviceName", "neither a number"),
      ("{\"maxQueueSize\": 2.5}", 1, "maxQueueSize", "neither a number"),
      ("{\"maxQueueSize\": 5,\n\"maxQueueSize\": 6}", 2, "maxQueueSize", "occurs twice"),
      ("{\n  \"maxQueueSize\": 5\n  \"queueEnabled\": true\n}", 3, nil, "invalid JSON here"),
      ("[1]", 1, nil, "must be one object"),
      ("", 1, nil, "invalid JSON here"),
    ] as [(String, Int, String?, String)])
  func faultsNameTheirLine(text: String, line: Int, name: String?, reason: String) throws {
    let fault = try #require(SettingsFile.faults(in: text, source: "config.json").first)
    #expect(fault.line == line, "\(fault)")
    #expect(fault.name == name, "\(fault)")
    #expect(fault.reason.contains(reason), "\(fault)")
    #expect(fault.description.hasPrefix("config.json, line \(line): "))
  }

  @Test func allFaultsAreReported() {
    let faults = SettingsFile.faults(
      in: "{\n\"maxQueueSize\": 0,\n\"queueEnabled\": true,\n\"logLevel\": \"loud\"\n}")
    #expect(faults.map(\.line) == [2, 4])
  }

  @Test func aKeyInsideATextIsNotAKey() {
    let text = "{\"deviceName\": \"say \\\"maxQueueSize\\\": 0\",\n\"maxQueueSize\": 0}"
    #expect(SettingsFile.faults(in: text).map(\.line) == [2])
  }

  @Test func writtenSettingsAreRead() throws {
    let directory = NSTemporaryDirectory() + "cospool-settings-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let file = SettingsFile(dataDirectory: directory)
    #expect(try file.read().isEmpty)
    try file.write([
      .maxQueueSize: .number(7), .queueEnabled: .flag(true), .deviceName: .text("a/b"),
    ])
    let entries = try file.read()
    #expect(
      entries.mapValues(\.value)
        == [.maxQueueSize: .number(7), .queueEnabled: .flag(true), .deviceName: .text("a/b")])
    #expect(entries[.deviceName]?.line == 2)
    try String(repeating: " ", count: SettingsFile.bytesMax + 1)
      .write(toFile: file.path, atomically: true, encoding: .utf8)
    #expect(file.faults().count == 1)
    #expect(throws: SettingFault.self) { try file.read() }
  }
}
