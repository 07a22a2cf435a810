import Basics
import Foundation
import Hummingbird
import LocalAPI
import NIOCore
import QueueModel
import SyncClient

/// Settings of this device.
struct SettingsHandlers: RouteHandlers {
  /// The page's listener, which follows the settings.
  var api: APIHandlers

  var client: QueueClient { api.client }
  private var settings: SettingsStore { api.settings }

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("settings") { _, _ in CanonicalJSON.response(settingsAnswer()) }
    api.post("settings/check") { request, _ in
      let buffer = try await request.body.collect(upTo: Route.bodyBytesMax)
      let faults =
        buffer.readableBytes == 0
        ? settings.file.faults() : SettingsFile.faults(in: String(buffer: buffer))
      return CanonicalJSON.response(SettingsCheckAnswer(faults))
    }
    api.post("settings/reload") { _, _ in
      let before = settings.current.file
      try settings.reload(apply: client.apply)
      for name in SettingName.allCases { await noteChange(of: name, from: before[name]?.value) }
      await self.api.followWeb()
      return CanonicalJSON.response(settingsAnswer())
    }
    api.get("settings/:setting") { _, context in
      CanonicalJSON.response(settingAnswer(try setting(context)))
    }
    api.put("settings/:setting") { request, context in
      let name = try setting(context)
      let body = try await decoded(SettingRequest.self, from: request)
      try await set(name, to: try value(body.value, of: name))
      return CanonicalJSON.response(await changedAnswer(name))
    }
    api.delete("settings/:setting") { _, context in
      let name = try setting(context)
      try await set(name, to: nil)
      return CanonicalJSON.response(await changedAnswer(name))
    }
  }

  /// Undo does not reverse settings; it names the command that does.
  private func set(_ name: SettingName, to value: SettingValue?) async throws {
    let before = settings.current.file[name]?.value
    try settings.set(name, to: value, apply: client.apply)
    await noteChange(of: name, from: before)
  }

  private func noteChange(of name: SettingName, from before: SettingValue?) async {
    guard settings.current.file[name]?.value != before else { return }
    await note(UndoLabel(kind: .setting, text: name.rawValue), former: before?.description)
  }

  private func setting(_ context: Context) throws -> SettingName {
    let text = try context.parameters.require("setting")
    guard let name = SettingName(rawValue: text) else {
      let known = SettingName.allCases.map(\.rawValue)
      let close = Similarity.closest(to: text, among: known)
      let advice =
        close.isEmpty
        ? "Choose from \(known.joined(separator: ", "))."
        : "Did you mean \(close.joined(separator: " or "))?"
      throw APIProblem(
        .notFound, code: "settingNotFound",
        message: "There is no setting \"\(text)\". \(advice)", exitCode: ExitStatus.usage,
        candidates: close.isEmpty ? nil : close)
    }
    return name
  }

  /// A number or switch may arrive as the text that a user typed.
  private func value(_ value: JSONValue, of name: SettingName) throws -> SettingValue {
    switch value {
    case .string(let text): return try name.value(fromText: text)
    case .integer(let number): return .number(number)
    case .bool(let flag): return .flag(flag)
    case .null, .number, .array, .object:
      throw APIProblem.badRequest(
        "The field value has the wrong type: give it a whole number, true, false or a text.")
    }
  }

  private func settingsAnswer() -> SettingsAnswer {
    SettingsAnswer(
      file: settings.file.path, settings: SettingName.allCases.map { settingAnswer($0) })
  }

  private func settingAnswer(_ name: SettingName) -> SettingAnswer {
    SettingAnswer(name, in: settings.current)
  }

  /// A setting that was just changed.
  private func changedAnswer(_ name: SettingName) async -> SettingAnswer {
    var answer = settingAnswer(name)
    if name == .agent || name == .command {
      answer.warning = AgentProgram.problem(
        of: settings.current.deviceSettings.agents,
        path: ProcessInfo.processInfo.environment["PATH"] ?? "")
    }
    if name == .notifyMeAfter {
      answer.warning =
        "This setting applies on the device that last added your push address (cospool push "
        + "add … --me). If that was another device, set it there."
    }
    if SettingName.ofPage.contains(name) {
      await self.api.followWeb()
      answer.warning = api.web.problem
    }
    return answer
  }
}

extension APIProblem {
  init(_ fault: SettingFault) {
    if let isDiskFull = fault.isDiskFull {
      let message = [fault.source, fault.reason].compactMap(\.self).joined(separator: ": ")
      self.init(ClientError.storage(message: message, isFull: isDiskFull))
      return
    }
    self.init(
      .unprocessableContent, code: "invalidSetting", message: fault.description,
      exitCode: ExitStatus.usage)
  }
}

extension SettingAnswer {
  init(_ setting: SettingName, in layers: SettingsLayers) {
    let effective = layers.effective(setting)
    let entry = layers.file[setting]
    let isOfFile = effective.origin == .file
    self.init(
      name: setting.rawValue, value: effective.value?.json, origin: effective.origin.rawValue,
      line: isOfFile ? entry?.line : nil, overridden: isOfFile ? nil : entry?.value.json,
      standard: setting.standard?.json, environmentVariable: setting.environmentVariable,
      appliesAtOnce: setting.appliesAtOnce, summary: setting.summary)
  }
}

extension SettingsCheckAnswer {
  init(_ faults: [SettingFault]) {
    self.init(
      faults: faults.map {
        Fault(line: $0.line, setting: $0.name, reason: $0.reason, message: $0.description)
      })
  }
}

extension SettingValue {
  var json: JSONValue {
    switch self {
    case .number(let number): .integer(number)
    case .flag(let flag): .bool(flag)
    case .text(let text): .string(text)
    }
  }
}
