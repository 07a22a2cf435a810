import QueueModel

/// What flags, the environment and the file say, and which of it holds: flag, environment, file,
/// default, in this order.
public struct SettingsLayers: Hashable, Sendable {
  /// What the program was started with.
  public var flags: [SettingName: SettingValue]
  /// What environment variables say.
  public private(set) var environment: [SettingName: SettingValue]
  /// What the file says.
  public var file: [SettingName: SettingsFile.Entry]

  /// Where a value comes from.
  public enum Origin: String, Hashable, Sendable, Codable {
    case flag
    case environment
    case file
    case standard = "default"
  }

  /// Puts the layers together; an empty variable is as good as none.
  ///
  /// - Throws: `SettingFault` if a variable says what cannot be.
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

  /// What holds, and where it comes from; no value if that is the system's matter.
  public func effective(_ name: SettingName) -> (value: SettingValue?, origin: Origin) {
    if let value = flags[name] { return (value, .flag) }
    if let value = environment[name] { return (value, .environment) }
    if let entry = file[name] { return (entry.value, .file) }
    return (name.standard, .standard)
  }

  /// A number that holds.
  public func number(_ name: SettingName) -> Int? {
    if case .number(let number)? = effective(name).value { number } else { nil }
  }

  /// Whether something is on.
  public func flag(_ name: SettingName) -> Bool {
    effective(name).value == .flag(true)
  }

  /// A text that holds.
  public func text(_ name: SettingName) -> String? {
    if case .text(let text)? = effective(name).value { text } else { nil }
  }

  /// What holds for the queues.
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

  /// How the page is served; nil for not at all.
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
