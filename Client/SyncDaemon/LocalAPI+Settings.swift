import Foundation
import Hummingbird
import NIOCore
import SyncClient

extension LocalAPI {
  // MARK: - Settings of this device

  func addSettingsRoutes(to api: RouterGroup<Context>) {
    api.get("settings") { _, _ in CanonicalJSON.response(settingsAnswer()) }
    api.post("settings/check") { request, _ in
      let buffer = try await request.body.collect(upTo: LocalAPI.bodyBytesMax)
      let faults =
        buffer.readableBytes == 0
        ? settings.file.faults() : SettingsFile.faults(in: String(buffer: buffer))
      return CanonicalJSON.response(SettingsCheckAnswer(faults))
    }
    api.post("settings/reload") { _, context in
      try settings.reload(apply: client.apply)
      await followWeb(context)
      return CanonicalJSON.response(settingsAnswer())
    }
    api.get("settings/:setting") { _, context in
      CanonicalJSON.response(settingAnswer(try setting(context)))
    }
    api.put("settings/:setting") { request, context in
      let name = try setting(context)
      let body = try await decoded(SettingRequest.self, from: request)
      try settings.set(name, to: try value(body.value, of: name), apply: client.apply)
      return CanonicalJSON.response(await changedAnswer(name, context))
    }
    api.delete("settings/:setting") { _, context in
      let name = try setting(context)
      try settings.set(name, to: nil, apply: client.apply)
      return CanonicalJSON.response(await changedAnswer(name, context))
    }
  }

  private func setting(_ context: Context) throws -> SettingName {
    let text = try context.parameters.require("setting")
    guard let name = SettingName(rawValue: text) else {
      throw APIProblem(
        .notFound, code: "settingNotFound",
        message: "There is no setting \"\(text)\". Choose from "
          + SettingName.allCases.map(\.rawValue).joined(separator: ", ") + ".", exitCode: 1)
    }
    return name
  }

  /// A number or switch may come as the text that a person typed.
  private func value(_ value: SettingValue, of name: SettingName) throws -> SettingValue {
    if case .text(let text) = value { try name.value(fromText: text) } else { value }
  }

  private func settingsAnswer() -> SettingsAnswer {
    SettingsAnswer(
      file: settings.file.path, settings: SettingName.allCases.map { settingAnswer($0) })
  }

  private func settingAnswer(_ name: SettingName) -> SettingAnswer {
    SettingAnswer(name, in: settings.current)
  }

  /// A setting that somebody has just changed.
  private func changedAnswer(_ name: SettingName, _ context: Context) async -> SettingAnswer {
    var answer = settingAnswer(name)
    if name == .agent || name == .command {
      answer.warning = AgentProgram.problem(
        of: settings.current.deviceSettings.agents,
        path: ProcessInfo.processInfo.environment["PATH"] ?? "")
    }
    if name == .web {
      await followWeb(context)
      answer.warning = web.trouble
    }
    return answer
  }
}

extension APIProblem {
  init(_ fault: SettingFault) {
    self.init(
      .unprocessableContent, code: "invalidSetting", message: fault.description, exitCode: 2)
  }
}

struct SettingRequest: Codable {
  var value: SettingValue
}

/// `GET /v1/settings`.
struct SettingsAnswer: Codable, Equatable, Sendable {
  /// Where the settings are kept.
  var file: String
  var settings: [SettingAnswer]
}

/// One setting: what holds, and why.
struct SettingAnswer: Codable, Equatable, Sendable {
  var name: String
  /// Left out where nothing is said and the system decides.
  var value: SettingValue?
  /// `flag`, `environment`, `file` or `default`.
  var origin: SettingsLayers.Origin
  /// The line of the file that says it, where it does.
  var line: Int?
  /// What the file says, where a flag or variable comes before it.
  var overridden: SettingValue?
  /// What holds where nothing is said.
  var standard: SettingValue?
  var environmentVariable: String
  /// Whether a change shows without a start of the daemon.
  var appliesAtOnce: Bool
  var summary: String
  /// Why what was set could not be used now; left out where nothing speaks against it.
  var warning: String?

  enum CodingKeys: String, CodingKey {
    case name, value, origin, line, overridden
    case standard = "default"
    case environmentVariable, appliesAtOnce, summary, warning
  }

  init(_ setting: SettingName, in layers: SettingsLayers) {
    let effective = layers.effective(setting)
    let entry = layers.file[setting]
    name = setting.rawValue
    value = effective.value
    origin = effective.origin
    line = effective.origin == .file ? entry?.line : nil
    overridden = effective.origin == .file ? nil : entry?.value
    standard = setting.standard
    environmentVariable = setting.environmentVariable
    appliesAtOnce = setting.appliesAtOnce
    summary = setting.summary
  }
}

/// `POST /v1/settings/check`: all that is wrong with a file of settings.
struct SettingsCheckAnswer: Codable, Equatable, Sendable {
  struct Fault: Codable, Equatable, Sendable {
    var line: Int?
    var setting: String?
    var reason: String
    /// All of it in one sentence.
    var message: String
  }

  var valid: Bool
  var faults: [Fault]

  init(_ faults: [SettingFault]) {
    valid = faults.isEmpty
    self.faults = faults.map {
      Fault(line: $0.line, setting: $0.name, reason: $0.reason, message: $0.description)
    }
  }
}
