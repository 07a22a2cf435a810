import QueueModel

/// The settings from flags, the environment and the file. The first in this order applies: flag,
/// environment, file, default.
public struct SettingsLayers: Hashable, Sendable {
  /// The flags of the program.
  public var flags: [SettingName: SettingValue]
  /// The environment variables.
  public private(set) var environment: [SettingName: SettingValue]
  /// The entries of the file.
  public var file: [SettingName: SettingsFile.Entry]

  /// The origin of a value.
  public enum Origin: String, Hashable, Sendable, Codable {
    case flag
    case environment
    case file
    case standard = "default"
  }

  /// Creates the layers; an empty variable counts as absent.
  ///
  /// - Throws: `SettingFault` if a variable has an invalid value.
  public init(
    flags: [SettingName: SettingValue] = [:], environment: [String: String] = [:],
    file: [SettingName: SettingsFile.Entry] = [:]
  ) throws(SettingFault) {
    self.flags = flags
    self.file = file
    self.environment = [:]
    for name in SettingName.allCases {
      guard let text = environment[name.environmentVariable], !text.isEmpty else { continue }
      do {
        self.environment[name] = try name.value(fromText: text)
      } catch {
        var fault = error
        fault.source = name.environmentVariable
        throw fault
      }
    }
  }

  /// The value in effect, and its origin; no value if the system decides.
  public func effective(_ name: SettingName) -> (value: SettingValue?, origin: Origin) {
    if let value = flags[name] { return (value, .flag) }
    if let value = environment[name] { return (value, .environment) }
    if let entry = file[name] { return (entry.value, .file) }
    return (name.standard, .standard)
  }

  /// The number in effect.
  public func number(_ name: SettingName) -> Int? {
    if case .number(let number)? = effective(name).value { number } else { nil }
  }

  /// Whether a switch is on.
  public func flag(_ name: SettingName) -> Bool {
    effective(name).value == .flag(true)
  }

  /// The text in effect.
  public func text(_ name: SettingName) -> String? {
    if case .text(let text)? = effective(name).value { text } else { nil }
  }

  /// The settings of the queues in effect.
  public var deviceSettings: DeviceSettings {
    DeviceSettings(
      maxQueueSize: number(.maxQueueSize) ?? DeviceSettings().maxQueueSize,
      queueEnabled: flag(.queueEnabled),
      onFailure: text(.onFailure).flatMap(FailurePolicy.init) ?? .pause,
      autoRemoveOnView: flag(.autoRemoveOnView),
      retention: number(.retention) ?? SettingName.retentionDefault,
      attachmentRetention: number(.attachmentRetention) ?? SettingName.attachmentRetentionDefault,
      attachmentQuota: number(.attachmentQuota) ?? SettingName.attachmentQuotaDefault,
      approvalPatience: number(.approvalPatience) ?? SettingName.approvalPatienceDefault,
      agents: agentSettings, notifications: notificationSettings)
  }

  /// The settings of the page; nil if it is not served.
  public var web: WebSettings? {
    text(.web).flatMap { WebAddress($0) }.map { address in
      WebSettings(
        address: address, origin: text(.webURL).flatMap { WebOrigin($0) },
        certificateFile: text(.webCertificate), keyFile: text(.webKey))
    }
  }

  private var notificationSettings: NotificationSettings {
    let off = (text(.notifyOff) ?? "").split(separator: ",").compactMap {
      NotificationView.Category(rawValue: String($0).trimmedOfWhitespace())
    }
    return NotificationSettings(
      off: Set(off), showsDetails: flag(.notifyDetails), showsLiveStatus: flag(.liveStatus),
      personDelaySeconds: number(.notifyMeAfter) ?? SettingName.notifyMeAfterDefault,
      command: text(.notifyCommand))
  }

  private func browserKinds(withDefault kind: AgentKind) -> Set<AgentKind> {
    let names = (text(.browserAgents) ?? "").split(separator: ",").map {
      String($0).trimmedOfWhitespace()
    }
    let kinds = names.compactMap { $0 == SettingName.defaultAgent ? kind : AgentKind(rawValue: $0) }
    return Set(kinds).subtracting([.none])
  }

  private var agentSettings: AgentSettings {
    let timeout = number(.agentTimeout) ?? 0
    let kind = text(.agent).flatMap(AgentKind.init) ?? .none
    return AgentSettings(
      kind: kind, command: text(.command),
      projectRoots: (text(.projectRoots) ?? "").split(separator: ":").map(String.init),
      hosts: text(.hosts).flatMap(HostPolicy.init) ?? .own,
      messages: text(.agentMessages).flatMap(AgentMessagePolicy.init) ?? .own,
      browserKinds: browserKinds(withDefault: kind),
      timeoutSeconds: timeout > 0 ? timeout : nil,
      onUnknown: text(.onUnknown).flatMap(UnknownPolicy.init) ?? .ask,
      graceSeconds: number(.agentGrace) ?? SettingName.agentGraceDefault)
  }
}
